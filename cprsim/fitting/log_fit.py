"""What a fit of a log found, and how it is told."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from cprsim.basics.distributions import Distribution
from cprsim.basics.notebook import notebook_html, percent
from cprsim.basics.units import format_duration
from cprsim.failures.logs import views
from cprsim.failures.logs.coincidence import Coincidence
from cprsim.failures.logs.log import Rows
from cprsim.failures.logs.node_failures import NodeFailures
from cprsim.failures.logs.rack_bursts import RackBursts
from cprsim.failures.logs.source import LogSource
from cprsim.failures.logs.window import as_json
from cprsim.fitting.block import block
from cprsim.fitting.frailty_fit import FrailtyFit
from cprsim.fitting.job_lengths import JobLength
from cprsim.fitting.log_notes import notes
from cprsim.fitting.repairs import PlannedOutages, RepairFit
from cprsim.fitting.strikes import StrikeKind, failure_keys, mean_nodes
from cprsim.survival.dependence import Dependence
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.judge import Verdict
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.trend import Trend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Look = Literal["gaps", "job", "uptime"]
#: Share of a mean from which on a scenario has the mean of the log, and not that of the law.
MEAN_OFF: Final = 0.03


@dataclass(frozen=True, eq=False, repr=False)
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
    at_once
        How many nodes fail at one instant, and how often; empty where there are no nodes.
    strikes
        How often failures of each kind struck the system, or are expected to strike the job; empty
        where durations are all that there is.
    kinds
        How often nodes of each kind fail, as `[failures.hits.weights]` has them; empty where the
        log doesn't tell.
    repairs
        How long nodes are down; None where the log doesn't tell.
    restarts
        The same where only processes failed; None where the log tells no severities.
    trend
        Whether failures of the system become rarer; None where there are too few.
    coincidence
        Whether nodes fail together, for uptimes: their law takes each node by itself.
    told
        How the log was understood, a sentence each.
    frailty
        Whether some nodes fail far more often than others; None unless lives of nodes were looked
        at, and enough of them.
    causes
        How often each cause that the log tells struck; None stands for none told.
    planned
        Outages that were planned; None where the log doesn't know of any.
    rows
        How many rows the file has, and how many of them were kept; None of a log in memory.
    columns
        What the columns of a table are called, by what they hold.
    node_failures
        How often nodes fail, how unevenly and how often together; None where there are no nodes.
    job_lengths
        For jobs of which length the law tells how far their numbers of failures differ; empty
        unless gaps of the system were looked at.
    """

    source: LogSource
    look: Look
    view: views.View
    fits: list[Fit]
    verdicts: dict[str, Verdict]
    dropped: Mapping[str, int]
    dependence: Dependence | None = None
    bursts: RackBursts | None = None
    at_once: Mapping[int, int] = field(default_factory=dict)
    coincidence: Coincidence | None = None
    strikes: Mapping[StrikeKind, float] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    repairs: RepairFit | None = None
    restarts: RepairFit | None = None
    trend: Trend | None = None
    told: tuple[str, ...] = ()
    frailty: FrailtyFit | None = None
    causes: Mapping[str | None, int] = field(default_factory=dict)
    planned: PlannedOutages | None = None
    rows: Rows | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    node_failures: NodeFailures | None = None
    job_lengths: tuple[JobLength, ...] = ()

    @property
    def strike_keys(self) -> dict[str, Any]:
        """Keys of `[failures]` that say what failures strike: `hits`, `severity` or `causes`."""
        return failure_keys(self.strikes, self.kinds)

    @property
    def best(self) -> Fit:
        """The adequate law with the smallest AIC, or that with the smallest where none is."""
        return self.fits[0]

    @property
    def law(self) -> Distribution:
        """What a scenario takes: the best law, or that which goes with a frailty."""
        return self.best.law if self.wanted_frailty is None else self.wanted_frailty.found.law

    @property
    def mean_s(self) -> float:
        """The mean of a scenario: that of the law, or of whole durations if the law's is off."""
        sample, mean_s = self.view.sample, self.law.expected_s
        if sample.censored or sample.late or abs(mean_s / sample.mtbf_s - 1) <= MEAN_OFF:
            return mean_s
        return sample.mtbf_s

    @property
    def wanted_frailty(self) -> FrailtyFit | None:
        """That of a scenario; None where it had better have none."""
        return self.frailty if self.frailty is not None and self.frailty.is_wanted else None

    @property
    def verdict(self) -> Verdict:
        """Whether the best law is good enough to plan with, and why."""
        found = self.coincidence
        if found is not None and found.together:
            return Verdict(
                False,
                f"nodes fail together: {found.failures:,} failures come in {found.events:,} "
                f"bursts of a minute, independent ones would come in {found.independent:,.0f}",
            )
        if self.wanted_frailty is not None:
            return self.wanted_frailty.verdict
        return self.verdicts[self.best.law.distribution]

    @property
    def notes(self) -> list[str]:
        """What one should know before one uses the law, a sentence or line each."""
        return notes(self)

    @property
    def left_out(self) -> dict[str, int]:
        """All that was left out, by reason: of the file, of the failures, and of the repairs."""
        return {**self.dropped, **(self.repairs.left_out if self.repairs is not None else {})}

    def document(self) -> dict[str, Any]:
        """What `cprsim fit --json` prints; times in seconds."""
        sample = self.view.sample
        median_s = KaplanMeier.from_sample(sample).median_s
        return {
            "log": self.source.path,
            "reader": self.source.reader,
            "system": self.source.system,
            "view": self.look,
            "nodes": self.view.nodes,
            "window": as_json(self.source.window),
            "coalesce_s": self.source.coalesce_s,
            "population": self.source.population,
            "exclude_worst": self.source.exclude_worst,
            "n": sample.n,
            "censored": sample.censored,
            "mean_s": sample.mtbf_s,
            "median_s": None if math.isnan(median_s) else median_s,
            "node_time_per_failure": None
            if self.view.node_time is None
            else self.view.node_time.document(),
            "ties": self.view.ties,
            "dropped": dict(self.dropped),
            "fits": [_fit_document(each) for each in self.fits],
            "best": self.law.distribution,
            "adequate": self.verdict.adequate,
            "reason": self.verdict.reason,
            "job_lengths": [each.document() for each in self.job_lengths],
            "dependence": None
            if self.dependence is None
            else _dependence_document(self.dependence),
            "nodes_at_once": {str(size): count for size, count in sorted(self.at_once.items())},
            "mean_nodes_hit": mean_nodes(self.strikes),
            "bursts": None if self.bursts is None else _bursts_document(self.bursts),
            "trend": None if self.trend is None else asdict(self.trend),
            "frailty": None if self.frailty is None else self.frailty.document(),
            "node_failures": None if self.node_failures is None else self.node_failures.document(),
            "repairs": None if self.repairs is None else self.repairs.document(),
            "restarts": None if self.restarts is None else self.restarts.document(),
            "planned": None if self.planned is None else self.planned.document(),
            "causes": [{"cause": each, "n": n} for each, n in Counter(self.causes).most_common()],
            "rows": None if self.rows is None else self.rows._asdict(),
            "columns": dict(self.columns),
            "told": [*self.source.notes, *self.told],
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        adequate = "" if self.verdict.adequate else ", not adequate"
        mean = format_duration(self.law.expected_s)
        return (
            f"<LogFit {self.source}: {self.law.distribution}, mean {mean}{adequate}; "
            f"{self.view.sample.n:,} durations>"
        )

    def _repr_html_(self) -> str:
        least = min(each.aic for each in self.fits)
        rows = [
            [
                each.law.distribution,
                format_duration(each.law.expected_s),
                "{} to {}".format(*map(format_duration, each.mean_interval_s)),
                "" if each.spread is None else f"{each.spread:.3g}",
                percent(each.ks),
                percent(each.rmse),
                f"{each.aic - least:.1f}",
            ]
            for each in self.fits
        ]
        headings = ("law", "mean", "95 %", "shape or cv", "KS %", "RMSE %", "AIC - least")
        head = f"{self.view.sample.n:,} durations ({self.look})"
        return notebook_html(str(self.source), head, headings, rows, self.notes)

    def toml(self) -> str:
        """The `[failures]` block of a scenario: the law, or the log where none is adequate."""
        return block(self)

    def figure(self) -> "Figure":
        """Survival with its band, failure rate and quantiles, of the data and of each law.

        Below, what else the log tells: repairs, causes, nodes.
        """
        from cprsim.fitting.log_figure import log_figure  # noqa: PLC0415  (matplotlib is slow)

        return log_figure(self)


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
