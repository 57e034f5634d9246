"""How often nodes fail, how unevenly, and how often several of them together."""

import math
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.units import format_duration, rough_percent
from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_time import never_seen
from cprsim.failures.logs.views import nodes_of

Floats = NDArray[np.float64]

#: Why `without_worst` leaves failures out.
OF_WORST = "failures of the worst nodes"
_DRAWS = 400
_SEED = 0
#: Nodes that fail at most this long after one another are counted as a burst, s.
WITHIN_S: Final = 600.0
_DAY_S = 86_400.0
_NEGLIGIBLE = 1e-12
_MANY = 100.0


@dataclass(frozen=True, eq=False)
class Concentration:
    """Failures of each node.

    Parameters
    ----------
    counts
        Failures of each node, most first, those that never failed too; shape (nodes,).
    unseen
        How many of these nodes are an estimate (A. Chao, Scand. J. Statist. 11, 1984), since the
        log doesn't tell how many there are.
    """

    counts: NDArray[np.int64]
    unseen: int

    @property
    def shares(self) -> Floats:
        """Share of the failures on the worst 0, 1, ... nodes, shape (nodes + 1,)."""
        return _cumulated(self.counts)

    def of_worst(self, share: float) -> float:
        """Share of the failures on that share of the nodes."""
        return worst_share(self.counts, share)

    def by_chance(self) -> tuple[Floats, Floats, Floats]:
        """As `shares` if all nodes were alike: the mean, and where 95 % of draws are.

        As many failures, each on any node: Poisson counts of which the sum is known.
        """
        rng, nodes = np.random.default_rng(_SEED), len(self.counts)
        drawn = rng.multinomial(int(self.counts.sum()), np.full(nodes, 1 / nodes), _DRAWS)
        every = _cumulated(-np.sort(-drawn, axis=1))
        low, high = np.quantile(every, (0.025, 0.975), axis=0)
        return every.mean(axis=0), low, high


def concentration(log: FailureLog) -> Concentration:
    """That of a log."""
    counts = failures_per_node(log)
    unseen = never_seen(counts) if log.population is None else 0
    counts = np.concatenate([-np.sort(-counts), np.zeros(unseen, np.int64)])
    return Concentration(counts, unseen)


def failures_per_node(log: FailureLog) -> NDArray[np.int64]:
    """How often each node of `views.nodes_of` fails, those that never fail last, shape (nodes,)."""
    _, failing = np.unique(log.machines, return_inverse=True)
    return np.bincount(failing, minlength=nodes_of(log))


def worst_share(counts: NDArray[np.int64], tenth: float = 0.1) -> float:
    """Share of all failures that the worst tenth of nodes has, from 0 to 1.

    Where a tenth is no whole number of nodes, a part of the next worst one counts, in proportion:
    a point of the Lorenz curve, which is linear between nodes.

    Parameters
    ----------
    counts
        Failures of each node, those that never failed included as 0, in any order, shape (nodes,);
        some of them failed.
    tenth
        Share of the nodes that are the worst, from 0 to 1.

    References
    ----------
    M. O. Lorenz, "Methods of measuring the concentration of wealth", Publications of the American
    Statistical Association 9, 1905.
    """
    curve = _cumulated(-np.sort(-counts))
    return float(np.interp(tenth * len(counts), np.arange(len(curve)), curve))


def without_worst(log: FailureLog, count: int) -> FailureLog:
    """The log of the other nodes, had the `count` that fail most often not been there.

    Of nodes that fail alike, those with the smaller number go first. Who is left out is known by
    hindsight, so the others failed less than they will: a node that failed often was also unlucky.

    Raises
    ------
    LogError
        If no more nodes than that fail.
    """
    machines = log.machines
    failing, failures = np.unique(machines, return_counts=True)
    if count >= len(failing):
        raise LogError(
            f"exclude_worst is {count}, and {len(failing)} nodes fail in the log; leave out fewer"
        )
    worst = np.sort(failing[np.argsort(-failures, kind="stable")[:count]])
    rows = np.flatnonzero(~np.isin(machines, worst))
    rest = log.only(rows)
    # Nodes are numbered by kind: those of one close the gaps that it has.
    before = np.searchsorted(worst, machines) - np.searchsorted(worst, machines - log.nodes)
    population = None if log.population is None else log.population - count
    came_s, left_s = (
        None if each is None else np.delete(each, worst) for each in (log.came_s, log.left_s)
    )
    gone = {OF_WORST: len(log) - len(rows)}
    return replace(
        rest,
        nodes=rest.nodes - before[rows],
        population=population,
        unused={**log.unused, **gone},
        came_s=came_s,
        left_s=left_s,
    )


