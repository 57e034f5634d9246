"""Nodes of a log: which are there, how often they fail, how unevenly, and how many at once."""

import math
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.units import format_duration, rough_percent
from cprsim.errors import LogError
from cprsim.failures.hits import none_of
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.spec import Bursts
from cprsim.survival.kaplan_meier import poisson_band
from cprsim.survival.sample import Floats

Integers = NDArray[np.int64]

#: Failures of different nodes at most this far apart are taken for one event, s.
_CLOSE_S: Final = 60.0
#: Failures an event beyond which a law of single nodes makes a job fail too often.
_MOST_PER_EVENT: Final = 1.1
_BEYOND: Final = 3.0  # standard errors
_NEGLIGIBLE: Final = 1e-12
_SHUFFLES, _DRAWS, _SEED = 20, 400, 0
#: Nodes that fail at most this long after one another are counted as a burst, s.
WITHIN_S: Final = 600.0
_DAY_S: Final = 86_400.0
_MANY: Final = 100.0


def never_seen(failures: NDArray[np.int64]) -> int:
    """Nodes that never failed, estimated from those that failed once and twice.

    References
    ----------
    A. Chao, Scand. J. Statist. 11, 1984.
    """
    once, twice = (int(np.count_nonzero(failures == count)) for count in (1, 2))
    return round(once * (once - 1) / (2 * (twice + 1)))


def worst_share(counts: NDArray[np.int64], tenth: float = 0.1) -> float:
    """Share of all failures on the worst tenth of nodes, from 0 to 1.

    Where a tenth is no whole number of nodes, a part of the next worst one counts, in proportion:
    a point of the Lorenz curve, which is linear between nodes (M. O. Lorenz, "Methods of measuring
    the concentration of wealth", Publications of the American Statistical Association 9, 1905).
    `counts`: failures of each node, those that never failed included as 0, in any order, shape
    (nodes,); some of them failed.
    """
    curve = _cumulated(-np.sort(-counts))
    return float(np.interp(tenth * len(counts), np.arange(len(curve)), curve))


def _cumulated(counts: NDArray[np.int64]) -> Floats:
    """Shares of the sum on the first 0, 1, ... of the last axis."""
    total = np.cumsum(counts, axis=-1)
    shares = total / total[..., -1:]
    return np.concatenate([np.zeros((*shares.shape[:-1], 1)), shares], axis=-1)


def sizes(log: FailureLog) -> Counter[int]:
    """Count instants at which failures strike by the number of nodes that fail then."""
    pairs = np.unique(np.stack([log.times_s, log.machines.astype(np.float64)]), axis=1)
    _, counts = np.unique(pairs[0], return_counts=True)
    return Counter(counts.tolist())


class Coincidence(NamedTuple):
    """Failures that come together.

    `events`: those that follow another closely are one with it. `independent`: events that as many
    failures make at random, independent instants.
    """

    failures: int
    events: int
    independent: float

    @property
    def together(self) -> bool:
        """Return whether a job fails markedly less often than by its nodes one by one."""
        short = self.independent - self.events
        beyond_chance = short > _BEYOND * math.sqrt(max(self.failures - self.independent, 1))
        return beyond_chance and self.independent > _MOST_PER_EVENT * self.events


def coincidence(log: FailureLog, own: NDArray[np.bool_]) -> Coincidence:
    """Count failures of a log that come together; of those that end a life by themselves, `own`.

    At random instants a failure follows the one before within w with probability 1 - exp(-r w), r
    being the rate of all of them: each of the others begins an event. Shape of `own`: (n,).
    """
    times = log.times_s[own]
    count = len(times)
    events = int(np.count_nonzero(np.diff(times, prepend=-np.inf) > _CLOSE_S))
    rate = count / log.watched_s if log.watched_s > 0 else math.inf
    independent = 1 + (count - 1) * math.exp(-rate * _CLOSE_S) if count else 0.0
    return Coincidence(count, events, independent)


@dataclass(frozen=True)
class Joint:
    """Bursts: two nodes or more that fail within `within_s` of the failure before.

    Their number and that of all their failures; and both by chance, if the same nodes failed as
    often, at random instants.
    """

    within_s: float
    count: int
    failures: int
    by_chance: float
    failures_by_chance: float

    @property
    def notes(self) -> list[str]:
        """A sentence on the bursts, if there are some."""
        said = (
            f"Several nodes failed within {format_duration(self.within_s)} of each other "
            f"{self.count:,} x, {self.failures:,} failures in all; by chance "
            f"{self.by_chance:.3g} x, {self.failures_by_chance:.3g} failures."
        )
        return [said] if self.count else []


