"""A law beside its log, for the job at hand, as a table."""

from typing import TYPE_CHECKING

from rich.table import Table

from cprsim.basics.units import percent
from cprsim.report.terminal import plain_table

if TYPE_CHECKING:
    from cprsim.fitting.at_hand import AtHand
    from cprsim.runs.mean import Mean

_HEADINGS = {"overhead": "overhead, %", "pls": "PLS, %", "failures": "failures"}


def at_hand_table(found: "AtHand") -> Table:
    """A row a policy: of each measure what the log makes, and what the law does; ± is 95 %."""
    title = found.scenario.title or "The job at hand"
    headings = [each for text in _HEADINGS.values() for each in (f"{text}\nlog", "\nlaw")]
    rows = (
        (name, *(_cell(of, key) for key in _HEADINGS for of in (each[key].log, each[key].law)))
        for name, each in found.policies.items()
    )
    title = f"{title}\nunder the log and under the {found.law} law; ± 95 %"
    return plain_table(title, ("policy", *headings), rows)


def _cell(mean: "Mean", measure: str) -> str:
    half = mean.high - mean.mean
    if measure == "failures":
        return f"{mean.mean:.3g} ±{half:.2g}" if half else f"{mean.mean:.3g}"
    if not half:
        return percent(mean.mean)
    return f"{percent(mean.mean)} ±{percent(half)}"
