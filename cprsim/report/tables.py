"""Tables for a terminal."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table

from cprsim.basics.terminal import Column, Fitting, plain_table
from cprsim.basics.units import (
    counted,
    format_amount,
    format_bytes,
    format_duration,
    percent,
)
from cprsim.contract.ledger import FAILURE_COSTS, OVERHEAD_CAUSES, told_causes
from cprsim.report.means import share_and_half
from cprsim.runs import by_cause
from cprsim.runs.cautions import of_run
from cprsim.runs.restarts import restarts
from cprsim.runs.summaries import Mean
from cprsim.runs.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd

    from cprsim.advice.access_log import AccessLog
    from cprsim.advice.row_loss import RowLosses
    from cprsim.runs.fleet_result import FleetResult
    from cprsim.runs.result import Result


#: Headings of what a failure costs.
_PARTS = {
    "detect": "detec-\ntion",
    "reschedule": "waiting",
    "start": "start",
    "load": "load",
    "lost": "lost",
}
#: Letters of a line of a heading that is a term of another vocabulary.
_TERM = 14
#: The causes in the order in which people read them: what checkpoints cost, then what failures do.
_CAUSES = (
    *("save", "verify", "load", "lost", "reschedule", "detect", "slowdown", "stall"),
    *("start", "shutdown"),
)
assert sorted(_CAUSES) == sorted(OVERHEAD_CAUSES)
#: Headings of the columns of each policy after its overhead.
_LOST = {
    "PLS %": "pls",
    "updates\nlost %": "updates_lost",
    "learning\nlost %": "learning_lost",
    "ETTR %": "ettr",
}


def run_table(result: "Result") -> Fitting:
    """Overhead with its 95 % interval, with lost updates trained again, and by cause.

    Then what was lost, ETTR and interval.
    """
    title = (
        f"{result.scenario.title or 'cprsim run'}\n"
        f"{counted(result.count, 'replication')}, seed {result.seed}; time in % of the useful "
        f"{format_duration(result.scenario.job.useful_time_s)}, ± 95 % of the mean"
    )
    summary = result.summary
    shown = told_causes(lambda cause: summary[cause].any())
    causes = {cause: cause for cause in _CAUSES if cause in shown}
    corrupt = "corrupt" in summary and summary["corrupt"].any()
    columns = [
        *_overheads(summary),
        *_shares(summary, causes),
        *_shares(summary, {"corrupt\n%": "corrupt"} if corrupt else {}),
        *_shares(summary, _LOST),
        ("saves\nevery", summary["interval_s"].map(format_duration)),
    ]
    return Fitting(plain_table(title, columns, close=True), optional=causes)


def fleet_table(result: "FleetResult") -> Fitting:
    """Overhead over the jobs of a fleet and by machine time, its percentiles, and by cause."""
    title = (
        f"{result.fleet.title or 'cprsim run'}\n"
        f"{counted(result.count, 'job')}, seed {result.seed}; time in % of each job's useful "
        "time, ± 95 % of the mean; node-hours of all jobs together"
    )
    summary = result.summary
    ends = sorted(column for column in summary.columns if column.startswith("overhead_p"))
    percentiles = {column.removeprefix("overhead_").upper(): column for column in ends}
    causes = {cause: cause for cause in _CAUSES if summary[cause].any()}
    columns = [
        *_overheads(summary),
        ("by machine\ntime", _with_interval(summary, "machine_overhead")),
        *_shares(summary, percentiles | causes | {"PLS %": "pls"}),
        ("saves every\n(median)", summary["interval_s"].map(format_duration)),
        ("node-hours\nlost", (summary["machine_s"] / 3600).map("{:,.0f}".format)),
        ("given\nback", (summary["given_back_s"] / 3600).map("{:,.0f}".format)),
        *_amounts(result),
    ]
    return Fitting(plain_table(title, columns, close=True))


def wall_table(result: "Result", words: Vocabulary) -> Table:
    """Shares of the wall clock in other terms, which add up to 100 % in each row."""
    shares = result.wall_shares(words)
    terms = [term for term in words.terms if any(each[term] for each in shares.values())]
    title = f"Of the wall clock of all together, in %, by {words.about}"
    parts = ((_broken(term), [percent(e[term]) for e in shares.values()]) for term in terms)
    return plain_table(title, [("policy", shares), *parts], close=True)


def _broken(term: str) -> str:
    """A term on lines of some twelve letters, broken behind a space or an underscore."""
    lines = [""]
    for part in re.findall(r"[^ _]+[ _]?", term):
        if lines[-1] and len(lines[-1] + part) > _TERM:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def resources_table(result: "Result") -> Table | None:
    """Table of the memory, traffic and machines of each policy.

    None where all of them only write to the store, and nothing has a price.
    """
    summary, amounts = result.summary, _amounts(result)
    beside = summary[["memory_overhead", "peer_bytes", "spares"]].fillna(1).any(axis=None)
    if not (beside or amounts):
        return None
    columns = [
        ("policy", map(str, summary.index)),
        *_shares(summary, {"memory\n%": "memory_overhead"}),
        ("to peers", summary["peer_bytes"].map(format_bytes)),
        ("to the\nstore", summary["store_bytes"].map(format_bytes)),
        ("spares", summary["spares"].map("{:.0f}".format)),
        ("machine\ntime %", _with_interval(summary, "machine_overhead")),
    ]
    return plain_table("Memory, traffic and machines", columns + amounts)


def _amounts(result: "Result") -> list[Column]:
    """Table of amounts by the scenario's prices, each mean with its interval."""
    summary = result.summary
    headings = {
        "cost": f"cost,\n{result.currency}",
        "energy_kwh": "energy,\nkWh",
        "carbon_kg": "CO2,\nkg",
    }
    return [
        (heading, map(format_amount, summary[name], summary[f"{name}_high"] - summary[name]))
        for name, heading in headings.items()
        if name in summary
    ]


