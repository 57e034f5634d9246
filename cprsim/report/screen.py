"""The answer of `cprsim advise` on one screen."""

import math
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from cprsim.advice.aims import WHY_SAVE
from cprsim.basics.lines import wrapped
from cprsim.basics.units import format_duration
from cprsim.report.answer import answer_lines
from cprsim.report.candidates import small_table
from cprsim.report.configuration import configuration
from cprsim.report.sensitivity import robust_lines
from cprsim.runs.cautions import not_given
from cprsim.selection import words
from cprsim.selection.words import listed

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.advice.robustness import Robustness

#: Lines and columns of the screen that an answer fits.
LINES, WIDTH = 24, 80
#: Policies in the table of the screen, and the fewest: less important lines give way to them.
_ROWS, _FEWEST = 6, 3
#: In the reason of a system that exceeds the memory of the machines.
TOO_LARGE = ", which has "
#: An interval that is so near to the longest that is allowed stands at that limit, as a share.
_NEAR = 0.01


def screen(advice: "Advice", robust: "Robustness | None", width: int = WIDTH) -> list[str]:
    """The answer in no more than `LINES` lines of `WIDTH` columns.

    What to do, what the policy does, a table of a few policies, what the answer assumes, what would
    change it, and the configuration to copy.
    """
    above = [line for each in answer_lines(advice) for line in _lines(each, width)]
    copied = configuration(advice).splitlines()
    room = LINES - len(above) - len(copied) - 1
    notes = [_lines(each, width) for each in robust_lines(advice, robust)]
    lesser = (*_not_given(advice), *_longest(advice), *_left_out(advice))
    notes += [_lines(each, width) for each in lesser]
    while notes and sum(map(len, notes)) > room - min(_FEWEST, len(advice.found)):
        notes.pop()  # the last are the least
    rows = min(_ROWS, max(room - sum(map(len, notes)), 1))
    return [*above, *small_table(advice, rows), *chain(*notes), *copied]


def _longest(advice: "Advice") -> Iterator[str]:
    """Why saves are no rarer, where the limit is what sets their interval."""
    best, longest_s = advice.best, advice.aim.max_interval_s
    if best is not None and math.isfinite(longest_s) and best.slowest_s >= (1 - _NEAR) * longest_s:
        yield f"{format_duration(longest_s)} is --max-interval: no model knows {WHY_SAVE}."


def _not_given(advice: "Advice") -> Iterator[str]:
    """Costs of failures that the scenario doesn't give."""
    missing = [] if advice.of_fleet else not_given(advice.scenario)
    if missing:
        yield f"Not given, and free: {listed(missing)}; see --details."


def _left_out(advice: "Advice") -> Iterator[str]:
    """How many systems were not considered, in one line."""
    large = [each.name for each in advice.refused if TOO_LARGE in each.why]
    others = len(advice.refused) - len(large)
    said = [f"{words.some(large)} (too little memory)"] * bool(large)
    said += [f"{others} that lack an input or exceed a limit"] * bool(others)
    if said:
        yield f"Not considered: {', '.join(said)}; see --details."


def _lines(text: str, width: int) -> list[str]:
    return wrapped(text, width).splitlines()