def _cumulated(counts: NDArray[np.int64]) -> Floats:
    """Shares of the sum on the first 0, 1, ... of the last axis."""
    total = np.cumsum(counts, axis=-1)
    shares = total / total[..., -1:]
    return np.concatenate([np.zeros((*shares.shape[:-1], 1)), shares], axis=-1)


class JointFailures(NamedTuple):
    """How often several nodes failed together, and with how many failures in all."""

    times: float
    failures: float


@dataclass(frozen=True)
class NodeFailures:
    """Failures of the nodes of a log.

    Parameters
    ----------
    spread
        Failures of each node.
    is_counted
        Whether the log tells the nodes.
    node_days
        Days that nodes were watched, each from when it came to when it left.
    bursts, by_chance
        How often two nodes or more failed within `within_s`, each so long after the one before at
        most; and how often they would if the same nodes failed as often, at random instants.
    within_s
        Seconds.
    """

    spread: Concentration
    is_counted: bool
    node_days: float
    bursts: JointFailures
    by_chance: JointFailures
    within_s: float

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.spread.counts)

    @property
    def per_1000_node_days(self) -> float:
        """Failures in 1,000 days of a node."""
        return 1000 * int(self.spread.counts.sum()) / self.node_days

    @property
    def worst_tenth(self) -> float:
        """Share of all failures that the worst tenth of the nodes has."""
        return self.spread.of_worst(0.1)

    @property
    def rate(self) -> str:
        """How often nodes fail, a sentence."""
        which = ""
        if not self.is_counted:
            unseen = self.spread.unseen
            never = f"{unseen:,} of them are estimated to have never failed; " * (unseen > 0)
            which = f" ({never}--population says how many there are)"
        often = self.per_1000_node_days
        rate = f"{often:,.0f}" if often >= _MANY else f"{often:.3g}"
        rate += " failures per 1,000 node-days"
        return f"{rate} of {self.nodes:,} nodes{which}."

    @property
    def worst(self) -> str:
        """How unevenly, a sentence."""
        return (
            f"The worst tenth of these nodes has {rough_percent(self.worst_tenth)} of the failures."
        )

    @property
    def together(self) -> list[str]:
        """How often several fail, a sentence, if they do."""
        if not self.bursts.times:
            return []
        return [
            f"Several nodes failed within {format_duration(self.within_s)} of each other "
            f"{self.bursts.times:,} x, {self.bursts.failures:,} failures in all; by chance "
            f"{self.by_chance.times:.3g} x, {self.by_chance.failures:.3g} failures."
        ]

    def document(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "nodes": self.nodes,
            "nodes_counted": self.is_counted,
            "never_seen": self.spread.unseen,
            "node_days": self.node_days,
            "per_1000_node_days": self.per_1000_node_days,
            "worst_tenth": self.worst_tenth,
            "bursts": {
                "within_s": self.within_s,
                "count": self.bursts.times,
                "failures": self.bursts.failures,
                "by_chance": self.by_chance.times,
                "failures_by_chance": self.by_chance.failures,
            },
        }


def node_failures(log: FailureLog, within_s: float = WITHIN_S) -> NodeFailures | None:
    """Those of a log; None where all strike at one instant, so that there is no rate."""
    if not log.watched_s > 0 or not log.of_nodes:
        return None
    spread = concentration(log)
    counts = spread.counts
    return NodeFailures(
        spread=spread,
        is_counted=log.population is not None,
        node_days=log.node_s(len(counts)) / _DAY_S,
        bursts=_bursts(log, within_s),
        by_chance=_by_chance(counts, log.watched_s, within_s),
        within_s=within_s,
    )


def _bursts(log: FailureLog, within_s: float) -> JointFailures:
    """Runs of failures, each at most `within_s` after the one before, of two nodes or more."""
    run = np.cumsum(np.diff(log.times_s, prepend=-np.inf) > within_s)
    pairs = np.unique(np.stack([run, log.machines]), axis=1)
    several = np.bincount(pairs[0]) > 1
    return JointFailures(int(several.sum()), int(several[run - run[0] + pairs[0][0]].sum()))


def _by_chance(counts: NDArray[np.int64], watched_s: float, within_s: float) -> JointFailures:
    """Expected runs of two nodes or more, if all failures strike at random instants.

    Of n such failures, a gap is longer than `within_s` with probability p = (1 - within /
    watched)^n; gaps are taken for independent, which is right to the order of within / watched.
    There are then 1 + (n - 1) p runs, of which those of k failures of the same node are none.
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
    return JointFailures(max(runs, 0.0), max(failures, 0.0))
