"""CPR's decision by its equations alone, as a terminal shows it."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table

from cprsim.basics.terminal import plain_table
from cprsim.basics.units import format_duration, format_percent, percent
from cprsim.contract.ledger import told_causes

if TYPE_CHECKING:
    from cprsim.advice.decision import Decision


#: Causes that CPR's equations know, and ones that only some scenarios have, by their headings.
_CAUSES = {
    "save": "save",
    "verify": "veri-\nfy",
    "load": "load",
    "lost": "lost",
    "reschedule": "re-\nsched.",
    "detect": "de-\ntect",
    "start": "start",
    "shutdown": "shut-\ndown",
}


def decision_table(decision: "Decision", title: str) -> Table:
    """A row an option: interval, expected overhead by cause, learning lost."""
    options = {"full": decision.full, "partial": decision.naive_partial, "CPR": decision.partial}
    told = told_causes(lambda cause: any(getattr(o.expected, cause) for o in options.values()))
    causes = [cause for cause in _CAUSES if cause in told]
    measures = {
        "over-\nhead": "overhead",
        "re-\ntrained": "overhead_retrained",
        **{_CAUSES[cause]: cause for cause in causes},
        "PLS": "pls",
        "upd.\nlost": "updates_lost",
    }
    each = options.values()
    # A save that is due after the job is none.
    intervals = (o.interval_s if o.interval_s < decision.useful_time_s else math.inf for o in each)
    columns = [
        ("option", options),
        ("saves\nevery", map(format_duration, intervals)),
        *((text, [percent(getattr(o.expected, m)) for o in each]) for text, m in measures.items()),
    ]
    title = (
        f"{title or 'cprsim advise'}\n"
        f"first-order estimate, % of useful time; MTBF {format_duration(decision.mtbf_s)}; CPR at "
        f"{_QUALITIES[decision.quality]} {decision.target_pls:g}"
    )
    return plain_table(title, columns, close=True)


def decision_lines(decision: "Decision") -> Iterator[str]:
    """Yield the results of CPR's formulas, and where they are off. They recommend nothing."""
    yield from filter(None, [_beyond(decision), _given(decision), _far(decision)])


#: What the target of a decision bounds, in words.
_QUALITIES = {"pls": "PLS", "updates": "updates"}
#: Share that (E5) may be off by without a word.
_ABOUT = 0.05
#: Overhead beyond which first order is off by more than a tenth: an interval of Young's has
#: `overhead / 2` as many failures again in its lost computation, Daly's next term.
_FAR = 0.2


def _given(decision: "Decision") -> str:
    """Both options in one sentence."""
    if math.isinf(decision.mtbf_s):
        return "Nothing fails: no checkpoint is needed, and no policy costs anything."
    if decision.gets_nowhere:
        return (
            f"This job is hopeless: a save takes {format_duration(decision.save_s)}, and the job "
            f"fails every {format_duration(decision.mtbf_s)}. Make failures rarer, or saves faster."
        )
    interval_s, full = decision.partial.interval_s, decision.full
    saves = "without a save" if decision.never_saves else f"every {format_duration(interval_s)}"
    target = f"{_QUALITIES[decision.quality]} {decision.target_pls:g}"
    partial = decision.partial.expected
    lost = f"{format_percent(partial.pls)} of the samples"
    if decision.quality == "updates":
        lost = f"{format_percent(partial.updates_lost)} of the updates"
    return (
        f"By CPR's formulas, full recovery with a save every {format_duration(full.interval_s)} "
        f"costs {format_percent(full.expected.overhead)}; partial recovery at {target}, {saves}, "
        f"costs {format_percent(partial.overhead)} and loses {lost}."
    )


def _far(decision: "Decision") -> str | None:
    """Return what first order leaves out, where that is much."""
    far = max(each.expected.overhead for each in (decision.full, decision.partial)) > _FAR
    if not far or decision.gets_nowhere:
        return None
    return (
        "This is first order, which leaves out failures in saves, in recoveries and in lost "
        f"computation: overheads beyond {format_percent(_FAR)} are too low, the more the larger "
        "they are. Run cprsim advise without --closed-form."
    )


def _beyond(decision: "Decision") -> str | None:
    """Return the loss of partial recovery where it differs from the target or from (E5)."""
    said = decision.partial.expected.pls
    near = abs(decision.mean_pls - said) <= _ABOUT * said
    if decision.quality != "pls" or (near and said <= (1 + _ABOUT) * decision.target_pls):
        return None
    return (
        f"Partial recovery, {_QUALITIES[decision.quality]} {decision.target_pls:g}: with failures "
        f"in saves and recoveries, and the end of the job, PLS is {decision.mean_pls:.3g}."
    )
