"""Tables of a sweep for a terminal: of all points and policies, and of the best."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group
from rich.measure import Measurement
from rich.table import Table

from cprsim.basics.units import format_duration, parse_duration
from cprsim.errors import UnitError
from cprsim.report.tables import format_amount
from cprsim.selection.bounds import Quality
from cprsim.selection.certificate import Rival
from cprsim.selection.intervals import ROUNDING
from cprsim.selection.words import short
from cprsim.sweeps.best import SweepVerdict, circumstances
from cprsim.sweeps.columns import text_of
from cprsim.sweeps.stored import Sweep

_MOST_ROWS = 40
_LONGEST = 10  # letters of a value
_MOST_UNDECIDED = 5  # of which it is said why
_VERDICT = 32  # letters in a line of a verdict


def sweep_table(sweep: Sweep) -> Group:
    """Mean overhead of every policy at each point in percent, with its 95 % interval.

    Beside it what the job costs, where the scenario has prices.
    """
    definition = sweep.definition
    rows: dict[int, dict[str, dict[Any, Any]]] = {}
    row: dict[Any, Any]
    for row in sweep.table.to_dict("records"):
        rows.setdefault(row["point"], {})[row["policy"]] = row
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("point", *definition["keys"]):
        table.add_column(heading, justify="right")
    for policy in definition["policies"]:
        table.add_column(f"{policy},\n% overhead", justify="right")
        if sweep.currency is not None:
            table.add_column(f"{policy},\n{sweep.currency}", justify="right")
    for point in sweep.points[:_MOST_ROWS]:
        cells = [
            cell
            for row in rows.get(point.number, {}).values()
            for cell in (_overhead(row), *([_cost(row)] if sweep.currency is not None else []))
        ]
        table.add_row(str(point.number), *map(str, point.values.values()), *cells)
    left = len(sweep.points) - _MOST_ROWS
    more = f"... and {left:,} points more: " if left > 0 else ""
    counts = sweep.table["replications"].dropna().tolist()
    head = f"{_title(sweep)}\n{len(sweep.points):,} points, {_replications(sweep, counts)}"
    return Group(head, table, f"{more}cprsim export {sweep.folder} --format csv")


class BestTable:
    """The best policy under all circumstances: what it costs and loses, and how sure it is.

    A row for each where the terminal is wide enough for it, else a sentence.
    """

    def __init__(self, sweep: Sweep, quality: Quality) -> None:
        found = sweep.verdicts(quality)
        self._keys = circumstances(sweep.definition["keys"])
        self._shown = found[:_MOST_ROWS]
        counts = [each.certificate.replications for each in found if each.certificate]
        self._head = (
            f"{_title(sweep)}\n{len(sweep.points):,} points, {_replications(sweep, counts)}"
        )
        left = len(found) - _MOST_ROWS
        self._notes = [f"... and {left:,} rows more: --json has them all"] if left > 0 else []
        self._notes += _notes(found, quality)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | str]:
        """Choose the form that fits."""
        table = self._table()
        fits = Measurement.get(console, options.update(max_width=10_000), table).maximum
        yield self._head
        if fits <= options.max_width:
            yield table
        else:
            yield from ("", *(_sentence(each) for each in self._shown), "")
        yield from self._notes

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for key in self._keys:
            table.add_column(key.replace(".", ".\n"), justify="right")
        table.add_column("best")
        for heading in ("saves\nevery", "overhead\n%", "PLS\n%", "updates\nlost %"):
            table.add_column(heading, justify="right")
        table.add_column("next best")
        table.add_column("margin,\npoints", justify="right")
        table.add_column("verdict", max_width=_VERDICT)
        for verdict in self._shown:
            table.add_row(*map(_value, verdict.values.values()), *_cells(verdict))
        return table


def _sentence(verdict: SweepVerdict) -> str:
    best, every, overhead, pls, lost, other, margin, certainty = _cells(verdict)
    told = [
        f"{best}, saves every {every}, overhead {overhead} %, PLS {pls} %, updates lost {lost} %"
    ] * bool(best)
    next_best = [f"{other} {margin} points worse"] * bool(other)
    return _placed(verdict, "; ".join([*told, *next_best, certainty]))


def _placed(verdict: SweepVerdict, words: str) -> str:
    """Under which circumstances something is so."""
    where = ", ".join(f"{key} = {_value(value)}" for key, value in verdict.values.items())
    return f"{where}: {words}" if where else words


def _value(value: Any) -> str:
    """As given, but for long durations, such as `log` makes: three digits."""
    text = text_of(value)
    if len(text) > _LONGEST:
        with suppress(UnitError):
            return format_duration(parse_duration(text))
    return text


def _notes(found: Sequence[SweepVerdict], quality: Quality) -> list[str]:
    notes = ["Margin: mean of paired differences, ± 95 % for all comparisons of a row together."]
    undecided = [each for each in found if each.verdict == "undecided"]
    notes += [_placed(each, each.told) for each in undecided[:_MOST_UNDECIDED]]
    left = len(undecided) - _MOST_UNDECIDED
    notes += [f"... and {left:,} more are undecided: --json says why"] if left > 0 else []
    if quality:
        return [*notes, f"Only candidates with {quality}, as far as that is known."]
    if any(each.best and each.statistics["updates_lost"] > 0 for each in found):
        lossy = "The best by time, though learning is lost; --max-pls and --max-updates-lost bound"
        notes.append(f"{lossy} that.")
    return notes


def _cells(verdict: SweepVerdict) -> list[str]:
    best, told, rival = verdict.best, verdict.statistics, verdict.runner_up
    if verdict.certificate is None:
        return [""] * 7 + ["failed"]
    certainty = short(verdict.certificate, verdict.labels)
    if best is None:
        return [""] * 7 + [certainty]
    return [
        best.label,
        format_duration(best.interval_s),
        _with_half(told["overhead"], told["overhead_high"] - told["overhead"]),
        _percent(told["pls"]),
        _percent(told["updates_lost"]),
        verdict.labels[rival.candidate] if rival else "",
        _margin(rival) if rival else "",
        certainty,
    ]


def _margin(rival: Rival) -> str:
    """In points, with the farther end of its interval, where there is one."""
    half = max(rival.high - rival.margin, rival.margin - rival.low)
    return _with_half(rival.margin, half if math.isfinite(half) else math.nan)


def _overhead(row: dict[Any, Any]) -> str:
    if row["error"]:
        return "failed"
    return _with_half(row["overhead"], row["overhead_high"] - row["overhead"])


def _cost(row: dict[Any, Any]) -> str:
    if row["error"]:
        return ""
    return format_amount(row["cost"], row["cost_high"] - row["cost"])


def _with_half(mean: float, half: float) -> str:
    """In percent; nothing where there is no mean, or no interval."""
    if math.isnan(mean):
        return ""
    if math.isnan(half):
        return _percent(mean)
    return f"{_percent(mean)} ±{100 * half if half > ROUNDING else 0:.2g}"


def _percent(share: float) -> str:
    """Two decimals, or one digit where they would show nothing."""
    percent = 100 * share
    return f"{percent:.1g}" if 0 < abs(percent) < 0.01 else f"{percent:.2f}"


def _title(sweep: Sweep) -> str:
    return sweep.definition["title"] or "cprsim sweep"


def _replications(sweep: Sweep, counts: Sequence[int]) -> str:
    if not counts:
        return "no replications"
    least, most = min(counts), max(counts)
    each = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{each} replications, seed {sweep.definition['seed']}; ± 95 % of the mean"
