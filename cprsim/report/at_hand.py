"""A law beside its log, for the job at hand, as a table."""

from typing import TYPE_CHECKING

from rich.table import Table

from cprsim.basics.units import percent
from cprsim.report.terminal import Column, plain_table

if TYPE_CHECKING:
    from cprsim.fitting.at_hand import AtHand
    from cprsim.runs.mean import Mean

_HEADINGS = {"overhead": "overhead, %", "pls": "PLS, %", "failures": "failures"}


def at_hand_table(found: "AtHand") -> Table:
    """A row a policy: of each measure what the log makes, and what the law does; ± is 95 %."""
    title = found.scenario.title or "The job at hand"
    each = found.policies.values()
    columns: list[Column] = [("policy", found.policies)]
    for key, text in _HEADINGS.items():
        columns.append((f"{text}\nlog", [_cell(of[key].log, key) for of in each]))
        columns.append(("\nlaw", [_cell(of[key].law, key) for of in each]))
    title = f"{title}\nunder the log and under the {found.law} law; ± 95 %"
    return plain_table(title, columns)


def _cell(mean: "Mean", measure: str) -> str:
    half = mean.high - mean.mean
    if measure == "failures":
        return f"{mean.mean:.3g} ±{half:.2g}" if half else f"{mean.mean:.3g}"
    if not half:
        return percent(mean.mean)
    return f"{percent(mean.mean)} ±{percent(half)}"
