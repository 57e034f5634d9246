"""Laws fitted to durations, their distance from the data, and whether that is good enough."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from cprsim.basics.distributions import SPREAD, Distribution
from cprsim.basics.units import format_duration, rough_percent
from cprsim.errors import LogError, UsageError
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.likelihood import ESTIMATE, NoMaximumError
from cprsim.survival.sample import Floats, Sample

GRID_POINTS = 500
GRID_SHARE = 0.99
#: Below this many failures not even the shape's sign (wear-out or early failures) is known.
FEWEST_FAILURES = 10
_NORMAL_95 = 1.959964  # 97.5 % quantile of the normal law
_LARGEST_LOG = 300.0  # beyond it the interval says nothing, and a float overflows
_LEAST_SPREAD = 1e-4  # as a share of the longest duration; the likelihoods hardly resolve less
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


def distances(curve: KaplanMeier, law: Distribution) -> tuple[float, float]:
    """Largest distance between the curve and the law's survival, and its root mean square, 0 to 1.

    The largest is over all durations up to the longest, on both sides of each step; of lives that
    reach the age at which the curve begins. The root mean square is on 500 times spread evenly from
    where the curve begins to its 99th percentile (interpolated between its steps), or to the
    longest duration where fewer have failed by then: the RMSE of Maeng et al., "CPR: Understanding
    and Improving Failure Tolerant Training for Deep Learning Recommendation" (MLSys 2021). Times,
    not failures, have equal weight: where most gaps are short and a few very long, it says little
    about the short ones, and the largest distance all the more.
    """
    after = survival(law, curve.times_s, curve.from_s)
    before = np.concatenate(([1.0], curve.survival[:-1]))
    (end,) = survival(law, np.array([curve.last_s]), curve.from_s)
    last = abs(float(curve.at(curve.last_s)) - float(end))
    largest = max(np.abs(curve.survival - after).max(), np.abs(before - after).max(), last)
    failed = np.concatenate(([0.0], 1 - curve.survival))
    end_s = np.interp(
        GRID_SHARE, failed, np.append(curve.from_s, curve.times_s), right=curve.last_s
    )
    grid = np.linspace(curve.from_s, end_s, GRID_POINTS)
    off = curve.at(grid) - survival(law, grid, curve.from_s)
    return float(largest), float(np.sqrt(np.mean(off**2)))


def survival(law: Distribution, t_s: Floats, from_s: float = 0.0) -> Floats:
    """The law's survival at `t_s` (seconds), at which a steep law may overflow on its way to 0.

    `from_s`: of lives that reach this age, so that it is 1 up to there.
    """
    with np.errstate(over="ignore", under="ignore"):
        left = law.survival(t_s)
        if not from_s:
            return left
        reached = float(law.survival(np.array([from_s]))[0])
    return np.minimum(left / reached, 1.0) if reached else np.where(t_s > from_s, 0.0, 1.0)


class Verdict(NamedTuple):
    """Verdict whether a fit is adequate, and why, in words fit for a user."""

    adequate: bool
    reason: str


_UNJUDGED: Final = Verdict(False, "")


@dataclass(frozen=True)
class Fit:
    """One law fitted by maximum likelihood under right-censoring."""

    #: The law, as a scenario takes it.
    law: Distribution
    #: Standard error of its mean, seconds, from the observed information by the delta method.
    mean_se_s: float
    #: Standard error of its shape (gamma, Weibull) or its cv (lognormal); None (exponential).
    shape_se: float | None
    #: Of durations in seconds, censored ones by their probability of lasting longer.
    log_likelihood: float
    #: Akaike's criterion, 2 parameters - 2 log-likelihood; the smallest fits best.
    aic: float
    #: Largest distance between the Kaplan-Meier curve and the law's survival, 0 to 1.
    ks: float
    #: Root mean square of that distance over time, 0 to 1: the CPR paper's figure.
    rmse: float
    #: The judgement whether it is good enough to plan with; without a reason if nobody judged it.
    verdict: Verdict = _UNJUDGED

    @property
    def spread(self) -> float | None:
        """Its shape (gamma, Weibull) or cv (lognormal); None (exponential)."""
        return self.law.shape if self.law.shape is not None else self.law.cv

    @property
    def mean_interval_s(self) -> tuple[float, float]:
        """95 % interval of the mean, seconds, from its standard error on a log scale."""
        return log_interval(self.law.expected_s, self.mean_se_s)

    @property
    def spread_interval(self) -> tuple[float, float] | None:
        """95 % interval of `spread`, in the same way."""
        if self.spread is None or self.shape_se is None:
            return None
        return log_interval(self.spread, self.shape_se)

    def document(self) -> dict[str, Any]:
        """Return one JSON object; times in seconds."""
        key = SPREAD[self.law.distribution]
        spread = {key: self.spread, f"{key}_ci95": self.spread_interval} if key else {}
        return {
            "distribution": self.law.distribution,
            **spread,
            "mean_s": self.law.expected_s,
            "mean_ci95": self.mean_interval_s,
            "ks": self.ks,
            "rmse": self.rmse,
            "aic": self.aic,
            "log_likelihood": self.log_likelihood,
        }


def log_interval(value: float, se: float) -> tuple[float, float]:
    """95 % interval of a positive value, from its standard error on a log scale."""
    factor = math.exp(min(_NORMAL_95 * se / value, _LARGEST_LOG))
    return value / factor, value * factor


def fit(sample: Sample, name: str) -> Fit:
    """The law `name` (exponential, gamma, weibull or lognormal) that fits `sample` best.

    Raises `UsageError` if the law isn't one of these; `LogError` if fewer than 10 durations ended
    in a failure, the durations are all alike (only the exponential takes them), or no law with a
    finite mean fits.
    """
    if name not in ESTIMATE:
        raise UsageError(f"no fit of {name!r}; laws that can be fitted: {', '.join(ESTIMATE)}")
    check_failures(sample)
    if name != "exponential":
        check_spread(sample)
    data, curve = sample.scaled(), KaplanMeier.from_sample(sample)
    try:
        estimate = ESTIMATE[name](data)
        law = law_of(name, estimate.mean * data.unit_s, estimate.spread)
        ks, rmse = distances(curve, law)
    except OverflowError:
        raise NoMaximumError(f"the {name} law fits only with an infinite mean") from None
    log_likelihood = estimate.log_likelihood - sample.failures * math.log(data.unit_s)
    return Fit(
        law=law,
        mean_se_s=estimate.mean_se * data.unit_s,
        shape_se=estimate.spread_se,
        log_likelihood=log_likelihood,
        aic=2 * (1 if estimate.spread is None else 2) - 2 * log_likelihood,
        ks=ks,
        rmse=rmse,
    )


def fit_all(sample: Sample) -> list[Fit]:
    """Every law fitted to `sample`, the best by AIC first.

    A law that fits only with an infinite mean, or better and better the longer it is, is left out:
    no scenario could hold it. The exponential always has a mean. Raises `LogError` if fewer than 10
    durations ended in a failure, or the durations are all alike.
    """
    check_failures(sample)
    check_spread(sample)
    fits = []
    for name in ESTIMATE:
        with suppress(NoMaximumError):
            fits.append(fit(sample, name))
    return sorted(fits, key=lambda fitted: fitted.aic)


def law_of(name: str, mean_s: float, spread: float | None) -> Distribution:
    """The law of that name, mean (seconds) and shape or cv; `OverflowError` beyond all floats."""
    key = SPREAD[name]
    keys = {"distribution": name, "mean": f"{mean_s!r} s", **({key: spread} if key else {})}
    try:
        return Distribution.model_validate(keys)
    except ValueError as error:  # of positive numbers, only their size can be wrong
        raise OverflowError(str(error)) from None


def check_failures(sample: Sample) -> None:
    """Raise `LogError` where too few durations ended in a failure."""
    failures = sample.failures
    if failures < FEWEST_FAILURES:
        raise LogError(
            f"{failures} {'duration that ends' if failures == 1 else 'durations that end'} in a "
            f"failure {'is' if failures == 1 else 'are'} too few to fit a law; "
            f"{FEWEST_FAILURES} are needed"
        )


def check_spread(sample: Sample) -> None:
    """Raise `LogError` where the likelihood grows for ever as a law shrinks to one value."""
    shortest = float(sample.durations_s[sample.observed].min())
    longest = float(sample.durations_s.max())
    if longest - shortest <= _LEAST_SPREAD * longest:
        raise LogError(
            f"all {sample.failures} failures came after {shortest:.6g} s, to 0.01 %: "
            "there is no spread to fit a law to; use distribution = 'deterministic'"
        )


def judge(sample: Sample, fitted: Fit, mean_s: tuple[float, float] | None = None) -> Verdict:
    """Judge whether the law of `fitted` describes `sample` well enough to plan with.

    `mean_s`: for lives that follow each other, how short and how long their mean may be by the time
    watched per failure, seconds.

    A law is adequate if it has their mean, and is near the data or no farther from them than chance
    explains:

    * mean: where nothing is censored, nor came into sight late, the law's mean is within 10 % of
      the data's, chance or not. A log of n failures has lasted n means, and what failures cost goes
      with their number; the gamma and the exponential law always have the data's mean, a
      heavy-tailed one need not (of 20 durations from a lognormal law of cv 2, three in ten miss it
      by chance: it takes a longer log to know whether the law is wrong or the log had luck). Of
      lives, some of which are always censored, the law's mean is no more than 10 % outside
      `mean_s`: in the long run nodes fail once in a mean life, whatever the law says of lives
      longer than any that was watched;
    * near: the root mean square distance between its survival and the Kaplan-Meier curve is at
      most 5 % and the largest distance at most 10 %, both as shares of the failures the data show
      (1 less the curve's end, which is all of them without censoring);
    * chance: of 39 samples drawn from the law itself, censored like the data and fitted again, at
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
        mean, low, high = map(format_duration, (fitted.law.expected_s, *mean_s))
        ends = f"{low} to {high}" if mean_s[1] < math.inf else f"{low} or more"
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
    """Return whether a mean is no more than `MOST_MEAN` outside."""
    low_s, high_s = ends_s
    return (1 - MOST_MEAN) * low_s <= mean_s <= (1 + MOST_MEAN) * high_s


def fit_and_judge(sample: Sample, mean_s: tuple[float, float] | None = None) -> list[Fit]:
    """Every law fitted: first the best, the others by AIC.

    The best is the adequate one with the smallest AIC, or the one with the smallest AIC where none
    is adequate. Laws are judged by AIC, up to the first that is adequate. `mean_s`: as of `judge`.
    Raises as `fit_all`.
    """
    fits = fit_all(sample)
    for place, each in enumerate(fits):
        fits[place] = judged = replace(each, verdict=judge(sample, each, mean_s))
        if judged.verdict.adequate:
            return [judged, *fits[:place], *fits[place + 1 :]]
    return fits


def simulated(like: Sample, law: Distribution, rng: np.random.Generator) -> Iterator[Sample]:
    """Yield samples of as many durations of `law` as `like` has, cut short as those were.

    Whoever was censored is again watched for just as long. How long a failed one would have been
    watched isn't known: that is drawn from the Kaplan-Meier curve of the censoring times, beyond
    the time it failed (Davison and Hinkley, "Bootstrap methods and their application", 1997,
    algorithm 3.2). Whoever came into sight late has lasted until then.
    """
    # Of the watch itself, which a failure cuts short.
    watch = KaplanMeier.from_sample(Sample(like.durations_s, ~like.observed, like.entered_s))
    # A shape near 0 draws zeros, which are but very short.
    shortest_s = np.nextafter(np.maximum(like.entered_s, np.finfo(np.float64).tiny), np.inf)
    while True:
        if like.late:
            # Longer than the age at which each came into sight; never a share of 0, of which no
            # float holds the duration.
            reached = law.survival(like.entered_s)
            lasted_s = law.quantile(reached * (1 - rng.random(like.n)))
        else:
            lasted_s = law.sample(rng, like.n)
        lasted_s = np.maximum(lasted_s, shortest_s)
        watched_s = np.where(like.observed, np.inf, like.durations_s)
        if like.censored:
            left = watch.at(like.durations_s[like.observed])
            until_s = watch.quantile(1 - left * rng.random(len(left)))
            watched_s[like.observed] = np.where(np.isnan(until_s), np.inf, until_s)
        yield Sample(np.minimum(lasted_s, watched_s), lasted_s <= watched_s, like.entered_s)


def _by_chance(sample: Sample, fitted: Fit) -> bool:
    """Return whether samples of the law itself are often enough as far from their fit."""
    if fitted.ks > _NEVER / math.sqrt(sample.failures):
        return False
    draws, farther = simulated(sample, fitted.law, np.random.default_rng(_SEED)), 0
    for drawn in islice(draws, _REPLICATIONS):
        try:
            farther += fit(drawn, fitted.law.distribution).ks >= fitted.ks
        except LogError:
            farther += 1  # too few failures to fit: chance could do anything
        if farther >= _FARTHER:
            return True
    return False
