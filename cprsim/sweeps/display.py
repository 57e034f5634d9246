"""Tables of a sweep for a terminal: of all points and policies, and of the best."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group

from cprsim.basics.lines import wrapped
from cprsim.basics.terminal import Fitting, plain_table
from cprsim.basics.units import (
    counted,
    format_amount,
    format_duration,
    format_percent,
    listed,
    percent,
)
from cprsim.runs.selection.bounds import Quality
from cprsim.runs.selection.certificate import WITHIN
from cprsim.runs.selection.words import short, some
from cprsim.sweeps.best import SweepVerdict, circumstances
from cprsim.sweeps.stored import Sweep
from cprsim.sweeps.tasks import all_failed
from cprsim.sweeps.values import brief

_MOST_ROWS = 40
_SHOWN_FAILURES = 5
_MOST_UNDECIDED = 5  # of which it is said why
_VERDICT = 32  # letters in a line of a verdict


def sweep_table(sweep: Sweep) -> Group:
    """Mean overhead of every policy at each point in percent, with its 95 % interval.

    Where the scenario has prices, also the cost of the job.
    """
    definition, shown = sweep.definition, sweep.points[:_MOST_ROWS]
    rows = {(row["point"], row["policy"]): row for row in sweep.table.to_dict("records")}
    columns = [("point", [str(point.number) for point in shown])]
    columns += [(key, [brief(each.values[key]) for each in shown]) for key in definition["keys"]]
    for policy in definition["policies"]:
        own = [rows.get((point.number, policy)) for point in shown]
        columns.append((f"{policy},\n% overhead", [_overhead(row) for row in own]))
        if sweep.currency is not None:
            columns.append((f"{policy},\n{sweep.currency}", [_cost(row) for row in own]))
    left = len(sweep.points) - _MOST_ROWS
    more = f"... and {counted(left, 'point')} more: " if left > 0 else ""
    counts = sweep.table["replications"].dropna().tolist()
    table = Fitting(plain_table(columns=columns, names=0), 1 + len(definition["keys"]))
    return Group(_head(sweep, counts), table, f"{more}cprsim export {sweep.folder} --format csv")


def _overhead(row: Mapping[Any, Any] | None) -> str:
    """Return the cell of a policy at a point, empty where that is still to be done."""
    if row is None or row["error"]:
        return "" if row is None else "failed"
    return _with_half(row["overhead"], row["overhead_high"] - row["overhead"])


def _cost(row: Mapping[Any, Any] | None) -> str:
    if row is None or row["error"]:
        return ""
    return format_amount(row["cost"], row["cost_high"] - row["cost"])


def best_table(sweep: Sweep, quality: Quality) -> Group:
    """The best policy under all circumstances: what it costs and loses, and how sure it is."""
    found, keys = sweep.verdicts(quality), circumstances(sweep.definition["keys"])
    table = plain_table()
    for key in keys:
        table.add_column(key.replace(".", ".\n"), justify="right")
    table.add_column("best")
    for heading in ("saves\nevery", "overhead\n%", "PLS\n%", "updates\nlost %"):
        table.add_column(heading, justify="right")
    table.add_column("next best")
    table.add_column("margin,\npoints", justify="right")
    table.add_column("verdict", min_width=12, max_width=_VERDICT)
    for verdict in found[:_MOST_ROWS]:
        table.add_row(*map(brief, verdict.values.values()), *_cells(verdict))
    left = len(found) - _MOST_ROWS
    notes = [f"... and {left:,} rows more: --json has them all"] if left > 0 else []
    notes += [*_notes(found, quality), f"cprsim export {sweep.folder} --format csv"]
    counts = [each.certificate.replications for each in found if each.candidates]
    return Group(_head(sweep, counts), Fitting(table, len(keys)), *map(_Note, notes))


class _Note:
    """A sentence, wrapped where the terminal ends."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[str]:
        yield wrapped(self._text, options.max_width)


def _placed(verdict: SweepVerdict, words: str) -> str:
    """Under which circumstances something is so."""
    where = ", ".join(f"{key} = {brief(value)}" for key, value in verdict.values.items())
    return f"{where}: {words}" if where else words


