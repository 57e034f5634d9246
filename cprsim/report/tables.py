"""Tables for a terminal."""

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table

from cprsim.basics.units import (
    counted,
    format_bytes,
    format_duration,
    format_durations,
    format_percent,
    percent,
    rough_percent,
)
from cprsim.contract.ledger import FAILURE_COSTS, OVERHEAD_CAUSES, told_causes
from cprsim.contract.vocabulary import Vocabulary
from cprsim.report.means import share_and_half
from cprsim.report.terminal import Fitting, PolicyTable, plain_table
from cprsim.runs import by_cause
from cprsim.runs.cautions import of_run
from cprsim.runs.mean import Mean
from cprsim.runs.restarts import restarts
from cprsim.survival.kaplan_meier import KaplanMeier

if TYPE_CHECKING:
    from cprsim.estimates.row_loss import AccessLog, RowLosses
    from cprsim.fitting.job_events import JobEvents
    from cprsim.fitting.log_fit import LogFit
    from cprsim.fitting.mtbf import MtbfByNodes
    from cprsim.fleets.result import FleetResult
    from cprsim.runs.result import Result


class RunTable(PolicyTable):
    """Overhead with its 95 % interval, with lost updates trained again, and by cause.

    What was lost, ETTR and interval besides.
    """

    def __init__(self, result: "Result") -> None:
        title = (
            f"{result.scenario.title or 'cprsim run'}\n"
            f"{counted(result.count, 'replication')}, seed {result.seed}; time in % of the useful "
            f"{format_duration(result.scenario.job.useful_time_s)}, ± 95 % of the mean"
        )
        summary = result.summary
        told = told_causes(lambda cause: summary[cause].any())
        causes = [cause for cause in _CAUSES if cause in told]
        corrupt = ["corrupt"] if "corrupt" in summary and summary["corrupt"].any() else []
        rows = [
            [
                str(name),
                *_overheads(row),
                *(percent(row[cause]) for cause in causes),
                *(percent(row[each]) for each in (*corrupt, *_LOST, "ettr")),
                format_duration(row["interval_s"]),
            ]
            for name, row in summary.iterrows()
        ]
        super().__init__(
            title,
            (*_OVERHEADS, *causes, *("corrupt\n%" for _ in corrupt), *_BESIDE),
            rows,
            optional=causes,
        )


class FleetTable(PolicyTable):
    """Overhead over the jobs of a fleet and by machine time, its percentiles, and by cause."""

    def __init__(self, result: "FleetResult") -> None:
        title = (
            f"{result.fleet.title or 'cprsim run'}\n"
            f"{counted(result.count, 'job')}, seed {result.seed}; time in % of each job's useful "
            "time, ± 95 % of the mean; node-hours of all jobs together"
        )
        summary = result.summary
        percentiles = sorted(c for c in summary.columns if c.startswith("overhead_p"))
        causes = [cause for cause in _CAUSES if summary[cause].any()]
        headings = [
            *_OVERHEADS,
            "by machine\ntime",
            *(column.removeprefix("overhead_").upper() for column in percentiles),
            *causes,
            "PLS %",
            "saves every\n(median)",
            "node-hours\nlost",
            "given\nback",
            *(heading for _, heading in _amounts(result)),
        ]
        rows = [
            [
                str(name),
                *_overheads(row),
                _with_interval(row, "machine_overhead"),
                *(percent(row[c]) for c in (*percentiles, *causes, "pls")),
                format_duration(row["interval_s"]),
                *(f"{row[c] / 3600:,.0f}" for c in ("machine_s", "given_back_s")),
                *(_amount(row, measure) for measure, _ in _amounts(result)),
            ]
            for name, row in summary.iterrows()
        ]
        super().__init__(title, headings, rows)


class WallTable(PolicyTable):
    """Shares of the wall clock in somebody's terms, which add up to 100 % in each row."""

    def __init__(self, result: "Result", words: Vocabulary) -> None:
        shares = result.wall_shares(words)
        terms = [term for term in words.terms if any(each[term] for each in shares.values())]
        rows = [[name, *(percent(each[term]) for term in terms)] for name, each in shares.items()]
        title = f"Of the wall clock of all together, in %, by {words.about}"
        super().__init__(title, [_broken(term) for term in terms], rows)


