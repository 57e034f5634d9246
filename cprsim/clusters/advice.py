"""Settings of all jobs together, compared on the same random numbers.

The best is chosen on some replications, and its gain is measured on others: so luck in the choice
is no gain.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from cprsim.clusters.job_run import ENDED
from cprsim.clusters.result import ClusterResult, by_node_hours
from cprsim.clusters.run import run_cluster
from cprsim.clusters.spec import ClusterSpec
from cprsim.contract import DurationSpan
from cprsim.contract.ledger import overhead_retrained
from cprsim.errors import ScenarioError
from cprsim.policies.cpr import Cpr
from cprsim.runs.runner import Progress
from cprsim.runs.summaries import half_width

#: Replications to choose on, and to measure the gain on.
CHOOSING: Final = 6
TELLING: Final = 12
#: The settings that the file has, in words.
AS_GIVEN: Final = "as given"
#: Jobs that may save at once, and factors on all intervals.
_AT_ONCE: Final = (1, 2, 4)
_FACTORS: Final = (0.5, 2.0)
#: How much longer saves take than alone from which an interval for that is tried.
_LONGER: Final = 1.02
_Values = Mapping[str, Any]


@dataclass(frozen=True)
class Setting:
    """Settings of a cluster: in words, by dotted key, and what they cost in each replication.

    `costs`: overhead with lost updates trained again, by node-hours, a share of the useful time.
    """

    words: str
    values: _Values
    costs: np.ndarray

    @property
    def mean(self) -> float:
        """Mean cost."""
        return float(self.costs.mean())


@dataclass(frozen=True)
class ClusterAdvice:
    """Settings in order of their cost, and what the best gains.

    `settings`: those that were tried, the cheapest first, on the replications to choose on.
    `as_given`, `best`: the same on other replications. `gain`: mean of the difference there, and
    half its 95 % interval.
    """

    spec: ClusterSpec
    settings: tuple[Setting, ...]
    as_given: Setting
    best: Setting
    gain: tuple[float, float]

    @property
    def sure(self) -> bool:
        """Return whether the best is better than the given one, with 95 % confidence."""
        return self.gain[0] > self.gain[1]

    def document(self) -> dict[str, Any]:
        """The advice as one JSON document."""
        return {
            "cluster": self.spec.title,
            "best": {"words": self.best.words, "values": dict(self.best.values)},
            "sure": self.sure,
            "gain": {"mean": self.gain[0], "half_width": self.gain[1]},
            "as_given": self.as_given.mean,
            "settings": [
                {"words": s.words, "values": dict(s.values), "cost": s.mean} for s in self.settings
            ],
        }


def advise_cluster(
    spec: ClusterSpec, seed: int = 0, workers: int = 1, progress: Progress | None = None
) -> ClusterAdvice:
    """Find settings of the store and of all jobs' intervals that cost least together.

    `spec`: the cluster, whose policies stay. `seed`, `workers`: as of `run_cluster`. `progress`:
    called with the number of clusters played and their number in all.

    Returns
    -------
    ClusterAdvice
        Tried settings, and the gain of the best with its interval.

    Raises
    ------
    ScenarioError
        For a cluster or a scenario that is wrong.
    """
    done = count = 0

    def played(
        settings: Mapping[str, _Values], replications: int, first_seed: int
    ) -> dict[str, ClusterResult]:
        """The cluster under each of these settings."""
        nonlocal done
        found = {}
        for words, values in settings.items():
            cluster = spec.with_values(dict(values))
            found[words] = run_cluster(cluster, replications, first_seed, workers, alone=False)
            done += 1
            if progress is not None:
                progress(done, count)
        return found

    count = 14  # until the candidates are known
    tried: dict[str, _Values] = {AS_GIVEN: {}}
    found = played(tried, CHOOSING, seed)
    single = dict(_candidates(spec, found[AS_GIVEN]))
    count = 1 + len(single) + 1 + 2
    tried |= single
    found |= played(single, CHOOSING, seed)
    settings = _settings(found, tried)
    better = settings[: [each.words for each in settings].index(AS_GIVEN)]
    if len(better) > 1:
        words = f"{better[0].words}, and {better[1].words}"
        tried[words] = {**better[1].values, **better[0].values}
        found |= played({words: tried[words]}, CHOOSING, seed)
        settings = _settings(found, tried)
    best = settings[0].words
    again = {AS_GIVEN: tried[AS_GIVEN], best: tried[best]}
    others = {each.words: each for each in _settings(played(again, TELLING, seed + 1), again)}
    gains = others[AS_GIVEN].costs - others[best].costs
    gain = float(gains.mean()), float(half_width(gains))
    return ClusterAdvice(spec, settings, others[AS_GIVEN], others[best], gain)


def _candidates(spec: ClusterSpec, given: ClusterResult) -> Iterator[tuple[str, _Values]]:
    """Yield settings to try, in words and by dotted key."""
    if not spec.store.stagger:
        yield "first saves staggered", {"store.stagger": True}
    for most in _AT_ONCE:
        if most != spec.store.saves_at_once:
            yield f"{most} saving at once", {"store.saves_at_once": most}
    if len({entry.priority for entry in spec.jobs}) > 1 and spec.store.loads == "alike":
        yield "loads by priority", {"store.loads": "by priority"}
    intervals = _intervals(given)
    stretch = given.jobs.groupby("entry")["save_stretch"].mean()
    longer = {n: s for n, s in stretch.items() if n in intervals and s > _LONGER}
    if longer:
        # Young: the interval grows with the square root of what a save takes.
        words = "intervals for the store's real share"
        yield words, _scaled(spec, intervals, {n: float(s) ** 0.5 for n, s in longer.items()})
    for factor in _FACTORS:
        if intervals:
            words = f"all intervals times {factor:g}"
            yield words, _scaled(spec, intervals, dict.fromkeys(intervals, factor))


def _intervals(given: ClusterResult) -> dict[str, float]:
    """Return the intervals of entries whose policies have one of their own, s.

    One that follows from a target on lost samples is none: an interval would set that aside.
    """
    found = dict[str, float]()
    for job in (run.job for run in given.played[0].jobs):
        name, policy = given.spec.jobs[job.entry].name, job.scenario.policies[job.policy]
        if name in found or (isinstance(policy, Cpr) and policy.interval is None):
            continue
        spans = [s for s in policy.settings(job.scenario.context) if isinstance(s, DurationSpan)]
        for span in spans:
            if span.key == "interval" and span.start_s < span.most_s:
                found[name] = span.start_s
    return found


def _scaled(
    spec: ClusterSpec, intervals: Mapping[str, float], factors: Mapping[Any, float]
) -> _Values:
    return {
        f"jobs.{entry.name}.set": {
            **entry.set,
            f"policies.{entry.policy}.interval": f"{intervals[entry.name] * factor:.6g} s",
        }
        for entry in spec.jobs
        for factor in [factors.get(entry.name, 1.0)]
        if factor != 1.0
    }


def _settings(
    results: Mapping[str, ClusterResult], values: Mapping[str, _Values]
) -> tuple[Setting, ...]:
    """Return settings in order of their cost, of the jobs that end as given.

    A job that does not end under another setting counts with its overhead so far.
    """
    counted = results[AS_GIVEN].jobs["state"] == ENDED
    if not counted.any():
        raise ScenarioError("no job ends; give a later until")
    found = []
    for words, result in results.items():
        cost = overhead_retrained(result.jobs["overhead"], result.jobs["updates_lost"])
        cost = cost.fillna(_so_far(result))
        costs = by_node_hours(result.jobs[counted], cost[counted])
        found.append(Setting(words, values[words], costs))
    return tuple(sorted(found, key=lambda each: each.mean))


def _so_far(result: ClusterResult) -> pd.Series:
    """Return the overhead of each job at the end of the simulation, a share of its useful time."""
    runs = [job for played in result.played for job in played.jobs]
    had_s = [sum(to_s - from_s for from_s, to_s in job.had) for job in runs]
    return pd.Series(had_s) / result.jobs["useful_s"] - result.jobs["progress"]
