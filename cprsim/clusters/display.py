"""A cluster's result as a terminal shows it."""

import json
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from rich.table import Table

from cprsim.basics.terminal import plain_table
from cprsim.basics.units import counted, format_duration, format_percent, percent
from cprsim.clusters.advice import AS_GIVEN, CHOOSING, TELLING, ClusterAdvice
from cprsim.clusters.job_run import ENDED, HOPELESS, RUNNING, WAITING
from cprsim.clusters.result import ClusterResult
from cprsim.contract.ledger import CAUSE_LABELS

#: Heading, column of the summary, and how a number of it is shown.
_COLUMNS: Final[list[tuple[str, str, Callable[[float], str]]]] = [
    ("nodes", "nodes", "{:,.3g}".format),
    ("waits", "waiting_s", format_duration),
    ("takes", "takes_s", format_duration),
    ("overhead %", "overhead", percent),
    ("alone %", "overhead_alone", percent),
    ("sharing %", "sharing", percent),
    ("lost %", "learning_lost", percent),
]
_LINKS: Final = {"core": "the core", "write": "the store's writes", "read": "the store's reads"}
_STATES: Final = {RUNNING: "still run", WAITING: "wait for nodes", HOPELESS: "make no progress"}


def cluster_table(result: ClusterResult) -> Table:
    """Return a table with a row an entry of jobs."""
    table = result.summary
    cluster = result.spec.cluster
    jobs = len(result.jobs) // len(result.played)
    title = (
        f"{result.spec.title}: {counted(jobs, 'job')} on {counted(cluster.all_nodes, 'node')}, "
        f"{counted(len(result.played), 'replication')}, seed {result.seed}"
    )
    columns = [
        ("job", [str(name) for name in table.index]),
        ("jobs", [f"{count:.4g}" for count in table["jobs"]]),
    ]
    for heading, name, shown in _COLUMNS:
        if name in table:
            cells = [shown(value) if np.isfinite(value) else "–" for value in table[name]]
            columns.append((heading, cells))
    return plain_table(title, columns, close=True)


def cluster_lines(result: ClusterResult) -> Iterator[str]:
    """Yield what sharing costs, why links were crowded, and how much of everything was used."""
    mean, half = result.total("overhead")
    if np.isfinite(mean):
        dearest = sorted(result.causes.items(), key=lambda each: -each[1])[:3]
        own = [f"{CAUSE_LABELS[c]} {format_percent(x)}" for c, x in dearest if x > 0]
        most = f"; most of it: {', '.join(own)}" if own else ""
        yield f"All jobs, by node-hours: overhead {_mean(mean, half)}{most}."
    mean, half = result.total("learning_lost")
    if mean > 0:
        yield f"Of the learning {_mean(mean, half)} is lost."
    if "sharing" in result.jobs:
        mean, half = result.total("sharing")
        yield f"Sharing the cluster costs {_mean(mean, half)} of it, compared with each job alone."
    yield _crowded(result)
    use = result.use
    told = [
        f"{words} {format_percent(use[name].mean())}, {format_percent(use[name].max())} in the "
        "busiest ten minutes"
        for name, words in _LINKS.items()
        if name in use
    ]
    if told:
        yield f"In use on average: {'; '.join(told)}."
    if "spares" in use:
        none_left = float((use["spares"] == 0).mean())
        yield (
            f"Spare machines ready: {use['spares'].mean():.3g} of {result.spec.cluster.spares} on "
            f"average, none {format_percent(none_left)} of the time."
        )
    counts = result.jobs["state"].value_counts() / len(result.played)
    left = [f"{counts[state]:.3g} {text}" for state, text in _STATES.items() if state in counts]
    if left:
        yield f"Of the jobs {counts.get(ENDED, 0.0):.4g} have ended, {', '.join(left)} at the end."


def _crowded(result: ClusterResult) -> str:
    """Return how often links were crowded, and why, by what it cost."""
    crowds = result.crowds
    if crowds.empty:
        return "No link was ever crowded."
    cost = crowds.groupby("why")["cost_s"].sum().sort_values(ascending=False)
    total_s = cost.sum()
    times = len(crowds) / len(result.played)
    reasons = [f"{why} ({format_percent(s / total_s)})" for why, s in cost.items() if total_s]
    often = "once" if times == 1 else f"{times:,.3g} times"
    return (
        f"Links were crowded {often}, which made transfers "
        f"{format_duration(total_s / len(result.played))} longer in all: {', '.join(reasons)}."
    )


def _mean(mean: float, half: float) -> str:
    return format_percent(mean) + (f" ± {percent(half)} points" if np.isfinite(half) else "")


def advice_table(advice: ClusterAdvice) -> Table:
    """Return a table of the settings that were tried, the cheapest first."""
    columns = [
        ("settings of all jobs", [each.words for each in advice.settings]),
        ("cost, %", [percent(each.mean) for each in advice.settings]),
    ]
    return plain_table(f"{advice.spec.title}, {CHOOSING} replications", columns)


def advice_lines(advice: ClusterAdvice) -> Iterator[str]:
    """Yield the answer, and what its numbers are."""
    gain, half = advice.gain
    points = f"{percent(gain)} ± {percent(half)} points of {format_percent(advice.as_given.mean)}"
    if advice.best.words == AS_GIVEN:
        yield "Keep the settings as they are: none that was tried costs less."
    elif advice.sure:
        yield f"Take {advice.best.words}: it saves {points}, on {TELLING} other replications."
        for key, value in advice.best.values.items():
            yield f"  {key} = {json.dumps(value)}"
    else:
        yield (
            f"No difference is shown: {advice.best.words} saves {points}, on {TELLING} other "
            "replications."
        )
    yield "Cost: overhead with lost updates trained again, of all jobs by node-hours."
