"""Made-up candidates whose true means are known, and how often verdicts about them are right."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from cprsim.runs.selection.bounds import Bound
from cprsim.runs.selection.certificate import FIRST, MOST, WITHIN, Certificate, certify, judge
from cprsim.runs.selection.intervals import intervals
from cprsim.runs.selection.samples import PairedSample

Rng = np.random.Generator
Floats = NDArray[np.float64]

#: What one failure costs: laws of mean 1.
LAWS: Final[dict[str, Callable[[Rng, tuple[int, ...]], Floats]]] = {
    "uniform": lambda rng, size: rng.uniform(0, 2, size),
    "exponential": lambda rng, size: rng.exponential(1, size),
    "lognormal": lambda rng, size: rng.lognormal(-0.5, 1, size),
}


@dataclass(frozen=True)
class World:
    """Candidates on the same timelines; arrays of shape (candidates,), shares of useful time.

    A run costs `quiet`, and `failure` times the sum of what its failures cost, each drawn from
    `law`: `common` of it is the same for all candidates. It loses `lost` times the same sum,
    `bound` at most. With the chance `restarts` it starts again from zero, which costs 0.3 to 0.7
    more. Failures in a run are Poisson with mean `rate`.
    """

    quiet: Floats
    failure: Floats
    rate: float
    law: str = "uniform"
    common: float = 0.5
    lost: Floats | None = None
    bound: float = 1.0
    restarts: Floats | None = None
    same: frozenset[int] = field(default_factory=frozenset)  # plans identical to the first

    @property
    def means(self) -> Floats:
        """The true means of the candidates."""
        added = 0.0 if self.restarts is None else 0.5 * self.restarts
        return self.quiet + self.rate * self.failure + added

    @property
    def keeps(self) -> NDArray[np.bool_]:
        """True where the true mean is within the bound."""
        if self.lost is None:
            return np.ones(len(self.quiet), bool)
        return self.rate * self.lost <= self.bound

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bound on the mean loss."""
        return () if self.lost is None else (Bound("pls", self.bound),)

    def sample(self, rng: Rng, count: int) -> PairedSample:
        """So many replications."""
        candidates = len(self.quiet)
        failures = rng.poisson(self.rate, count)
        run = np.repeat(np.arange(count), failures)
        draw = LAWS[self.law]
        costs = self.common * draw(rng, (1, run.size)) + (1 - self.common) * draw(
            rng, (candidates, run.size)
        )
        costs[sorted(self.same)] = costs[0]
        sums = np.array([np.bincount(run, each, count) for each in costs])
        objective = self.quiet[:, None] + self.failure[:, None] * sums
        met = np.tile(failures.astype(float), (candidates, 1))
        unmet = None
        if self.restarts is not None:
            again = rng.random((candidates, count)) < self.restarts[:, None]
            objective += again * rng.uniform(0.3, 0.7, objective.shape)
            met += again
            unmet = (self.restarts > 0).astype(float)
        bounded = np.zeros((candidates, 0, count))
        if self.lost is not None:
            bounded = (self.lost[:, None] * sums)[:, None, :]
        return PairedSample(objective, bounded, met, unmet=unmet)


def _spent(rng: Rng, means: Floats, rate: float, **more: object) -> World:
    """Candidates with these means: part of it quiet, the other part in failures."""
    share = rng.uniform(0.1, 0.9, len(means))
    quiet = means * share
    return World(quiet, (means - quiet) / rate, rate, **more)  # type: ignore[arg-type]


def two_rare(rng: Rng) -> World:
    """Two, failures in 2 % of the runs; the better one costs more where nothing fails."""
    return _two(rng, -math.log(0.98))


def two_very_rare(rng: Rng) -> World:
    """Two of that kind, failures in 0.2 % of the runs."""
    return _two(rng, -math.log(0.998))


def _two(rng: Rng, rate: float) -> World:
    quiet = rng.uniform(0.005, 0.02)
    dearer = rng.uniform(0.0005, 0.005)
    failure = rng.uniform(0.0, 0.2)
    # It saves 1 to 3 times per failure what it costs more.
    more = dearer * rng.uniform(1.0, 3.0) / rate
    return World(np.array([quiet + dearer, quiet]), np.array([failure, failure + more]), rate)