def _bursts(times_s: Floats, nodes: Integers, racks: NDArray[Any], within_s: float) -> pd.DataFrame:
    """Return the number of each failure's `burst`, of one failure or more, and its `nodes`.

    A burst is of one rack; each failure in it is up to `within_s` after the one before.
    """
    rows = pd.DataFrame({"rack": racks, "time_s": times_s, "node": nodes})
    rows = rows.sort_values(["rack", "time_s"], kind="stable")
    begins = (rows.rack.diff() != 0) | (rows.time_s.diff() > within_s)
    rows["burst"] = begins.cumsum()
    rows["nodes"] = rows.groupby("burst").node.transform("nunique")
    return rows.sort_index()


def _joint_by_chance(counts: Integers, watched_s: float, within_s: float) -> tuple[float, float]:
    """Expected runs of two nodes or more, if all failures strike at random instants.

    Of n such failures, a gap is longer than `within_s` with probability p = (1 - within /
    watched)^n; gaps are taken for independent, which is right to the order of within / watched.
    There are then 1 + (n - 1) p runs; those of k failures of one node are subtracted.
    """
    n = int(counts.sum())
    longer = max(1 - within_s / watched_s, 0.0) ** n
    runs, failures = 1 + (n - 1) * longer, float(n)
    alike = np.ones(len(counts))  # that k failures in a row are all of this node
    for k in range(1, int(counts.max()) + 1):
        alike *= np.maximum(counts - k + 1, 0) / (n - k + 1)
        places = 1.0 if k == n else (n - k - 1) * longer**2 + 2 * longer
        of_k = places * math.exp((k - 1) * math.log1p(-longer)) if longer < 1 else float(k == 1) * n
        runs -= of_k * float(alike.sum())
        failures -= k * of_k * float(alike.sum())
        if n * float(alike.sum()) < _NEGLIGIBLE:
            break
    return max(runs, 0.0), max(failures, 0.0)


@dataclass(frozen=True, eq=False)
class NodeFailures:
    """Failures of the nodes of a log."""

    #: Of each node, most first, with nodes that never failed; shape (nodes,).
    counts: Integers
    #: Nodes among them that are estimated to have never failed, where the log lacks their number.
    unseen: int
    #: Whether the log has the number of nodes.
    is_counted: bool
    #: Days that nodes were watched, each from its first instant to its last.
    node_days: float
    bursts: Joint

    @property
    def shares(self) -> Floats:
        """Share of the failures on the worst 0, 1, ... nodes, shape (nodes + 1,)."""
        return _cumulated(self.counts)

    def by_chance(self) -> tuple[Floats, Floats, Floats]:
        """Return `shares` of nodes that are alike: the mean, and the ends of 95 % of draws.

        As many failures, each on any node: Poisson counts of which the sum is known.
        """
        rng, nodes = np.random.default_rng(_SEED), len(self.counts)
        drawn = rng.multinomial(int(self.counts.sum()), np.full(nodes, 1 / nodes), _DRAWS)
        every = _cumulated(-np.sort(-drawn, axis=1))
        low, high = np.quantile(every, (0.025, 0.975), axis=0)
        return every.mean(axis=0), low, high

    @property
    def per_1000_node_days(self) -> float:
        """Failures in 1,000 days of a node."""
        return 1000 * int(self.counts.sum()) / self.node_days

    @property
    def worst_tenth(self) -> float:
        """Share of all failures on the worst tenth of the nodes."""
        return worst_share(self.counts)

    @property
    def rate(self) -> str:
        """A sentence on the rate of failures of a node."""
        which = ""
        if not self.is_counted:
            never = f"{self.unseen:,} of them are estimated to have never failed; "
            which = f" ({never * (self.unseen > 0)}--population says how many there are)"
        often = self.per_1000_node_days
        rate = f"{often:,.0f}" if often >= _MANY else f"{often:.3g}"
        return f"{rate} failures per 1,000 node-days of {len(self.counts):,} nodes{which}."

    @property
    def worst(self) -> str:
        """A sentence on the worst nodes."""
        return (
            f"The worst tenth of these nodes has {rough_percent(self.worst_tenth)} of the failures."
        )

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            "nodes": len(self.counts),
            "nodes_counted": self.is_counted,
            "never_seen": self.unseen,
            "node_days": self.node_days,
            "per_1000_node_days": self.per_1000_node_days,
            "worst_tenth": self.worst_tenth,
            "bursts": asdict(self.bursts),
        }


