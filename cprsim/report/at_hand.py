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
    table = plain_table(f"{title}\nunder the log and under the {found.law} law; ± 95 %")
    table.add_column("policy")
    for heading in _HEADINGS.values():
        table.add_column(f"{heading}\nlog", justify="right")
        table.add_column("\nlaw", justify="right")
    for name, measures in found.policies.items():
        cells = [
            _cell(each, measure)
            for measure in _HEADINGS
            for each in (measures[measure].log, measures[measure].law)
        ]
        table.add_row(name, *cells)
    return table


def _cell(mean: "Mean", measure: str) -> str:
    half = mean.high - mean.mean
    if measure == "failures":
        return f"{mean.mean:.3g} ±{half:.2g}" if half else f"{mean.mean:.3g}"
    if not half:
        return percent(mean.mean)
    return f"{percent(mean.mean)} ±{percent(half)}"