def equal(rng: Rng) -> World:
    """Two to six with one and the same mean, of which one may be a copy of the first."""
    count = int(rng.integers(2, 7))
    world = _spent(rng, np.full(count, rng.uniform(0.01, 0.1)), float(rng.choice([0.3, 1.0, 5.0])))
    if count > 2 and rng.random() < 0.5:
        world.quiet[-1], world.failure[-1] = world.quiet[0], world.failure[0]
        return World(world.quiet, world.failure, world.rate, same=frozenset({count - 1}))
    return world


def near(rng: Rng) -> World:
    """Five within 0.1 points."""
    return _spent(rng, 0.03 + rng.uniform(0, WITHIN, 5), float(rng.choice([0.3, 1.0, 5.0])))


def near_rare(rng: Rng) -> World:
    """Five within 0.1 points, failures in 2 % of the runs."""
    return _spent(rng, 0.03 + rng.uniform(0, WITHIN, 5), -math.log(0.98))


def spread(rng: Rng) -> World:
    """Two to six, any means."""
    means = rng.uniform(0.01, 0.08, int(rng.integers(2, 7)))
    return _spent(rng, means, float(rng.choice([0.1, 1.0, 5.0])), law="exponential")


def skewed(rng: Rng) -> World:
    """Two to four within half a point; a failure's cost is lognormal with sigma 1."""
    means = 0.03 + rng.uniform(0, 0.005, int(rng.integers(2, 5)))
    return _spent(rng, means, float(rng.choice([0.3, 1.0])), law="lognormal")


def bounded(rng: Rng) -> World:
    """Two to five, the cheaper the more is lost, around a bound of 2 %."""
    count = int(rng.integers(2, 6))
    rate = float(rng.choice([0.3, 1.0, 5.0]))
    lost = np.sort(0.02 * rng.uniform(0.7, 1.3, count)) / rate
    lost[0] = rng.choice([0.0, lost[0]])
    means = np.sort(rng.uniform(0.01, 0.05, count))[::-1]
    return _spent(rng, means, rate, lost=lost, bound=0.02)


def restarted(rng: Rng) -> World:
    """Two; the cheaper restarts from zero in 0.1 to 1 % of the runs, and is the dearer for it."""
    chance = 10 ** rng.uniform(-3, -2)
    dearer = 0.5 * chance * rng.uniform(0.3, 0.9)
    return World(
        np.array([0.01 + dearer, 0.01]),
        np.array([0.02, 0.02]),
        1.0,
        restarts=np.array([0.0, chance]),
    )


KINDS: Final[dict[str, Callable[[Rng], World]]] = {
    each.__name__: each
    for each in (
        two_rare,
        two_very_rare,
        equal,
        near,
        near_rare,
        spread,
        skewed,
        bounded,
        restarted,
    )
}


def missed(law: str, failures: int, runs: int, samples: int) -> tuple[float, float, float]:
    """Return how often a mean of runs with rare failures lies beyond one end of its interval.

    The worse end of Student's at 95 %; that of `intervals`; and how often this one has ends.
    """
    rng = np.random.default_rng([list(LAWS).index(law), failures, runs])
    failed = rng.random((samples, runs)) < failures / runs
    values = np.where(failed, LAWS[law](rng, failed.shape), 0.0)
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / math.sqrt(runs)
    half = float(stdtrit(runs - 1, 0.975)) * error
    found = intervals(values, failed, 0.05, 1e-9)
    student, ours = (
        max(np.mean(low > failures / runs), np.mean(high < failures / runs))
        for low, high in ((mean - half, mean + half), (found.low, found.high))
    )
    return float(student), float(ours), float(np.isfinite(found.low).mean())