def node_failures(log: FailureLog, within_s: float = WITHIN_S) -> NodeFailures | None:
    """Return those of a log; None where all strike at one instant, so that there is no rate."""
    if not log.watched_s > 0 or not log.of_nodes:
        return None
    _, failing = np.unique(log.machines, return_inverse=True)
    counts = -np.sort(-np.bincount(failing, minlength=log.system))
    unseen = never_seen(counts) if log.population is None else 0
    counts = np.append(counts, np.zeros(unseen, np.int64))
    each = _bursts(log.times_s, log.machines, np.zeros(len(log)), within_s)
    several = each[each.nodes > 1]
    by_chance = _joint_by_chance(counts, log.watched_s, within_s)
    return NodeFailures(
        counts=counts,
        unseen=unseen,
        is_counted=log.population is not None,
        node_days=log.node_s(len(counts)) / _DAY_S,
        bursts=Joint(within_s, several.burst.nunique(), len(several), *by_chance),
    )


@dataclass(frozen=True, eq=False)
class RackBursts:
    """Failures that take down several nodes of one rack."""

    #: The burst process, as a scenario takes it. Its rate is per rack.
    law: Bursts
    #: Number of bursts.
    count: int
    #: Bursts that the same failures make at random instants: where this isn't small, the failures
    #: are too many, or the time within which they count as one too long.
    by_chance: float
    #: Number of racks that were watched.
    racks: int
    #: 95 % interval of the mean time between bursts of one rack, seconds (exact, Poisson).
    mean_interval_s: tuple[float, float]
    #: Whether each failure of the log is part of a burst, shape (n,).
    members: NDArray[np.bool_]

    def document(self) -> dict[str, Any]:
        """Return one JSON object; times in seconds."""
        return {
            "count": self.count,
            "by_chance": self.by_chance,
            "racks": self.racks,
            "mean_s": self.law.mean_s,
            "mean_ci95": self.mean_interval_s,
            "rack": self.law.rack,
            "sizes": {str(size): weight for size, weight in self.law.sizes.items()},
        }


def rack_bursts(log: FailureLog, within_s: float) -> RackBursts | None:
    """Bursts of a log with racks: failures of two nodes or more of a rack, one soon after another.

    A failure up to `within_s` after the one before it in its rack (seconds) belongs to the same
    burst. None where there is no burst, or no more of them than chance gives. Raises `LogError` if
    the failures all strike at one instant.

    Notes
    -----
    A rack has as many nodes as the log shows of the one with most, or as share the nodes of the
    system evenly where their number is known: both can be too few. Racks without a failure are
    counted only in the second case, so without it bursts seem more frequent than they are.
    """
    if log.span_s <= 0:
        raise LogError("the failures all strike at one instant: there is no rate to estimate")
    assert log.racks is not None
    bursts = _bursts(log.times_s, log.machines, log.racks, within_s)
    large = bursts[bursts.nodes > 1].drop_duplicates("burst").nodes.tolist()
    if not large:
        return None
    by_chance = _bursts_by_chance(log, within_s)
    if len(large) <= by_chance + _BEYOND * math.sqrt(by_chance):
        return None
    rack, racks = _layout(log)
    rack_s = racks * log.span_s
    few, many = (float(each) for each in poisson_band(np.array(len(large))))
    law = Bursts.model_validate(
        {
            "mean": f"{rack_s / len(large)!r} s",
            "rack": max(rack, *large),
            "sizes": {str(size): count for size, count in sorted(Counter(large).items())},
        }
    )
    ends_s, members = (rack_s / many, rack_s / few), (bursts.nodes > 1).to_numpy()
    return RackBursts(law, len(large), by_chance, racks, ends_s, members)


