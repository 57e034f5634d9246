"""Bursts within a rack, found in a log: how often, how large, and how many are mere chance."""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import LogError
from cprsim.failures.bursts import Bursts
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.views import nodes_of
from cprsim.survival.hazard import poisson_band

_SHUFFLES = 20
_SEED = 0
_BEYOND = 3.0  # standard errors


@dataclass(frozen=True, eq=False)
class RackBursts:
    """What a log shows of failures that take down several nodes of one rack.

    Parameters
    ----------
    law
        The burst process, as a scenario takes it. Its rate is per rack.
    count
        How many bursts there are.
    by_chance
        How many bursts the same failures make at random instants: where this isn't small, the
        failures are too many, or the time within which they count as one too long.
    racks
        How many racks were watched.
    mean_interval_s
        95 % interval of the mean time between bursts of one rack, seconds (exact, Poisson).
    members
        Whether each failure of the log is part of a burst, shape (n,).
    """

    law: Bursts
    count: int
    by_chance: float
    racks: int
    mean_interval_s: tuple[float, float]
    members: NDArray[np.bool_]


def rack_bursts(log: FailureLog, within_s: float) -> RackBursts | None:
    """Bursts of a log with racks: failures of two nodes or more of a rack, one soon after another.

    Parameters
    ----------
    log
        Its `racks` say where each failed node stands.
    within_s
        A failure at most this long after the one before it in its rack (seconds) belongs to the
        same burst.

    Returns
    -------
    RackBursts or None
        None where there is no burst, or no more of them than chance gives.

    Raises
    ------
    LogError
        If its failures all strike at one instant.

    Notes
    -----
    A rack has as many nodes as the log shows of the one with most, or as share the nodes of the
    system evenly where their number is known: both can be too few. Racks without a failure are
    counted only in the second case, so without it bursts seem more frequent than they are.
    """
    if log.span_s <= 0:
        raise LogError("the failures all strike at one instant: there is no rate to estimate")
    burst_of = _burst_of(log, within_s)
    sizes = _distinct_nodes(burst_of, log.machines)
    members = sizes[burst_of] > 1
    large = sizes[sizes > 1].tolist()
    if not large:
        return None
    by_chance = _by_chance(log, within_s)
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
    return RackBursts(
        law=law,
        count=len(large),
        by_chance=by_chance,
        racks=racks,
        mean_interval_s=(rack_s / many, rack_s / few),
        members=members,
    )


def _burst_of(log: FailureLog, within_s: float) -> NDArray[np.int64]:
    """The number of the burst, of one failure or more, that each failure belongs to."""
    assert log.racks is not None
    order = np.lexsort((log.times_s, log.racks))
    racks, times = log.racks[order], log.times_s[order]
    first = np.ones(len(log), np.bool_)
    first[1:] = (np.diff(racks) != 0) | (np.diff(times) > within_s)
    numbers = np.empty(len(log), np.int64)
    numbers[order] = np.cumsum(first) - 1
    return numbers


def _distinct_nodes(groups: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many different nodes each group has."""
    pairs = np.unique(np.stack([groups, nodes]), axis=1)
    return np.bincount(pairs[0])


def _layout(log: FailureLog) -> tuple[int, int]:
    """Nodes of a rack, and racks of the system."""
    assert log.racks is not None
    _, seen = np.unique(log.racks, return_inverse=True)
    rack, racks = int(_distinct_nodes(seen, log.machines).max()), int(seen.max()) + 1
    if log.population is None:
        return rack, racks
    rack = max(rack, -(-nodes_of(log) // racks))
    return rack, max(racks, -(-nodes_of(log) // rack))


def _by_chance(log: FailureLog, within_s: float) -> float:
    """Bursts that the same failures of the same nodes make at random instants, on average."""
    rng, found = np.random.default_rng(_SEED), 0
    for _ in range(_SHUFFLES):
        times = np.sort(rng.uniform(0.0, log.span_s, len(log)))
        order = rng.permutation(len(log))
        racks = None if log.racks is None else log.racks[order]
        shuffled = replace(
            log, times_s=times, nodes=log.machines[order], kinds=None, racks=racks, repaired_s=None
        )
        nodes = _distinct_nodes(_burst_of(shuffled, within_s), shuffled.nodes)
        found += int(np.count_nonzero(nodes > 1))
    return found / _SHUFFLES