def outcome(world: World, found: Certificate) -> str:
    """`best`, `tied`, `undecided` or `none`; `wrong best` or `wrong` if that isn't so in truth."""
    means, keeps = world.means, world.keeps
    if found.verdict == "undecided":
        return "undecided"
    if found.best is None:
        return "wrong" if keeps.any() else "none"
    best = found.best
    alike = {0, *world.same} if best in {0, *world.same} else {best}
    others = [i for i in np.flatnonzero(keeps) if i not in alike]
    if found.verdict == "best":
        # Rounding of means that were made equal.
        sure = all(means[best] < means[i] - 1e-12 for i in others)
        return "best" if keeps[best] and sure else "wrong best"
    near_best = all(means[best] <= means[i] + WITHIN + 1e-12 for i in others)
    return "tied" if keeps[best] and near_best else "wrong"


def judged(kind: str, count: int, worlds: int, seed: int = 0) -> Counter[str]:
    """Outcomes of `judge` at so many replications, over worlds of a kind."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), count])
    found: Counter[str] = Counter()
    for _ in range(worlds):
        world = KINDS[kind](rng)
        found[outcome(world, judge(world.sample(rng, count), world.bounds))] += 1
    return found


@dataclass(frozen=True)
class Searched:
    """Outcomes of `certify` and KN over worlds of a kind.

    `played`, `kn_played`: mean of the replications of all candidates of a world together.
    `kn_wrong`: worlds in which KN named one that is worse than the best by more than `WITHIN`.
    """

    outcomes: Counter[str]
    played: float
    kn_played: float
    kn_wrong: int


def certified(kind: str, worlds: int, seed: int = 0, most: int = MOST) -> Searched:
    """Outcomes of `certify`, and of KN on the same replications."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    outcomes: Counter[str] = Counter()
    played, by_kn, wrong = 0, 0, 0
    for _ in range(worlds):
        world = KINDS[kind](rng)
        whole = world.sample(rng, most)
        counts = dict.fromkeys(range(len(world.quiet)), 0)

        def play(
            left: Sequence[int],
            count: int,
            whole: PairedSample = whole,
            counts: dict[int, int] = counts,
        ) -> PairedSample:
            counts |= dict.fromkeys(left, count)
            rows = list(left)
            return PairedSample(
                *(each[rows][..., :count] for each in (whole.objective, whole.bounded)),
                whole.failures[rows][:, :count],
                unmet=None if whole.unmet is None else whole.unmet[rows],
            )

        *_, last = certify(play, len(world.quiet), world.bounds, most=most)
        outcomes[outcome(world, last)] += 1
        played += sum(counts.values())
        if not world.bounds:
            best, taken = kim_nelson(whole.objective, WITHIN, first=FIRST)
            by_kn += taken
            wrong += bool(world.means[best] > world.means.min() + WITHIN)
    return Searched(outcomes, played / worlds, by_kn / worlds, wrong)


def kim_nelson(
    objective: Floats, difference: float, first: int, miss: float = 0.05
) -> tuple[int, int]:
    """The candidate that KN selects as the least, and replications of all that it takes.

    Kim and Nelson, ACM TOMACS 11, 2001, with c = 1; ends at the last replication at the latest.
    `objective`: shape (candidates, replications). `difference`: its indifference zone.
    """
    count, most = objective.shape
    eta = ((2 * miss / (count - 1)) ** (-2 / (first - 1)) - 1) / 2
    h2 = 2 * eta * (first - 1)
    taken = np.arange(first, most + 1)
    ends = [[most] * count for _ in range(count)]  # replications until one is out
    for i in range(count):
        for other in range(i):
            gap = objective[i] - objective[other]
            reach = h2 * gap[:first].var(ddof=1) / (2 * difference) - difference * taken / 2
            sums = np.cumsum(gap)[first - 1 :]
            for a, b, sign in ((i, other, 1), (other, i, -1)):
                out = sign * sums > np.maximum(reach, 0)
                if out.any():
                    ends[a][b] = int(taken[out.argmax()])
    left, total = list(range(count)), 0
    while len(left) > 1:
        end, worst = min((ends[a][b], a) for a in left for b in left if a != b)
        if end == most:
            break
        left.remove(worst)
        total += end
    return min(left, key=lambda each: objective[each].mean()), total + (
        len(left) * (most if len(left) > 1 else end)
    )
