"""Jobs of the production fleet under full recovery in NumPy: all at once, 100 times as fast.

They are the jobs of `cprsim.runs.fleet`: blocking saves, one law of gaps, a wait for each job. A
test compares each job that the simulator would draw with its time there.
"""

from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, CohortDraws
from cprsim.basics.units import parse_duration
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.runs.fleet import Fleet, dotted
from cprsim.scenario.drawn import Drawn

Array = NDArray[np.float64]

#: Gaps that are drawn of each job: more than jobs of 30 days have, at 14 h and more a gap.
_GAPS: Final = 128
#: Values of a job, by their keys in the scenario.
_VALUES: Final = (
    "job.useful_time",
    "model.embedding",
    "costs.reschedule",
    "failures.mean",
    "policies.full.interval",
    "cluster.trainers",
    "cluster.parameter_servers",
)


class Jobs(NamedTuple):
    """Values of jobs by their keys in the scenario, and gaps in units of the mean gap."""

    values: dict[str, Array]
    gaps: Array

    def played(self, fleet: Fleet) -> pd.DataFrame:
        """Play them; return the columns of `FleetResult.replications` that the facts need."""
        useful, size, wait, mean, interval, *nodes = (self.values[key] for key in _VALUES)
        storage = fleet.example.storage
        write, read = float(storage.write or np.inf), float(storage.read or np.inf)
        seconds = _played(useful, interval, size / write, size / read, wait, self.gaps * mean)
        wall = useful + sum(seconds.values())
        return pd.DataFrame(
            {
                "overhead": wall / useful - 1,
                "nodes": sum(np.floor(each + 0.5) for each in nodes),
                "wall_s": wall,
                "useful_s": useful,
                **{f"{cause}_s": seconds.get(cause, 0.0) for cause in OVERHEAD_CAUSES},
            }
        )


class Smooth:
    """Jobs that move with the numbers of their laws without jumps, so that a search finds its way.

    So many quantiles of each law, the same for all fleets.
    """

    def __init__(self, law: Distribution, jobs_log2: int, seed: int) -> None:
        points = qmc.Sobol(len(_VALUES), seed=seed).random_base2(jobs_log2)
        self._shares = dict(zip(_VALUES, points.T, strict=True))
        gaps = law.sample(np.random.default_rng(seed), (_GAPS, 2**jobs_log2))
        self._gaps = gaps / law.expected_s

    def jobs(self, fleet: Fleet) -> Jobs:
        """Return jobs of a fleet that differs from the production fleet in numbers of its laws."""
        laws = {dotted(path): law for path, law in fleet.drawn.items()}
        values = {key: _quantile(laws[key], share) for key, share in self._shares.items()}
        return Jobs(values, self._gaps)


class AsSimulated:
    """The first jobs that the simulator would draw, from its own streams of random numbers."""

    def __init__(self, law: Distribution, jobs: int, seed: int = 0) -> None:
        self._count, self._seed = jobs, seed
        self._cohorts = range(-(-jobs // COHORT))
        gaps = [
            CohortDraws(law.sample, seed, number, Cause.FAILURE_TIME).upto(_GAPS)[:, :_GAPS]
            for number in self._cohorts
        ]
        self._gaps = np.concatenate(gaps)[:jobs].T / law.expected_s

    def jobs(self, fleet: Fleet) -> Jobs:
        """Return jobs of a fleet whose failures have the law of the production fleet."""
        values = {dotted(path): self._drawn(law, dotted(path)) for path, law in fleet.drawn.items()}
        return Jobs(values, self._gaps)

    def _drawn(self, law: Drawn, key: str) -> Array:
        drawn = [value for n in self._cohorts for value in law.cohort(self._seed, n, key)]
        if law.values is not None:
            seconds = {each: parse_duration(each) for each in law.values}
            drawn = [seconds[each] for each in drawn]
        return np.array(drawn[: self._count])


def _quantile(law: Drawn, share: Array) -> Array:
    """The values below which those shares of what is drawn lie."""
    if law.values is not None:
        values = np.array([parse_duration(each) for each in law.values])
        return values[np.minimum((share * len(values)).astype(int), len(values) - 1)]
    low, high = law.ends.get("min", 0.0), law.ends.get("max", np.inf)
    if law.distribution == "uniform":
        return np.asarray(low + share * (high - low))
    assert law.mean is not None
    assert law.cv is not None  # lognormal, as all others are
    spread = np.sqrt(np.log1p(law.cv**2))
    middle = np.log(law.mean.number) - spread**2 / 2
    with np.errstate(divide="ignore"):  # the logarithm of 0
        ends = ndtr((np.log([low, high]) - middle) / spread)
    return np.asarray(np.exp(middle + spread * ndtri(ends[0] + share * (ends[1] - ends[0]))))


def _played(
    useful: Array, interval: Array, save: Array, load: Array, wait: Array, gaps: Array
) -> dict[str, Array]:
    """Seconds by cause of each job: rules 3 to 8, 12 and 16 of docs/semantics.md."""
    spent = {cause: np.zeros_like(useful) for cause in ("save", "load", "lost", "reschedule")}
    saved, loading = np.zeros_like(useful), np.zeros_like(useful)
    going = np.arange(len(useful))
    for gap in gaps:
        left, cycle = useful[going] - saved[going], interval[going] + save[going]
        saves = np.ceil(left / interval[going]) - 1
        done = gap[going] >= loading[going] + left + saves * save[going]
        run = np.maximum(gap[going] - loading[going], 0.0)
        whole = np.where(done, saves, np.minimum(np.floor(run / cycle), saves))
        since = run - whole * cycle  # the last save: training, then a part of another save
        lost = np.where(done, 0.0, np.minimum(since, interval[going]))
        spent["save"][going] += whole * save[going] + np.where(done, 0.0, since - lost)
        spent["lost"][going] += lost
        spent["load"][going] += np.minimum(gap[going], loading[going])
        saved[going] += whole * interval[going]
        going = going[~done]
        spent["reschedule"][going] += wait[going]
        loading[going] = load[going]
    return spent