def restarts_table(result: "Result", most: int) -> Table:
    """A row a policy: restarts that the job needs, and the chance that `most` are enough."""
    found = restarts(result, most)
    each = found.values()
    columns = [
        ("policy", found),
        ("median", (f"{one.p50:.0f}" for one in each)),
        ("95 %\nof runs", (f"{one.p95:.0f}" for one in each)),
        ("99 %\nof runs", (f"{one.p99:.0f}" for one in each)),
        (f"{most} are\nenough, %", (percent(one.within) for one in each)),
        ("95 %", (f"{percent(one.low)} to {percent(one.high)}" for one in each)),
        ("starts without\na save, mean", (f"{one.no_save:.3g}" for one in each)),
    ]
    return plain_table("Restarts of the job, one a failure", columns)


def causes_table(result: "Result") -> Table | None:
    """A row a policy and cause of failures: what its failures cost; None without causes."""
    if result.scenario.failures.causes is None:
        return None
    count = by_cause.watched(result)
    title = f"Failures by cause, % of the useful time; {counted(count, 'replication')}"
    causes = result.causes
    parts = {_PARTS[part]: part for part in FAILURE_COSTS if causes[part].any()}
    policy = causes["policy"]
    columns = [
        ("policy", policy.where(policy != policy.shift(), "")),
        ("cause", causes["cause"]),
        ("in a\njob", causes["failures"].map("{:.3g}".format)),
        *_shares(causes, {"all": "overhead", **parts, "updates\nlost %": "updates_lost"}),
    ]
    return plain_table(title, columns, names=2, close=True)


def notes(result: "Result") -> Iterator[str]:
    """Yield the policies whose plan is not the usual one of their system, and why."""
    yield from of_run(result)
    for name, plan in result.plans.items():
        if plan.note is not None:
            yield f"{name}: {plan.recovery} recovery; {plan.note}"


