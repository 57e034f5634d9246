"""Nodes of a log that fail far more often than others, and a frailty that explains it."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import format_duration, rough_percent
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import worst_share
from cprsim.failures.logs.outages import repair_times
from cprsim.failures.logs.views import NodeTime, histories
from cprsim.survival.fitted_laws import MOST_KS, Verdict, is_mean
from cprsim.survival.frailty import Frail, fit_frailty
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Floats, Sample

#: Fewest nodes, and failures, of which a frailty is fitted.
_FEWEST: Final = 20
_LOGS: Final = 199
_ENDS: Final = (0.025, 0.975)


def simulated(
    law: Distribution,
    variance: float,
    span_s: Floats,
    outages: KaplanMeier | None,
    seed: int = 0,
    logs: int = _LOGS,
) -> tuple[NDArray[np.int64], list[Sample]]:
    """Logs of nodes of any age: failures of each, shape (logs, nodes), and their later lives.

    `variance`: of the gamma factor on each node's pace; 0 where all are alike. `span_s`: how long
    each node is watched, shape (nodes,). `outages`: of how long they are down; None where they are
    up again at once. As in a log, the time up to a node's first failure is none of its lives; a log
    of which no life failed has no sample.
    """
    rng, size = np.random.default_rng(seed), (logs, len(span_s))
    pace = rng.gamma(1 / variance, variance, size) if variance else np.ones(size)
    at_s = law.sample_left(rng, size) / np.maximum(pace, np.finfo(float).tiny)
    log, node = np.nonzero(at_s < span_s)
    at_s, pace, failures = at_s[log, node], pace[log, node], np.zeros(size, np.int64)
    lives = []
    while len(log):
        np.add.at(failures, (log, node), 1)
        up_s = at_s + (0.0 if outages is None else outages.durations(rng.random(len(log))))
        at_s = up_s + np.maximum(law.sample(rng, len(log)), np.finfo(float).tiny) / pace
        failed, lasted_s = at_s < span_s[node], np.minimum(at_s, span_s[node]) - up_s
        lives.append(pd.DataFrame({"log": log, "s": lasted_s, "failed": failed})[lasted_s > 0])
        log, node, at_s, pace = log[failed], node[failed], at_s[failed], pace[failed]
    by_log = pd.concat(lives).groupby("log") if lives else ()
    samples = [Sample(own["s"].to_numpy(), own["failed"].to_numpy()) for _, own in by_log]
    return failures, [each for each in samples if each.failures]


@dataclass(frozen=True, eq=False)
class FrailtyFit:
    """Nodes that differ, or don't, and what logs simulated by either are like."""

    #: The law of lives with a frailty, and without.
    found: Frail
    #: How many nodes there are, those that never failed included.
    nodes: int
    #: Share of the failures on the worst tenth of the nodes, 0 to 1. Of failures that end an up
    #: time: others into the same outage are none of a law of lives.
    share: float
    #: The 95 % interval of that share in logs simulated with the frailty, and without.
    frail: tuple[float, float]
    alike: tuple[float, float]
    #: Failures of the node with the most, and the 95 % interval of these with the frailty.
    worst: int
    frail_worst: tuple[float, float]
    #: Largest distance of the survival of later lives from that in logs simulated with it.
    ks: float
    #: Whether it has the mean of the log, is near the survival of its lives, and gives its worst
    #: node as many failures.
    is_adequate: bool

    @property
    def is_wanted(self) -> bool:
        """Return whether a scenario had better have it."""
        return self.found.is_sure and self.is_adequate

    @property
    def notes(self) -> list[str]:
        """Sentences on the nodes that fail."""
        worst = rough_percent(self.share)
        said = f"The worst tenth of {self.nodes:,} nodes has {worst} of the outages"
        alike = f"{_percents(self.alike)} if all were alike"
        if not self.found.is_sure:
            differ = "nodes don't differ beyond chance"
            if self.share > self.alike[1]:
                differ = "more than by chance, but a frailty is not sure"
            return [f"{said}; {alike}: {differ}."]
        low, high = self.found.interval
        told = [
            f"{said}; {alike}, {_percents(self.frail)} with a frailty of {self.key:.2g} (95 %: "
            f"{low:.2g} to {high:.2g})."
        ]
        if self.worst > self.frail_worst[1]:
            told.append(
                f"The worst node alone has {self.worst:,} of them, where a frailty gives it "
                "{:.0f} to {:.0f}: it is of another kind, and this frailty with it. Look at the "
                "others by --exclude-worst 1.".format(*self.frail_worst)
            )
        return told

    @property
    def key(self) -> float:
        """`failures.frailty`, to as many digits as make sense."""
        return float(f"{self.found.variance:.3g}")

    @property
    def verdict(self) -> Verdict:
        """Verdict whether the law with its frailty is good enough to plan with."""
        law = self.found.law
        spread = f"a shape of {law.shape:.3g}" if law.shape is not None else f"a cv of {law.cv:.3g}"
        return Verdict(
            self.is_adequate,
            f"{law.distribution} with a mean of {format_duration(law.expected_s)}, {spread} and a "
            f"frailty of {self.key:.2g} is off the survival of lives by "
            f"{rough_percent(self.ks)} at most",
        )

    def document(self) -> dict[str, Any]:
        """Return one JSON object; times in seconds."""
        found, law = self.found, self.found.law
        return {
            "nodes": self.nodes,
            "worst_tenth": self.share,
            "worst_tenth_alike_ci95": self.alike,
            "worst_tenth_frail_ci95": self.frail,
            "frailty": found.variance,
            "frailty_ci95": found.interval,
            "distribution": law.distribution,
            "mean_s": law.expected_s,
            "shape": law.shape,
            "cv": law.cv,
            "gain": found.gain,
            "worst_node": self.worst,
            "worst_node_frail_ci95": self.frail_worst,
            "sure": found.is_sure,
            "ks": self.ks,
            "adequate": self.is_adequate,
        }