def _broken(term: str) -> str:
    """A term on lines of some twelve letters, broken behind a space or an underscore."""
    lines = [""]
    for part in re.findall(r"[^ _]+[ _]?", term):
        if lines[-1] and len(lines[-1] + part) > _TERM:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def given_up_line(result: "FleetResult") -> str | None:
    """How many jobs of a fleet are left out as they do not finish; None for none."""
    counts = {name: len(jobs) for name, jobs in result.given_up.items() if jobs}
    if not counts:
        return None
    each = ", ".join(f"{count:,} under {name}" for name, count in counts.items())
    return f"Left out under all policies: jobs that do not finish, {each}."


#: Parts of the wall clock of a logged job.
_EVENTS = {
    "train": "training",
    "retrained": "training done again",
    "start": "from starts to loads",
    "warm_up": "warming up after loads",
    "save": "saving",
    "unsaved": "from the last save to the next start",
    "no_save": "attempts without a save",
}
#: Headings of what a failure costs.
_PARTS = {
    "detect": "detec-\ntion",
    "reschedule": "waiting",
    "start": "start",
    "load": "load",
    "lost": "lost",
}
#: Amounts from which on cents are no longer told, unless the interval is as narrow.
_LARGE = 1e3
#: Letters of a line of a heading that is a term of another vocabulary.
_TERM = 14
#: The causes in the order in which people read them: what checkpoints cost, then what failures do.
_CAUSES = (
    *("save", "verify", "load", "lost", "reschedule", "detect", "slowdown", "stall"),
    *("start", "shutdown"),
)
assert sorted(_CAUSES) == sorted(OVERHEAD_CAUSES)
#: Overhead by itself, and as if every lost update were trained again.
_OVERHEADS = ("overhead", "overhead\nretrained")
_LOST = ("pls", "updates_lost", "learning_lost")
_BESIDE = ("PLS %", "updates\nlost %", "learning\nlost %", "ETTR %", "saves\nevery")


def resources_table(result: "Result") -> Table | None:
    """What each policy takes beside time.

    None where all of them only write to the store, and nothing has a price.
    """
    summary, amounts = result.summary, _amounts(result)
    beside = summary[["memory_overhead", "peer_bytes", "spares"]].fillna(1).any(axis=None)
    if not (beside or amounts):
        return None
    headings = ["policy", "memory\n%", "to peers", "to the\nstore", "spares", "machine\ntime %"]
    rows = [
        (
            str(name),
            percent(row["memory_overhead"]),
            format_bytes(row["peer_bytes"]),
            format_bytes(row["store_bytes"]),
            f"{row['spares']:.0f}",
            _with_interval(row, "machine_overhead"),
            *(_amount(row, measure) for measure, _ in amounts),
        )
        for name, row in summary.iterrows()
    ]
    headings += [heading for _, heading in amounts]
    return plain_table("What it takes beside time", headings, rows)


def _amounts(result: "Result") -> list[tuple[str, str]]:
    """Measures that rest on the scenario's prices, as far as it has them, and their headings."""
    headings = {
        "cost": f"cost,\n{result.currency}",
        "energy_kwh": "energy,\nkWh",
        "carbon_kg": "CO2,\nkg",
    }
    return [(name, text) for name, text in headings.items() if name in result.summary]


def _amount(row: Any, measure: str) -> str:
    """The mean with its interval."""
    return format_amount(row[measure], row[f"{measure}_high"] - row[measure])


def format_amount(mean: float, half: float) -> str:
    """An amount of money or the like, with half its interval where there is one."""
    if half <= abs(mean) * 1e-9:
        half = 0.0  # it was rounding
    digits = 0 if abs(mean) >= _LARGE and not 0 < half < 1 else 2
    shown = f"{mean:,.{digits}f}"
    return shown if math.isnan(half) else f"{shown} ±{half:,.{digits}f}"