def fleet_notes(result: "FleetResult") -> Iterator[str]:
    """Yield the policies that fell back in some of the jobs, and jobs that do not finish."""
    for name in result.plans:
        fell_back = result.of(name)["fell_back"]
        if fell_back.any():
            yield (
                f"{name}: full recovery in {fell_back.sum():,.0f} of {len(fell_back):,} jobs, "
                "where it is expected to cost no more, or no interval meets the target"
            )
    counts = {name: len(jobs) for name, jobs in result.given_up.items() if jobs}
    if counts:
        each = ", ".join(f"{count:,} under {name}" for name, count in counts.items())
        yield f"Left out under all policies: jobs that do not finish, {each}."


def accuracy_table(result: "Result") -> Table | None:
    """Table of the predicted loss of AUC of each policy; None without slopes."""
    if not result.auc_drops:
        return None
    table = plain_table("Predicted drop of AUC, in proportion to learning lost")
    table.add_column("policy")
    table.add_column("AUC drop", justify="right")
    table.add_column("measured with", min_width=20)
    for name, drop in result.auc_drops.items():
        shown = "not predicted" if math.isnan(drop.mean) else f"{drop.mean:.5f}"
        if drop.half > 0:
            shown += f" ±{drop.half:.5f}"
        table.add_row(name, shown, "; ".join(filter(None, (drop.source, drop.note))))
    return table


def rows_table(found: "RowLosses") -> Group:
    """A row a policy: what it loses relative to CPR-vanilla, memory, rows per save, intervals."""
    each = found.policies.values()
    columns: list[Column] = [
        ("policy", found.policies),
        ("updates lost,\n% of vanilla's", (f"{100 * e.updates_lost_relative:.1f}" for e in each)),
        ("change lost,\n% of vanilla's", (f"{100 * e.change_lost_relative:.1f}" for e in each)),
        ("memory,\n% of rows", (percent(e.memory_overhead) for e in each)),
        ("rows\nper save", (f"{e.rows_per_save:,}" for e in each)),
        ("a save\nevery", (format_duration(e.period_s) for e in each)),
        ("everything\nevery", (format_duration(e.interval_s) for e in each)),
    ]
    if found.rule == "sgd":  # lost change equals lost updates
        del columns[2]
    return Group(found.scenario.title or "cprsim rows", Fitting(plain_table(None, columns)))


def access_table(found: "AccessLog") -> Group:
    """Tables of the concentration of a log's accesses, and of the updates each tracker loses."""
    parts, relative = found.concentration, found.relative
    shares = [
        ("most popular rows, %", (f"{100 * share:g}" for share in parts)),
        ("their accesses, %", (f"{100 * part:.1f}" for part in parts.values())),
    ]
    losses = [
        ("tracker", relative),
        ("updates lost,\n% of vanilla's", (f"{100 * part:.1f}" for part in relative.values())),
    ]
    tables = plain_table(None, shares, names=0), plain_table(None, losses)
    return Group(f"{found.path}: {found.popularity.size:,} rows", *map(Fitting, tables))


def _overheads(summary: "pd.DataFrame") -> list[Column]:
    """The policies and their overhead, by itself and as if every lost update were trained again."""
    # There is room for one interval: that of the other is in the picture, JSON and summaries.
    return [
        ("policy", map(str, summary.index)),
        ("overhead", _with_interval(summary, "overhead")),
        *_shares(summary, {"overhead\nretrained": "overhead_retrained"}),
    ]


def _shares(table: "pd.DataFrame", columns: Mapping[str, str]) -> list[Column]:
    """Columns of a table in percent, by their headings."""
    return [(heading, table[name].map(percent)) for heading, name in columns.items()]


def _with_interval(summary: "pd.DataFrame", measure: str) -> Iterator[str]:
    """Means of a measure and half their intervals, in percent."""
    ends = (summary[measure + end] for end in ("", "_low", "_high"))
    return map(share_and_half, map(Mean, *ends))