def _layout(log: FailureLog) -> tuple[int, int]:
    """Nodes of a rack, and racks of the system."""
    rows = pd.DataFrame({"rack": log.racks, "node": log.machines})
    nodes = rows.groupby("rack").node.nunique()
    rack, racks = int(nodes.max()), len(nodes)
    if log.population is None:
        return rack, racks
    rack = max(rack, -(-log.system // racks))
    return rack, max(racks, -(-log.system // rack))


def _bursts_by_chance(log: FailureLog, within_s: float) -> float:
    """Bursts that the same failures of the same nodes make at random instants, on average."""
    assert log.racks is not None
    rng, found = np.random.default_rng(_SEED), 0
    for _ in range(_SHUFFLES):
        times_s = np.sort(rng.uniform(0.0, log.span_s, len(log)))
        order = rng.permutation(len(log))
        bursts = _bursts(times_s, log.machines[order], log.racks[order], within_s)
        found += bursts.burst[bursts.nodes > 1].nunique()
    return found / _SHUFFLES


class Attendance:
    """The nodes that are there between two changes, and at each failure of a log.

    Nodes are those of the log's population, or those that fail where it has none. `there`: whether
    each is, shape (periods, nodes).
    """

    def __init__(self, log: FailureLog) -> None:
        self._log = log
        failing, self._numbers = np.unique(log.machines, return_inverse=True)
        numbers = failing
        if log.population is not None:
            numbers, self._numbers = np.arange(log.population), log.machines
        ends_s = log.start_s, log.start_s + log.span_s
        came_s, left_s = (np.clip(each(numbers), *ends_s) for each in (log.came, log.left))
        changes_s = np.unique(np.concatenate([came_s, left_s, ends_s]))
        after_s = changes_s[1:] if len(changes_s) > 1 else changes_s
        self._lasts_s = after_s - changes_s[: len(after_s)]
        self.there: NDArray[np.bool_] = (came_s <= changes_s[: len(after_s), np.newaxis]) & (
            left_s >= after_s[:, np.newaxis]
        )
        self.counts: Integers = self.there.sum(axis=1)
        self._periods = np.searchsorted(after_s, log.times_s, side="right")
        # A failure at the very end is of the last period.
        self._periods = np.minimum(self._periods, len(after_s) - 1)

    @property
    def most(self) -> int:
        """The largest number of nodes that are there at once."""
        return int(self.counts.max())

    def places(self, order: Integers) -> Integers:
        """Return the place of the node of each failure among those there, in that order of nodes.

        Nodes that the order lacks, or that are not there, have the place -1. Shape (n,).
        """
        places, there = np.full(self.there.shape, -1), self.there[:, order]
        places[:, order] = np.where(there, np.cumsum(there, axis=1) - 1, -1)
        return places[self._periods, self._numbers]

    def clock_s(self, nodes: int) -> tuple[Floats, float]:
        """Return when each failure is on a clock that stops while fewer nodes are there.

        And how long that clock runs from the start of the log to its end, s.
        """
        still_s = np.where(self.counts < nodes, self._lasts_s, 0.0)
        runs_s = self._log.watched_s - float(still_s.sum())
        return self._log.times_s - np.cumsum(still_s)[self._periods], runs_s

    def whole_jobs(self, nodes: int) -> Integers:
        """Return how many jobs of so many nodes those there make at each failure, shape (n,)."""
        return self.counts[self._periods] // nodes

    @cached_property
    def logs(self) -> dict[int, FailureLog]:
        """The failures of the log, by how many nodes are there when they strike."""
        counts = self.counts[self._periods]
        return {
            int(count): self._log.only(np.flatnonzero(counts == count))
            for count in np.unique(counts)
        }

    @cached_property
    def _sizes(self) -> dict[int, dict[int, int]]:
        """Numbers of nodes that fail at one instant, and how often, by the number that is there."""
        return {there: sizes(log) for there, log in self.logs.items()}

    def failures_of(self, nodes: int, job: int | None = None) -> float:
        """Expected failures that hit some of `nodes` random nodes, while a job has as many.

        `job`: nodes of the job, if these are but some of them.
        """
        return math.fsum(
            math.fsum(count * (1 - none_of(nodes, there, size)) for size, count in found.items())
            for there, found in self._sizes.items()
            if there >= (job or nodes)
        )

    def outages_a_node(self, nodes: int) -> float:
        """Expected failures of one of those there, while so many are."""
        return math.fsum(
            sum(size * count for size, count in found.items()) / there
            for there, found in self._sizes.items()
            if there >= nodes
        )