def event_lines(events: "JobEvents") -> Iterator[str]:
    """What the event log of a job says of it, and of its wall clock."""
    starts = sum(each.starts for each in events.attempts)
    yield (
        f"{events.path}: {format_duration(events.wall_s)} on {counted(events.nodes, 'node')}, "
        f"{counted(len(events.attempts), 'attempt')} with {starts:,} starts, of which "
        f"{events.without_a_save:,} never got to a save."
    )
    split = {
        _EVENTS[name]: seconds / events.wall_s
        for name, seconds in events.split().items()
        if name != "train"
    }
    parts = ", ".join(f"{format_percent(share)} {name}" for name, share in split.items() if share)
    yield (
        f"Goodput as logged: {format_percent(events.goodput)} ({events.steps:,.0f} steps of "
        f"{format_duration(events.step_s)}). The rest: {parts}."
    )


def restarts_table(result: "Result", most: int) -> Table:
    """A row a policy: restarts that the job needs, and the chance that `most` are enough."""
    headings = (
        "policy",
        "median",
        "95 %\nof runs",
        "99 %\nof runs",
        f"{most} are\nenough, %",
        "95 %",
    )
    rows = [
        (
            name,
            *(f"{count:.0f}" for count in (each.p50, each.p95, each.p99)),
            percent(each.within),
            f"{percent(each.low)} to {percent(each.high)}",
        )
        for name, each in restarts(result, most).items()
    ]
    return plain_table("Restarts of the job, one a failure", headings, rows)


def causes_table(result: "Result") -> Table | None:
    """A row a policy and cause of failures: what its failures cost; None without causes."""
    if result.scenario.failures.causes is None:
        return None
    count = by_cause.watched(result)
    title = f"Failures by cause, % of the useful time; {counted(count, 'replication')}"
    told = [part for part in FAILURE_COSTS if result.causes[part].any()]
    parts = (_PARTS[part] for part in told)
    headings = ("policy", "cause", "in a\njob", "all", *parts, "updates\nlost %")
    table = plain_table(title, headings, names=2, close=True)
    policy = ""
    for row in result.causes.to_dict("records"):
        shown = "" if row["policy"] == policy else row["policy"]
        policy = row["policy"]
        shares = (percent(row[each]) for each in ("overhead", *told, "updates_lost"))
        table.add_row(shown, row["cause"], f"{row['failures']:.3g}", *shares)
    return table


def notes(result: "Result") -> Iterator[str]:
    """Which policies came to another plan than their system is for, and what else to know of it."""
    yield from of_run(result)
    for name, plan in result.plans.items():
        if plan.note is not None:
            yield f"{name}: {plan.recovery} recovery; {plan.note}"


def fleet_notes(result: "FleetResult") -> Iterator[str]:
    """Policies that did so in some of the jobs, and in how many; a line each."""
    for name in result.plans:
        fell_back = result.of(name)["fell_back"]
        if fell_back.any():
            yield (
                f"{name}: full recovery in {fell_back.sum():,.0f} of {len(fell_back):,} jobs, "
                "where it is expected to cost no more, or no interval keeps to the target"
            )


def accuracy_table(result: "Result") -> Table | None:
    """What AUC each policy is predicted to lose, and on what that rests; None without slopes."""
    if not result.auc_drops:
        return None
    title = "Predicted drop of AUC, in proportion to learning lost"
    table = plain_table(title, ("policy", "AUC drop"))
    table.add_column("measured with", min_width=20)
    for name, drop in result.auc_drops.items():
        shown = "not predicted" if math.isnan(drop.mean) else f"{drop.mean:.5f}"
        if drop.half > 0:
            shown += f" ±{drop.half:.5f}"
        table.add_row(name, shown, "; ".join(filter(None, (drop.source, drop.note))))
    return table