def frailty_fit(
    log: FailureLog, own: NDArray[np.bool_], lives: Sample, time: NodeTime
) -> FrailtyFit | None:
    """Fit a frailty to the lives of the nodes of a log; None where there are too few.

    `own`: failures that end a life by themselves, shape (n,). `lives`: later lives, from a repair
    to the next failure. `time`: up time of nodes per failure.
    """
    seen = histories(log, own, time.nodes)
    if min(seen.nodes, seen.failures, lives.failures) < _FEWEST:
        return None
    found = fit_frailty(seen)
    down, span_s = repair_times(log), log.until_s - log.start_s
    spans_s = np.full(seen.nodes, span_s)
    if log.came_s is not None and log.left_s is not None:
        spans_s = np.broadcast_to(log.left_s - log.came_s, seen.nodes)
    outages = None if down is None else KaplanMeier.from_sample(down.sample)
    failures, samples = simulated(found.law, found.variance * found.is_sure, spans_s, outages)
    ks, by_chance = _distance(lives, samples)
    low, high = np.quantile(failures.max(axis=1), _ENDS).tolist()
    has_mean, worst = (
        is_mean(found.law.expected_s, (time.low_s, time.high_s)),
        int(seen.ended.max()),
    )
    return FrailtyFit(
        found=found,
        nodes=seen.nodes,
        share=worst_share(seen.ended),
        frail=_interval(failures),
        alike=_interval(simulated(found.alike, 0.0, spans_s, outages)[0]),
        worst=worst,
        frail_worst=(low, high),
        ks=ks,
        is_adequate=has_mean and ks <= max(MOST_KS, by_chance) and worst <= high,
    )


def _interval(failures: NDArray[np.int64]) -> tuple[float, float]:
    """Where 95 % of the shares of the worst tenth are, of logs with a failure."""
    shares = [worst_share(each) for each in failures if each.any()]
    low, high = np.quantile(shares, _ENDS).tolist() if shares else (0.0, 1.0)
    return low, high


def _distance(lives: Sample, samples: list[Sample]) -> tuple[float, float]:
    """Largest distance of the survival of lives from its mean in samples, and what chance makes.

    The second is the distance within which 95 % of the samples are.
    """
    curve = KaplanMeier.from_sample(lives)
    at_s = np.unique(np.quantile(curve.times_s, np.linspace(0, 1, 200)))
    each = [KaplanMeier.from_sample(sample).at(at_s) for sample in samples]
    mean = np.mean(each, axis=0)
    apart = np.abs(np.array(each) - mean).max(axis=1)
    return float(np.abs(curve.at(at_s) - mean).max()), float(np.quantile(apart, 0.95))


def _percents(interval: tuple[float, float]) -> str:
    return "{} to {}".format(*map(rough_percent, interval))
