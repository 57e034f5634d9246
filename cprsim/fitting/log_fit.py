"""The result of a fit of a log, and its documents."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import pandas as pd

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import format_duration
from cprsim.failures.logs import views
from cprsim.failures.logs.coincidence import WITHIN_S, Coincidence, RackBursts, sizes
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import NodeFailures, node_failures
from cprsim.failures.logs.options import as_json
from cprsim.failures.logs.source import LogSource
from cprsim.fitting.block import block
from cprsim.fitting.frailty_fit import FrailtyFit
from cprsim.fitting.job_lengths import job_lengths
from cprsim.fitting.log_notes import notes
from cprsim.fitting.repairs import (
    MOST_CAUSES,
    NO_CAUSE,
    OTHERS,
    RepairFit,
    planned_document,
    repair_fit,
)
from cprsim.fitting.strikes import StrikeKind, mean_nodes
from cprsim.job.severity import Severity
from cprsim.runs.notebook import notebook_html
from cprsim.survival.fitted_laws import Fit, Verdict
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.order import Dependence, Trend, dependence, trend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Look = Literal["gaps", "job", "uptime"]
#: Share of a mean from which on a scenario has the mean of the log, and not that of the law.
MEAN_OFF: Final = 0.03


@dataclass(frozen=True, eq=False, repr=False)
class LogFit:
    """Laws fitted to the failures of a log, and a verdict on the best.

    Attributes that the log lacks, or its view doesn't show, are None or empty.
    """

    #: The log, and what was taken of it.
    source: LogSource
    #: How it was looked at: gaps, job or uptime.
    look: Look
    #: Its failures, each at its own time; none where it has durations alone.
    log: FailureLog
    #: The durations that were fitted.
    view: views.View
    #: Every law: first the best, the others by AIC. The best is the adequate one with the smallest
    #: AIC, or the one with the smallest AIC where none is adequate; those before it are judged.
    fits: list[Fit]
    #: What was left out, by reason: rows of the file, and durations whose start nobody saw.
    dropped: Mapping[str, int]
    #: How often failures of each kind struck the system, or are expected to strike the job.
    strikes: Mapping[StrikeKind, float] = field(default_factory=dict)
    #: How often nodes of each kind fail, as `[failures.hits.weights]` has them.
    kinds: Mapping[str, int] = field(default_factory=dict)
    #: Failures of several nodes of a rack.
    bursts: RackBursts | None = None
    #: For uptimes, whether nodes fail together, of which their law knows nothing; and whether some
    #: fail far more often than others.
    coincidence: Coincidence | None = None
    frailty: FrailtyFit | None = None

    @cached_property
    def _together(self) -> FailureLog:
        return self.log.coalesced(self.source.coalesce_s or 0.0)

    @cached_property
    def at_once(self) -> dict[int, int]:
        """Numbers of nodes that fail at one instant, and how often each does."""
        struck = self.log if self.look == "uptime" else self._together
        return sizes(struck) if struck.of_nodes else {}

    @cached_property
    def causes(self) -> Counter[str | None]:
        """Failures by cause; None where a failure has none."""
        return Counter(self.log.causes or ())

    @cached_property
    def dependence(self) -> Dependence | None:
        """Dependence of durations on the one before."""
        return dependence(self.view.sequences, self.view.sample.n)

    @cached_property
    def trend(self) -> Trend | None:
        """Trend of failures: of those of a node, where nodes came and went; else of all."""
        log = self._together
        ends_s = (log.came_s, log.left_s) if self.look == "uptime" else (None, None)
        return trend(log.times_s, log.span_s, *ends_s, log.start_s)

    @cached_property
    def job_lengths(self) -> pd.DataFrame:
        """Lengths of jobs, and whether the law has the spread of their failures, for gaps."""
        gaps = self.view.sequences if self.look == "gaps" else ()
        return job_lengths(gaps[0], self.best.law) if gaps else pd.DataFrame()

    @cached_property
    def node_failures(self) -> NodeFailures | None:
        """Failures of nodes: their rate, how uneven it is, and how many come together."""
        return node_failures(self.log, self.source.coalesce_s or WITHIN_S)

    @cached_property
    def repairs(self) -> RepairFit | None:
        """Outages of nodes, and laws of these."""
        return repair_fit(self.log, of_processes=False)

    @cached_property
    def restarts(self) -> RepairFit | None:
        """Outages where only processes failed, and laws of these."""
        return repair_fit(self.log, of_processes=True)

    def repair_of(self, cause: str | None, severity: Severity | None) -> dict[str, Any] | str:
        """Return the repair of failures, or the restart of processes; empty where there is none."""
        found = self.restarts if severity == "process" else self.repairs
        return "" if found is None else found.delay_of(cause)

    @property
    def best(self) -> Fit:
        """The adequate law with the smallest AIC, or that with the smallest where none is."""
        return self.fits[0]

    @property
    def law(self) -> Distribution:
        """The law of a scenario: the best law, or that which goes with a frailty."""
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
        """Verdict whether the best law is good enough to plan with, and why."""
        found = self.coincidence
        if found is not None and found.together:
            return Verdict(
                False,
                f"nodes fail together: {found.failures:,} failures come in {found.events:,} "
                f"bursts of a minute, independent ones would come in {found.independent:,.0f}",
            )
        return (self.wanted_frailty or self.best).verdict

    @property
    def notes(self) -> list[str]:
        """Sentences or lines to read before one uses the law."""
        return notes(self)

    @property
    def left_out(self) -> dict[str, int]:
        """All that was left out, by reason: of the file, of the failures, and of the repairs."""
        return {**self.dropped, **(self.repairs.left_out if self.repairs is not None else {})}

    def document(self) -> dict[str, Any]:
        """Return the document of `cprsim fit --json`; times in seconds."""
        source, log, sample = self.source, self.log, self.view.sample
        median_s = KaplanMeier.from_sample(sample).median_s

        def told(found: Any) -> Any:
            return None if found is None else found.document()

        rows = log.rows and {"what": log.rows[0], "read": log.rows[1], "kept": log.kept}

        return {
            "log": source.path,
            "reader": source.reader,
            "system": source.system,
            "view": self.look,
            "nodes": self.view.nodes,
            "window": as_json(source.window),
            "coalesce_s": source.coalesce_s,
            "population": source.population,
            "exclude_worst": source.exclude_worst,
            "n": sample.n,
            "censored": sample.censored,
            "mean_s": sample.mtbf_s,
            "median_s": None if math.isnan(median_s) else median_s,
            "node_time_per_failure": told(self.view.node_time),
            "ties": self.view.ties,
            "dropped": dict(self.dropped),
            "fits": [each.document() for each in self.fits],
            "best": self.law.distribution,
            "adequate": self.verdict.adequate,
            "reason": self.verdict.reason,
            "job_lengths": self.job_lengths.to_dict("records"),
            "dependence": told(self.dependence),
            "nodes_at_once": {str(size): count for size, count in sorted(self.at_once.items())},
            "mean_nodes_hit": mean_nodes(self.strikes),
            "bursts": told(self.bursts),
            "trend": None if self.trend is None else self.trend._asdict(),
            "frailty": told(self.frailty),
            "node_failures": told(self.node_failures),
            "repairs": told(self.repairs),
            "restarts": told(self.restarts),
            "planned": None if log.planned is None else planned_document(log.planned),
            "causes": [{"cause": each, "n": n} for each, n in self.causes.most_common()],
            "rows": rows,
            "columns": dict(log.columns),
            "told": [*source.notes, *log.notes],
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
        from cprsim.fitting.display import law_columns  # noqa: PLC0415  (rich is slow)

        headings, cells = zip(*law_columns(self.fits), strict=True)
        head = f"{self.view.sample.n:,} durations ({self.look})"
        rows = zip(*cells, strict=True)
        return notebook_html(str(self.source), head, headings, rows, self.notes)

    def toml(self, has_repairs: bool = True) -> str:
        """The `[failures]` block of a scenario: the law, or the log where none is adequate.

        `has_repairs`: whether its causes have the repairs of the log.
        """
        return block(self, has_repairs)

    def figure(self) -> "Figure":
        """Survival with its band, failure rate and quantiles, of the data and of each law.

        Below, repairs, causes and nodes of the log.
        """
        from cprsim.figures.log_page import log_page  # noqa: PLC0415  (matplotlib is slow to import)

        found, repairs, medians = self.repairs, None, dict[str, float]()
        if found is not None:
            repairs = found.sample, found.fits, found.is_adequate
            medians = {cause: each.median_s for cause, each in found.causes.items()}
        causes = Counter({each or NO_CAUSE: n for each, n in self.causes.items()})
        counts = dict(causes.most_common(MOST_CAUSES))
        # The others are the same ones where the causes of outages are as common.
        if counts.keys() != medians.keys() - {OTHERS}:
            medians.pop(OTHERS, None)
        if len(causes) > len(counts):
            counts[OTHERS] = counts.get(OTHERS, 0) + causes.total() - sum(counts.values())
        return log_page(
            self.view.sample,
            self.fits,
            str(self.source),
            repairs=repairs,
            causes={name: (n, medians.get(name, math.nan)) for name, n in counts.items()},
            nodes=self.node_failures,
        )