def fit_table(fitted: "LogFit") -> Group:
    """A row a law, the best first: mean and shape with 95 % intervals, distances, AIC."""
    sample = fitted.view.sample
    of = {
        "gaps": "gaps between failures of the whole system",
        "job": f"gaps between failures of a job on {fitted.view.nodes} nodes",
        "uptime": "uptimes of nodes",
    }[fitted.look]
    cut = f" ({format_percent(sample.censored / sample.n)} censored)" if sample.censored else ""
    median_s = KaplanMeier.from_sample(sample).median_s
    median = "unknown" if math.isnan(median_s) else format_duration(median_s)
    head = (
        f"{fitted.source}\n{sample.n:,} {of}{cut}; "
        f"mean {format_duration(sample.mtbf_s)}, median {median}; intervals are 95 %"
    )
    least = min(fit.aic for fit in fitted.fits)
    rows = [
        (
            fit.law.distribution,
            format_duration(fit.law.expected_s),
            format_durations(*fit.mean_interval_s),
            "" if fit.spread is None else f"{fit.spread:.3g}",
            "" if fit.spread_interval is None else "{:.3g} to {:.3g}".format(*fit.spread_interval),
            *(rough_percent(each).removesuffix(" %") for each in (fit.ks, fit.rmse)),
            f"{apart:.1f}" if (apart := fit.aic - least) < _LARGE / 10 else f"{apart:,.0f}",
        )
        for fit in fitted.fits
    ]
    headings = ("law", "mean", "", "shape\nor cv", "", "KS %", "RMSE\n%", "AIC -\nleast")
    return Group(head, Fitting(plain_table(None, headings, rows, close=True)))


def mtbf_table(found: "MtbfByNodes") -> Group:
    """A row a number of nodes: MTBF as measured with its 95 % interval, and by two models."""
    rows = [
        (
            f"{row['nodes']:,}",
            format_duration(row["measured_s"]),
            format_durations(row["low_s"], row["high_s"]),
            format_duration(row["linear_s"]),
            format_duration(row["independent_s"]),
        )
        for row in found.rows.to_dict("records")
    ]
    headings = ("nodes", "measured", "", "linear", "independent\nnodes")
    head = f"{found.source}\nMTBF of a job on so many random nodes; intervals are 95 %"
    return Group(head, Fitting(plain_table(None, headings, rows, names=0)))


def rows_table(found: "RowLosses") -> Group:
    """A row a policy: what it loses relative to CPR-vanilla, memory, rows per save, intervals."""
    by_change = found.rule != "sgd"
    headings = (
        "policy",
        "updates lost,\n% of vanilla's",
        *(["change lost,\n% of vanilla's"] * by_change),
        "memory,\n% of rows",
        "rows\nper save",
        "a save\nevery",
        "everything\nevery",
    )
    rows = [
        (
            name,
            f"{100 * each.updates_lost_relative:.1f}",
            *([f"{100 * each.change_lost_relative:.1f}"] * by_change),
            percent(each.memory_overhead),
            f"{each.rows_per_save:,}",
            format_duration(each.period_s),
            format_duration(each.interval_s),
        )
        for name, each in found.policies.items()
    ]
    return Group(found.scenario.title or "cprsim rows", Fitting(plain_table(None, headings, rows)))


def access_table(found: "AccessLog") -> Group:
    """How concentrated the accesses of a log are, and what each tracker loses of its updates."""
    shares = plain_table(
        None,
        ("most popular rows, %", "their accesses, %"),
        ((f"{100 * share:g}", f"{100 * part:.1f}") for share, part in found.concentration.items()),
        names=0,
    )
    losses = plain_table(
        None,
        ("tracker", "updates lost,\n% of vanilla's"),
        ((tracker, f"{100 * relative:.1f}") for tracker, relative in found.relative.items()),
    )
    return Group(f"{found.path}: {found.popularity.size:,} rows", Fitting(shares), Fitting(losses))


def _overheads(row: Any) -> list[str]:
    # There is room for one interval: that of the other is in the picture, JSON and summaries.
    overhead = _with_interval(row, "overhead")
    return [overhead, percent(row["overhead_retrained"])]


def _with_interval(row: Any, measure: str) -> str:
    """A mean and half its interval, in percent."""
    return share_and_half(Mean(*(row[measure + end] for end in ("", "_low", "_high"))))
