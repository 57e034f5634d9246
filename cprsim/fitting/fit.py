"""From a log to a failure model: what `cprsim fit` prints, draws and writes."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from cprsim import units
from cprsim.errors import UsageError
from cprsim.failures import views
from cprsim.failures.intervals import read_intervals
from cprsim.failures.log import FailureLog, parse_window
from cprsim.failures.rack_bursts import RackBursts, rack_bursts
from cprsim.failures.source import Source
from cprsim.survival.dependence import Dependence, dependence
from cprsim.survival.fit import Fit, fit_all
from cprsim.survival.judge import Verdict, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Look = Literal["gaps", "job", "uptime"]


@dataclass(frozen=True, eq=False)
class LogFit:
    """Laws fitted to the failures of a log, and a verdict on the best.

    Parameters
    ----------
    source
        The log, and what was taken of it.
    look
        How it was looked at: gaps, job or uptime.
    view
        The durations that were fitted.
    fits
        Every law: first the best, the others by AIC. The best is the adequate one with the
        smallest AIC, or the one with the smallest AIC where none is adequate.
    verdicts
        Whether each of the first of them is good enough to plan with, and why: by AIC, up to the
        first that is.
    dependence
        Whether durations depend on the one before; None where they have no order.
    bursts
        Failures of several nodes of a rack; None where there are none, where the log has no racks,
        or where no time was given within which failures are one.
    dropped
        What was left out, by reason: rows of the file, and durations whose start nobody saw.
    """

    source: Source
    look: Look
    view: views.View
    fits: list[Fit]
    verdicts: dict[str, Verdict]
    dependence: Dependence | None
    bursts: RackBursts | None
    dropped: Mapping[str, int]

    @property
    def best(self) -> Fit:
        """The adequate law with the smallest AIC, or that with the smallest where none is."""
        return self.fits[0]

    @property
    def verdict(self) -> Verdict:
        """Whether the best law is good enough to plan with, and why."""
        return self.verdicts[self.best.law.distribution]

    @property
    def notes(self) -> list[str]:
        """What one should know before one uses the best law, a sentence each."""
        best, reason = self.best.law.distribution, self.verdict.reason
        said = [f"{reason[0].upper()}{reason[1:]}."]
        if not self.verdict.adequate:
            why = reason.removeprefix(best)
            said = [f"No law is adequate; even the best, {best},{why}. --toml prints what is."]
        else:
            passed_over = [v for name, v in self.verdicts.items() if name != best]
            said += [f"Passed over, with a smaller AIC: {v.reason}." for v in passed_over]
        if self.dependence is not None and self.dependence.clustered:
            said.append(
                "Failures come in clusters: short gaps follow short ones (rank correlation "
                f"{self.dependence.correlation:.2f}, {self.dependence.z:.1f} standard errors). "
                f"Jobs then differ more from each other than under a {best} law. Replay the log to "
                "see how much; --coalesce makes one failure of those close in time."
            )
        if self.bursts is not None:
            said.append(
                f"{self.bursts.count} bursts took down several nodes of a rack; "
                f"{self.bursts.by_chance:.2g} would by chance."
            )
        return [*said, *(f"Left out: {count:,} {why}." for why, count in self.dropped.items())]

    def document(self) -> dict[str, Any]:
        """What `cprsim fit --json` prints; times in seconds."""
        sample, median_s = self.view.sample, self.view.sample.median_s
        return {
            "log": self.source.path,
            "reader": self.source.reader,
            "system": self.source.system,
            "view": self.look,
            "nodes": self.view.nodes,
            "window": self.source.window,
            "coalesce_s": self.source.coalesce_s,
            "n": sample.n,
            "censored": sample.censored,
            "mean_s": sample.mtbf_s,
            "median_s": None if math.isnan(median_s) else median_s,
            "ties": self.view.ties,
            "dropped": dict(self.dropped),
            "fits": [_fit_document(each) for each in self.fits],
            "best": self.best.law.distribution,
            "adequate": self.verdict.adequate,
            "reason": self.verdict.reason,
            "dependence": None
            if self.dependence is None
            else _dependence_document(self.dependence),
            "bursts": None if self.bursts is None else _bursts_document(self.bursts),
        }

    def toml(self) -> str:
        """The `[failures]` block of a scenario: the law, or the log where none is adequate."""
        from cprsim.fitting.block import block  # noqa: PLC0415  (only those who write need it)

        return block(self)

    def figure(self) -> "Figure":
        """Survival with its band, failure rate and quantiles, of the data and of each law."""
        from cprsim.figures.survival import survival  # noqa: PLC0415  (matplotlib is slow)

        return survival(self.view.sample, self.fits, str(self.source))


def fit(
    log: str | os.PathLike[str] | FailureLog,
    reader: str = "csv",
    system: int | None = None,
    view: Look = "gaps",
    nodes: int | None = None,
    window: str | None = None,
    coalesce: str | None = None,
    ties: views.Ties = "drop",
    population: int | None = None,
) -> LogFit:
    """Fit failure laws to a log and judge the best.

    Parameters
    ----------
    log
        Path of a log, or one that is read already.
    reader
        Its format: csv, lanl, fta, spot or intervals.
    system
        Which system of a log that holds several.
    view
        `"gaps"`: times between failures of the whole system; `"job"`: of a job on `nodes` random
        nodes; `"uptime"`: from a node's repair to its next failure, right-censored at the end.
    nodes
        Nodes of the job, for the view `"job"`.
    window
        Shares of the time from the first failure to the last, e.g. `"0.5:1"`.
    coalesce
        A duration, e.g. `"5 min"`: failures at most so long after the one before are one. Where
        the log has racks, those of a rack are also fitted as bursts; the view `"uptime"` then
        counts them as no end of a node's own life.
    ties
        What becomes of durations of 0 s: `"drop"`, or `"keep"` as half the shortest other one.
    population
        Nodes of the system, where the log doesn't tell.

    Raises
    ------
    LogError
        If the log can't be read, or shows too few failures.
    UsageError
        If the arguments make no sense.
    """
    for name, value, known in (("view", view, Look), ("ties", ties, views.Ties)):
        if value not in get_args(known):
            raise UsageError(f"{name} {value!r} is not known; known: {', '.join(get_args(known))}")
    source = Source(
        log=log,
        reader=reader,
        system=system,
        window=None if window is None else parse_window(window),
        coalesce_s=None if coalesce is None else units.parse_duration(coalesce),
        population=population,
    )
    if reader == "intervals":
        return _of_intervals(source, view, nodes, ties)
    if view == "job" and nodes is None:
        raise UsageError("view 'job' needs nodes: how many the job runs on")
    if view != "job" and nodes is not None:
        raise UsageError(f"nodes = {nodes} goes with the view 'job'; leave it out")
    failures, bursts = source.failures(), None
    if source.coalesce_s is not None:
        if failures.racks is not None:
            bursts = rack_bursts(failures, source.coalesce_s)
        if view != "uptime":
            failures = failures.coalesced(source.coalesce_s)
    if view == "uptime":
        seen = views.uptimes(failures, None if bursts is None else bursts.members)
    else:
        seen = (
            views.gaps(failures, ties) if nodes is None else views.job_gaps(failures, nodes, ties)
        )
    return _judged(source, view, seen, bursts, {**failures.dropped, **seen.left_out})


def _of_intervals(source: Source, view: Look, nodes: int | None, ties: views.Ties) -> LogFit:
    given = {
        "system": source.system,
        "window": source.window,
        "coalesce": source.coalesce_s,
        "population": source.population,
        "nodes": nodes,
        "view": None if view == "gaps" else view,
    }
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"{name} does not go with reader 'intervals', whose durations are fitted as they "
                "are; leave it out"
            )
    intervals = read_intervals(source.path)
    return _judged(source, view, views.durations(intervals, ties), None, intervals.dropped)


def _judged(
    source: Source,
    look: Look,
    view: views.View,
    bursts: RackBursts | None,
    dropped: Mapping[str, int],
) -> LogFit:
    fits, verdicts = fit_all(view.sample), dict[str, Verdict]()
    for each in fits:
        verdict = verdicts[each.law.distribution] = judge(view.sample, each)
        if verdict.adequate:
            fits.remove(each)
            fits.insert(0, each)
            break
    return LogFit(
        source=source,
        look=look,
        view=view,
        fits=fits,
        verdicts=verdicts,
        dependence=dependence(view.sequences, view.sample.n),
        bursts=bursts,
        dropped=dropped,
    )


def _fit_document(fitted: Fit) -> dict[str, Any]:
    law = fitted.law
    shape = {} if law.shape is None else {"shape": law.shape, "shape_ci95": fitted.spread_interval}
    cv = {} if law.cv is None else {"cv": law.cv, "cv_ci95": fitted.spread_interval}
    return {
        "distribution": law.distribution,
        **shape,
        **cv,
        "mean_s": law.expected_s,
        "mean_ci95": fitted.mean_interval_s,
        "ks": fitted.ks,
        "rmse": fitted.rmse,
        "aic": fitted.aic,
        "log_likelihood": fitted.log_likelihood,
    }


def _dependence_document(follow: Dependence) -> dict[str, Any]:
    return {
        "rank_correlation": follow.correlation,
        "z": follow.z,
        "clustered": follow.clustered,
    }


def _bursts_document(bursts: RackBursts) -> dict[str, Any]:
    return {
        "count": bursts.count,
        "by_chance": bursts.by_chance,
        "racks": bursts.racks,
        "mean_s": bursts.law.mean_s,
        "mean_ci95": bursts.mean_interval_s,
        "rack": bursts.law.rack,
        "sizes": {str(size): weight for size, weight in bursts.law.sizes.items()},
    }
