"""Results of logs in a terminal: fitted laws, MTBFs, events and interruptions of jobs."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table

from cprsim.basics.terminal import Column, Fitting, plain_table
from cprsim.basics.units import (
    counted,
    format_duration,
    format_durations,
    format_percent,
    percent,
    rough_percent,
)
from cprsim.survival.kaplan_meier import KaplanMeier

if TYPE_CHECKING:
    from cprsim.failures.logs.job_table import JobRecords
    from cprsim.fitting.job_events import JobEvents
    from cprsim.fitting.law_versus_log import LawVersusLog
    from cprsim.fitting.log_fit import LogFit
    from cprsim.fitting.mtbf import MtbfByNodes
    from cprsim.runs.summaries import Mean
    from cprsim.survival.fitted_laws import Fit

#: Differences of AIC from which on they are whole numbers.
_LARGE = 100
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
_HEADINGS = {"overhead": "overhead, %", "pls": "PLS, %", "failures": "failures"}


def event_lines(events: "JobEvents") -> Iterator[str]:
    """Yield lines on the event log of a job, and on its wall clock."""
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


def fit_table(fitted: "LogFit") -> Group:
    """Return the laws, the best first, below what they were fitted to."""
    sample = fitted.view.sample
    of = {
        "gaps": "gaps between failures of the whole system",
        "job": f"gaps between failures of a job on {fitted.view.nodes} nodes",
        "uptime": "uptimes of nodes",
    }[fitted.look]
    cut = f" ({format_percent(sample.censored / sample.n)} censored)" if sample.censored else ""
    median_s = KaplanMeier.from_sample(sample).median_s
    median = "unknown" if math.isnan(median_s) else format_duration(median_s)
    # Of lives that were not watched as a whole the mean is that of no life.
    mean = "watched per failure" if sample.late else "mean"
    head = (
        f"{fitted.source}\n{sample.n:,} {of}{cut}; "
        f"{mean} {format_duration(sample.mtbf_s)}, median {median}; intervals are 95 %"
    )
    return Group(head, Fitting(plain_table(None, law_columns(fitted.fits), close=True)))


def law_columns(fits: Sequence["Fit"]) -> list[Column]:
    """Return a row a law: mean and shape with 95 % intervals, distances, AIC."""
    above = [fit.aic - min(fit.aic for fit in fits) for fit in fits]
    return [
        ("law", (fit.law.distribution for fit in fits)),
        ("mean", (format_duration(fit.law.expected_s) for fit in fits)),
        ("", (format_durations(*fit.mean_interval_s) for fit in fits)),
        ("shape\nor cv", ("" if fit.spread is None else f"{fit.spread:.3g}" for fit in fits)),
        ("", ("{:.3g} to {:.3g}".format(*e) if (e := fit.spread_interval) else "" for fit in fits)),
        ("KS %", (rough_percent(fit.ks).removesuffix(" %") for fit in fits)),
        ("RMSE\n%", (rough_percent(fit.rmse).removesuffix(" %") for fit in fits)),
        ("AIC -\nleast", (f"{e:.1f}" if e < _LARGE else f"{e:,.0f}" for e in above)),
    ]


def mtbf_table(found: "MtbfByNodes") -> Group:
    """A row a number of nodes: MTBF as measured with its 95 % interval, and by two models."""
    rows = found.rows
    columns = [
        ("nodes", rows["nodes"].map("{:,}".format)),
        ("measured", rows["measured_s"].map(format_duration)),
        ("", map(format_durations, rows["low_s"], rows["high_s"])),
        ("linear", rows["linear_s"].map(format_duration)),
        ("independent\nnodes", rows["independent_s"].map(format_duration)),
    ]
    head = f"{found.source}\nMTBF of a job on so many random nodes; intervals are 95 %"
    return Group(head, Fitting(plain_table(None, columns, names=0)))


def comparison_table(found: "LawVersusLog") -> Table:
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


def jobs_table(found: "JobRecords") -> Group:
    """A row a range of sizes: jobs, node-hours, interruptions, and their rate with its interval."""
    rows = found.by_nodes
    sizes = zip(rows["least"].astype(int), rows["most"].astype(int), strict=True)
    columns: list[Column] = [
        ("nodes", (f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in sizes)),
        ("jobs", rows["jobs"].map("{:,}".format)),
        ("node-hours", rows["node_hours"].map("{:,.0f}".format)),
        ("interrupted", rows["interruptions"].map("{:,}".format)),
        ("per 1,000\nnode-hours", rows["per_1000_node_hours"].map("{:.3g}".format)),
        ("", map("{:.3g} to {:.3g}".format, rows["low"], rows["high"])),
    ]
    head = (
        f"{found.path}\n{counted(len(found.jobs), 'job')}, {found.node_hours:,.0f} node-hours, "
        f"{counted(found.interruptions, 'interruption')}; intervals are 95 %"
    )
    return Group(head, Fitting(plain_table(None, columns, names=0)))
