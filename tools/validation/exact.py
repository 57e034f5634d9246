"""Exact means that `cprsim.formulas` does not have, each by another method.

None of this touches the simulator.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from cprsim.basics.distributions import Distribution
from cprsim.formulas.makespan import segment_count

Floats = NDArray[np.float64]
POINTS = 2**16  # sets of failure instants over which `Uniform.played` averages


def fresh_makespan_s(
    commits: int,
    interval_s: float,
    stall_s: float,
    persist_s: float,
    recovery_s: float,
    law: Distribution,
) -> float:
    """Mean time to the last of `commits` background saves, under any law that renews at a failure.

    Exact, by recursion on the first failure: with `S` the survival, `c` the interval and its stall,
    and `L(n) = n c + P`, a failure between `L(k)` and `L(k + 1)` leaves `n - k` saves to commit, so
    `F(n) = E[min(X, L(n))] + R (1 - S(L(n))) + sum over k < n of P(k) F(n - k)`.
    """
    ends_s = np.arange(commits + 1) * (interval_s + stall_s) + persist_s
    alive, lived_s = law.survival(ends_s), lived(law, ends_s)
    kept = -np.diff(alive)  # kept[k]: chance to fail with k commits done
    kept[0] = 1.0 - alive[1]
    times_s = np.zeros(commits + 1)
    for n in range(1, commits + 1):
        again_s = kept[1:n] @ times_s[n - 1 : 0 : -1]
        times_s[n] = (lived_s[n] + recovery_s * (1.0 - alive[n]) + again_s) / (1.0 - kept[0])
    return float(times_s[commits])


def lived(law: Distribution, ends_s: Floats) -> Floats:
    """Mean of a life cut off at each of `ends_s`: the integral of its survival."""
    mean_s, shape = law.expected_s, law.shape or 1.0
    if law.distribution == "deterministic":
        return np.minimum(mean_s, ends_s)
    if law.distribution == "gamma":
        before = gammainc(shape + 1, ends_s * shape / mean_s)
    else:  # Weibull
        scale_s = mean_s / math.gamma(1 + 1 / shape)
        before = gammainc(1 + 1 / shape, (ends_s / scale_s) ** shape)
    return mean_s * before + ends_s * law.survival(ends_s)


def renewal_count(law: Distribution, horizon_s: float, steps: int = 4000) -> float:
    """Mean number of failures of one node up to `horizon_s`, replaced at once by a new one.

    `m(t) = F(t) + integral of F(t - s) dm(s)`, the renewal equation, as a Riemann-Stieltjes sum
    with `F` at the midpoints (Xie, Commun. Statist. B 18, 1989); its error falls with steps**2.
    """
    width_s = horizon_s / steps
    at_ends = 1.0 - law.survival(np.arange(1, steps + 1) * width_s)
    at_midpoints = 1.0 - law.survival((np.arange(steps) + 0.5) * width_s)
    count = np.zeros(steps + 1)
    for i in range(1, steps + 1):
        earlier = np.diff(count[:i]) @ at_midpoints[i - 1 : 0 : -1]
        count[i] = (at_ends[i - 1] + earlier - at_midpoints[0] * count[i - 1]) / (
            1.0 - at_midpoints[0]
        )
    return float(count[-1])


@dataclass(frozen=True)
class Uniform:
    """A job hit by `failures` failures at instants uniform over its useful time. Times in s."""

    useful_time_s: float
    interval_s: float
    save_s: float
    load_s: float
    downtime_s: float
    failures: int
    hit_share: float
    full: bool

    def played(self, points: int = POINTS) -> tuple[float, float]:
        """Mean overhead in percent and mean PLS, by arithmetic on an even grid of instants.

        Not by SimPy, and with no event: between failures whole save cycles are counted by division.
        It leaves out that a shard which is lost again while it loads is lost once.
        """
        struck_s = np.sort(even_points(points, self.failures), axis=1) * self.useful_time_s
        cycle_s = self.interval_s + self.save_s
        resumed_s, down_until_s, age_s, pls = np.zeros((4, points))
        progress_s = np.zeros(points)  # at the last resumption
        waited_s = np.zeros(points)  # for recoveries
        for at_s in struck_s.T:
            strikes = at_s >= down_until_s
            training = strikes & (at_s >= resumed_s)
            if self.full:
                saves = np.floor((at_s - resumed_s) / cycle_s)
                progress_s += np.where(training, saves * self.interval_s, 0.0)
            else:
                age_s = np.where(training, (at_s - waited_s) % cycle_s, age_s)
                stale_s = np.minimum(age_s, self.interval_s)
                pls += np.where(strikes, stale_s, 0.0) * self.hit_share / self.useful_time_s
            # A failure while loading starts the recovery again; one in the downtime is absorbed.
            ends_s = at_s + self.downtime_s + self.load_s
            begins_s = np.where(training, at_s, resumed_s)
            waited_s += np.where(strikes, ends_s - begins_s, 0.0)
            down_until_s = np.where(strikes, at_s + self.downtime_s, down_until_s)
            resumed_s = np.where(strikes, ends_s, resumed_s)
        left_s = self.useful_time_s - progress_s
        saves = np.ceil(left_s / self.interval_s) - 1
        start_s = resumed_s if self.full else waited_s
        wall_s = start_s + left_s + saves * self.save_s
        return 100 * float(wall_s.mean() / self.useful_time_s - 1), float(pls.mean())

    def counted(self, on_wall_clock: bool) -> tuple[float, float]:
        """Mean overhead in percent and mean PLS to first order, but with whole saves counted.

        `ceil(T/tau) - 1` saves, and the mean age of a checkpoint over the segments that there are,
        the short last one included. The age is taken at instants of training, as the references'
        own Monte Carlo does, or `on_wall_clock`, where a failure can strike a save and then loses
        the whole interval and the time that the save took so far.
        """
        horizon_s, tau_s = self.useful_time_s, self.interval_s
        save_s = self.save_s if on_wall_clock else 0.0
        cycles, rest_s = divmod(horizon_s, tau_s + save_s)
        stale = cycles * (tau_s**2 / 2 + tau_s * save_s) + min(rest_s, tau_s) ** 2 / 2
        wasted = cycles * save_s**2 / 2
        if rest_s > tau_s:
            stale += (rest_s - tau_s) * tau_s
            wasted += (rest_s - tau_s) ** 2 / 2
        lost_s = (stale + wasted) / horizon_s if self.full else 0.0
        saving_s = (segment_count(horizon_s, tau_s) - 1) * self.save_s
        failing_s = self.failures * (self.downtime_s + self.load_s + lost_s)
        pls = 0.0 if self.full else self.failures * self.hit_share * stale / horizon_s**2
        return 100 * (saving_s + failing_s) / horizon_s, pls


def even_points(points: int, dimensions: int) -> Floats:
    """Points that fill the unit cube evenly: multiples of powers of a root of x**(d+1) = x + 1.

    A Kronecker sequence (Roberts' R-sequence); its means converge much faster than random ones.
    """
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return (0.5 + np.arange(1, points + 1)[:, None] * steps) % 1.0