def _notes(found: Sequence[SweepVerdict], quality: Quality) -> list[str]:
    notes = ["Margin: mean of paired differences, ± 95 % for all comparisons of a row together."]
    undecided = [each for each in found if each.verdict == "undecided"]
    notes += [_placed(each, each.told) for each in undecided[:_MOST_UNDECIDED]]
    left = len(undecided) - _MOST_UNDECIDED
    notes += [f"... and {left:,} more are undecided: --json says why"] if left > 0 else []
    spoilt = [each.best for each in found if each.best and each.best.corrupt]
    if spoilt:
        share = format_percent(max(each.corrupt for each in spoilt))
        notes.append(
            f"{listed(list(dict.fromkeys(each.label for each in spoilt)))}: ended with a silent "
            f"fault in what was trained in up to {share} of the replications, and nobody knows; "
            "verify_every of a policy has it looked for."
        )
    notes += _by_machine_time(found)
    rows = Counter(label for each in found for label in each.left_out)
    if rows:
        labels = [f"{label} (in {count:,})" for label, count in rows.items()]
        notes.append(f"Left out in rows where they failed: {some(labels)}.")
    if quality:
        lost = {
            each.best.label: each.statistics["updates_lost"]
            for each in found
            if each.best and quality.max_pls is not None and quality.max_updates_lost is None
            if each.statistics["updates_lost"] > each.statistics["pls"] + quality.max_pls
        }
        if lost:  # PLS counts samples of shards that a failure took, and no other updates
            notes.append(
                f"{listed([*lost])}: up to {format_percent(max(lost.values()))} of the updates are "
                "lost, which PLS doesn't count; --max-updates-lost bounds them."
            )
        return [*notes, f"Only candidates with {quality}, as far as that is known."]
    if any(each.best and each.statistics["updates_lost"] > 0 for each in found):
        lossy = "The best by time, though learning is lost; --max-pls and --max-updates-lost bound"
        notes.append(f"{lossy} that.")
    return notes


def _by_machine_time(found: Sequence[SweepVerdict]) -> list[str]:
    """Return where another that surely meets the bounds takes less of it, spares counted."""
    others = []
    for each in found:
        best = each.certificate.best
        if best is None:
            continue
        kept = [i for i, keeps in enumerate(each.certificate.kept) if keeps or i == best]
        least = min(kept, key=each.machine_overhead.__getitem__)
        mine, its = each.machine_overhead[best], each.machine_overhead[least]
        if mine - its > WITHIN:
            less = f"{each.labels[least]} {format_percent(its)}, not {format_percent(mine)}"
            others.append(_placed(each, less))
    if not others:
        return []
    where = f"in {len(others):,} of {counted(len(found), 'row')}"
    return [f"By machine time, spares counted, another takes less {where}, e.g. {others[0]}."]


def _cells(verdict: SweepVerdict) -> list[str]:
    best, told, rival = verdict.best, verdict.statistics, verdict.certificate.runner_up
    # In points, with the farther end of its interval, where there is one.
    half = max(rival.high - rival.margin, rival.margin - rival.low) if rival else math.nan
    certainty = short(verdict.certificate, verdict.labels) if verdict.candidates else "failed"
    if best is None:
        return [""] * 7 + [certainty]
    return [
        best.label,
        format_duration(best.plan.interval_s),
        _with_half(told["overhead"], told["overhead_high"] - told["overhead"]),
        percent(told["pls"]),
        percent(told["updates_lost"]),
        verdict.labels[rival.candidate] if rival else "",
        _with_half(rival.margin, half) if rival else "",
        certainty,
    ]


def _with_half(mean: float, half: float) -> str:
    """Return both in percent; nothing where there is no mean, or no interval."""
    if math.isnan(mean):
        return ""
    return f"{percent(mean)} ±{percent(half)}" if math.isfinite(half) else percent(mean)


def _head(sweep: Sweep, counts: Sequence[int]) -> str:
    """Return the title, how many points and replications, and points where these are too few."""
    points = counted(len(sweep.points), "point")
    if sweep.unfinished:
        points += f", {sweep.unfinished:,} of them still to be done"
    replications = "no replications"
    if counts:
        least, most = min(counts), max(counts)
        each = f"{least:,} to " * (least < most) + counted(most, "replication")
        replications = f"{each}, seed {sweep.definition['seed']}; ± 95 % of the mean"
    lines = [sweep.definition["title"] or "cprsim sweep", f"{points}, {replications}"]
    if sweep.too_wide:
        rule = sweep.definition["rule"]
        lines.append(
            f"a half-width of {format_percent(rule['half_width'])} of every mean isn't reached at "
            f"{counted(sweep.too_wide, 'point')}: --replications {rule['replications']:,} are too "
            "few"
        )
    return "\n".join(lines)


def failure_lines(done: Sweep) -> list[str]:
    """Return lines about points that failed, the first with their errors; none if none did."""
    lines, of_points = [], f"of {len(done.points):,} points failed"
    for failed, more in ((done.failures, ""), (done.failed_in_part, " under some policies")):
        lines += [f"{len(failed):,} {of_points}{more}:"] if failed else []
        for point in failed[:_SHOWN_FAILURES]:
            values = ", ".join(f"{key} = {brief(value)}" for key, value in point.values.items())
            under = "" if point.error else f", under {some([*point.errors])}"
            told, *_ = *point.errors.values(), ""
            if point.error not in (None, all_failed(point.errors.values())):
                told = point.error
            lines.append(f"point {point.number} ({values}){under}: {'; '.join(told.splitlines())}")
        left = len(failed) - _SHOWN_FAILURES
        lines += [f"and {left:,} more; cprsim export has them all"] if left > 0 else []
    return lines
