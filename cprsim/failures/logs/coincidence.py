"""Failures of several nodes that come together: by chance, in bursts, in a rack."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.units import format_duration
from cprsim.errors import LogError
from cprsim.failures.bursts import Bursts
from cprsim.failures.logs.log import FailureLog
from cprsim.survival.kaplan_meier import poisson_band
from cprsim.survival.sample import Floats, Integers

#: Failures of different nodes at most this far apart are taken for one event, s.
_CLOSE_S: Final = 60.0
#: Nodes that fail at most this long after one another are counted as a burst, s.
WITHIN_S: Final = 600.0
#: Failures an event beyond which a law of single nodes makes a job fail too often.
_MOST_PER_EVENT: Final = 1.1
_BEYOND: Final = 3.0  # standard errors
_NEGLIGIBLE: Final = 1e-12
_SHUFFLES, _SEED = 20, 0


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

    @classmethod
    def of(cls, log: FailureLog, counts: Integers, within_s: float) -> "Joint":
        """Count the bursts of a log; `counts`: the failures of each of its nodes."""
        each = _bursts(log.times_s, log.machines, np.zeros(len(log)), within_s)
        several = each[each.nodes > 1]
        by_chance = _joint_by_chance(counts, log.watched_s, within_s)
        return cls(within_s, several.burst.nunique(), len(several), *by_chance)

    @property
    def notes(self) -> list[str]:
        """A sentence on the bursts, if there are some."""
        said = (
            f"Several nodes failed within {format_duration(self.within_s)} of each other "
            f"{self.count:,} x, {self.failures:,} failures in all; by chance "
            f"{self.by_chance:.3g} x, {self.failures_by_chance:.3g} failures."
        )
        return [said] if self.count else []


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
