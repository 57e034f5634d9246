"""Whether a fitted law is good enough to plan with."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import format_duration, rough_percent
from cprsim.errors import LogError
from cprsim.survival.fitted_laws import Fit, fit, fit_all
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Floats, Sample

#: Most that a law may be off the survival, as a share of the failures the data show.
MOST_RMSE = 0.05
MOST_KS = 0.10
#: Most that its mean may be off that of the data, as a share of it: overhead follows the mean.
MOST_MEAN = 0.10
# A fit farther off than all but one of these is rejected at 2 / (39 + 1) = 5 %.
_REPLICATIONS = 39
_FARTHER = 2
_SEED = 0
# Kolmogorov's distance is beyond this over sqrt(n) once in 1e21; fitted laws are nearer still.
_NEVER = 5.0


@dataclass(frozen=True)
class Verdict:
    """Whether a fit is adequate, and why, in words fit for a user."""

    adequate: bool
    reason: str


def judge(sample: Sample, fitted: Fit, mean_s: tuple[float, float] | None = None) -> Verdict:
    """Whether the law of `fitted` describes `sample` well enough to plan with.

    `mean_s`: for lives that follow each other, how short and how long their mean may be by the time
    watched per failure, seconds.

    A law is adequate if it has their mean, and is near the data or no farther from them than chance
    explains:

    * mean: where nothing is censored, nor came into sight late, the law's mean is within 10 % of
      the data's, chance or not. A log of n failures has lasted n means, and what failures cost goes
      with their number; the gamma and the exponential law always have the data's mean, a
      heavy-tailed one need not (of 20 durations from a lognormal law of cv 2, three in ten miss it
      by chance: it takes a longer log to tell whether the law is wrong or the log had luck). Of
      lives, some of which are always censored, the law's mean is no more than 10 % outside
      `mean_s`: in the long run nodes fail once in a mean life, whatever the law says of lives
      longer than any that was watched;
    * near: the root mean square distance between its survival and the Kaplan-Meier curve is at
      most 5 % and the largest distance at most 10 %, both as shares of the failures the data show
      (1 less the curve's end, which is all of them without censoring);
    * chance: of 39 samples drawn from the law itself, censored like the data and fitted anew, at
      least 2 have a largest distance as great as the data's (a parametric bootstrap of the
      Kolmogorov-Smirnov statistic, at 5 %; its seed is fixed, so the verdict is too).

    Notes
    -----
    Significance alone would reject every law once there are thousands of gaps: no log is exactly
    gamma, and 3,917 gaps of LANL system 18 show it at a distance of 0.02, which moves no plan.
    Distance alone would reject the true law where there are a dozen gaps. The RMSE limit is of the
    order that the CPR paper calls a fit (4.4 %). That figure weighs times alike, so it is blind to
    bursts of very short gaps among long ones (Grid'5000: RMSE 2 %, largest distance 0.33), which
    the second limit is for. Critical values in print (1.36 / sqrt(n), Lilliefors, Stephens 1974)
    aren't used: they hold for no estimated shape of a gamma law and no censored data.

    Only the law of single durations is judged, not whether one depends on the one before, nor
    what a censored sample doesn't show: where 1 % failed, the mean is an extrapolation.
    """
    curve, name = KaplanMeier.from_sample(sample), fitted.law.distribution
    seen = 1 - float(curve.at(curve.last_s))
    ks, rmse = fitted.ks / seen, fitted.rmse / seen
    off = f"{rough_percent(ks)} at most, {rough_percent(rmse)} in root mean square"
    if seen < 1:
        off += f", of the {rough_percent(seen)} that fail while watched"
    ratio = fitted.law.expected_s / sample.mtbf_s
    if mean_s is not None and not is_mean(fitted.law.expected_s, mean_s):
        low_s, high_s = mean_s
        ends = f"{format_duration(low_s)} to {format_duration(high_s)}"
        ends = ends if high_s < math.inf else f"{format_duration(low_s)} or more"
        mean = format_duration(fitted.law.expected_s)
        return Verdict(
            False, f"{name} has a mean of {mean}, where nodes were up {ends} per failure"
        )
    if not sample.censored and not sample.late and abs(ratio - 1) > MOST_MEAN:
        side = "above" if ratio > 1 else "below"
        return Verdict(
            False, f"{name} has a mean {rough_percent(abs(ratio - 1))} {side} that of the durations"
        )
    if ks <= MOST_KS and rmse <= MOST_RMSE:
        return Verdict(True, f"{name} is off the survival by {off}")
    limits = f"more than {rough_percent(MOST_KS)} or {rough_percent(MOST_RMSE)}"
    if _by_chance(sample, fitted):
        return Verdict(
            True,
            f"{name} is off the survival by {off}: {limits}, but no more than chance would have "
            f"it with {sample.failures} failures",
        )
    return Verdict(False, f"{name} is off the survival by {off}: {limits}, and more than by chance")


def is_mean(mean_s: float, ends_s: tuple[float, float]) -> bool:
    """Whether a mean is no more than `MOST_MEAN` outside."""
    low_s, high_s = ends_s
    return (1 - MOST_MEAN) * low_s <= mean_s <= (1 + MOST_MEAN) * high_s


def fit_and_judge(
    sample: Sample, mean_s: tuple[float, float] | None = None
) -> tuple[list[Fit], dict[str, Verdict]]:
    """Every law fitted: first the best, the others by AIC; and verdicts by name.

    The best is the adequate one with the smallest AIC, or the one with the smallest AIC where none
    is adequate. Laws are judged by AIC, up to the first that is adequate. `mean_s`: as of `judge`.

    Raises
    ------
    LogError
        As of `fit_all`.
    """
    fits, verdicts = fit_all(sample), dict[str, Verdict]()
    for each in fits:
        verdict = verdicts[each.law.distribution] = judge(sample, each, mean_s)
        if verdict.adequate:
            fits.remove(each)
            fits.insert(0, each)
            break
    return fits, verdicts


@dataclass(frozen=True, eq=False)
class Simulated:
    """Samples of as many durations of `law` as `like` has, cut short as those were.

    Whoever was censored is again watched for just as long. How long a failed one would have been
    watched isn't known: that is drawn from the Kaplan-Meier curve of the censoring times, beyond
    the time it failed (Davison and Hinkley, "Bootstrap methods and their application", 1997,
    algorithm 3.2). Whoever came into sight late has lasted until then.
    """

    like: Sample
    law: Distribution

    @cached_property
    def _watching(self) -> KaplanMeier:
        """Survival of the watch itself: a failure is what cuts it short."""
        like = self.like
        return KaplanMeier.from_sample(Sample(like.durations_s, ~like.observed, like.entered_s))

    def sample(self, rng: np.random.Generator) -> Sample:
        """One more sample; successive calls continue one sequence."""
        like, watched_s = self.like, np.full(self.like.n, np.inf)
        # A shape near 0 draws zeros, which are but very short.
        shortest_s = np.nextafter(np.maximum(like.entered_s, np.finfo(np.float64).tiny), np.inf)
        lasted_s = np.maximum(self._lasted_s(rng), shortest_s)
        if like.censored:
            watched_s[~like.observed] = like.durations_s[~like.observed]
            left = self._watching.at(like.durations_s[like.observed])
            until_s = self._watching.quantile(1 - left * rng.random(len(left)))
            watched_s[like.observed] = np.where(np.isnan(until_s), np.inf, until_s)
        return Sample(np.minimum(lasted_s, watched_s), lasted_s <= watched_s, like.entered_s)

    def _lasted_s(self, rng: np.random.Generator) -> Floats:
        """Durations of the law, each longer than the age at which it came into sight, seconds."""
        if not self.like.late:
            return self.law.sample(rng, self.like.n)
        reached = self.law.survival(self.like.entered_s)
        # Never a share of 0, of which no float holds the duration.
        return self.law.quantile(reached * (1 - rng.random(self.like.n)))


def _by_chance(sample: Sample, fitted: Fit) -> bool:
    """Whether samples of the law itself are often enough as far from their fit."""
    if fitted.ks > _NEVER / math.sqrt(sample.failures):
        return False
    draws, rng = Simulated(sample, fitted.law), np.random.default_rng(_SEED)
    farther = 0
    for _ in range(_REPLICATIONS):
        try:
            farther += fit(draws.sample(rng), fitted.law.distribution).ks >= fitted.ks
        except LogError:
            farther += 1  # too few failures to fit: chance could do anything
        if farther >= _FARTHER:
            return True
    return False
