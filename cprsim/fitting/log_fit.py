"""What a fit of a log found, and how it is told."""

import math
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cprsim.basics import units
from cprsim.basics.distributions import Distribution
from cprsim.failures.logs import views
from cprsim.failures.logs.coincidence import Coincidence
from cprsim.failures.logs.concentration import Concentration
from cprsim.failures.logs.log import Rows
from cprsim.failures.logs.node_failures import NodeFailures
from cprsim.failures.logs.rack_bursts import RackBursts
from cprsim.failures.logs.readers import READERS
from cprsim.failures.logs.source import LogSource
from cprsim.failures.logs.window import as_json, written
from cprsim.fitting.calendar_fit import CalendarFit
from cprsim.fitting.frailty_fit import FrailtyFit
from cprsim.fitting.left_out import left_out_lines
from cprsim.fitting.repair_causes import PlannedOutages, shortened
from cprsim.fitting.repair_fit import RepairFit
from cprsim.survival.dependence import Dependence
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.judge import Verdict
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample
from cprsim.survival.trend import Trend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DURATIONS = 1000  # that anybody would paste into a scenario
_DIGITS = 6  # far below what any log tells
_WIDTH = 96
_MOST_CAUSES = 6  # that are told
_GUESS = 0.05  # of a mean, from which on it is said that no data show it

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
    at_once
        How many nodes fail at one instant, and how often; empty where there are no nodes.
    hit
        Mean nodes of the system, or of the job, that one failure takes down.
    kinds
        How often nodes of each kind fail, as `[failures.hits.weights]` has them; empty where the
        log doesn't tell.
    severities
        How often each severity struck; empty where the log doesn't tell.
    repairs
        How long nodes are down; None where the log doesn't tell.
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
    calendar
        Rates by hour and weekday; None where the log doesn't tell the date of its times.
    concentration
        Failures of each node; None where there are no nodes.
    rows
        How many rows the file has, and how many of them were kept; None of a log in memory.
    columns
        What the columns of a table are called, by what they hold.
    node_failures
        How often nodes fail, how unevenly and how often together; None where there are no nodes.
    """

    source: LogSource
    look: Look
    view: views.View
    fits: list[Fit]
    verdicts: dict[str, Verdict]
    dependence: Dependence | None
    bursts: RackBursts | None
    dropped: Mapping[str, int]
    at_once: Mapping[int, int]
    coincidence: Coincidence | None = None
    hit: float = 1.0
    kinds: Mapping[str, int] = field(default_factory=dict)
    severities: Mapping[str, int] = field(default_factory=dict)
    repairs: RepairFit | None = None
    trend: Trend | None = None
    told: tuple[str, ...] = ()
    frailty: FrailtyFit | None = None
    causes: Mapping[str | None, int] = field(default_factory=dict)
    planned: PlannedOutages | None = None
    calendar: CalendarFit | None = None
    concentration: Concentration | None = None
    rows: Rows | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    node_failures: NodeFailures | None = None

    @property
    def hits(self) -> dict[str, Any]:
        """`[failures.hits]`: nodes that fail together, if several; lives are each node's own."""
        if self.view.per == "node":
            return {}
        kinds = tuple(self.kinds) or ("parameter_servers",)
        together = dict.fromkeys(kinds, round(self.hit)) if round(self.hit) > 1 else {}
        return together | ({"weights": dict(self.kinds)} if len(self.kinds) > 1 else {})

    @property
    def best(self) -> Fit:
        """The adequate law with the smallest AIC, or that with the smallest where none is."""
        return self.fits[0]

    @property
    def law(self) -> Distribution:
        """What a scenario takes: the best law, or that which goes with a frailty."""
        return self.best.law if self.wanted_frailty is None else self.wanted_frailty.found.law

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
        """What one should know before one uses the best law, a sentence or line each.

        The law and its mean, how failures come, repairs, how the log was understood, and last what
        was left out.
        """
        best, reason = self.law.distribution, self.verdict.reason
        if self.wanted_frailty is not None and self.verdict.adequate:
            said = [f"{reason[0].upper()}{reason[1:]}."]
        elif self.verdict.adequate:
            passed_over = [each.reason for name, each in self.verdicts.items() if name != best]
            said = [f"{reason[0].upper()}{reason[1:]}."]
            said += [f"Passed over, with a smaller AIC: {each}." for each in passed_over]
        else:
            said = [f"No law is adequate; of the best, {best}: {reason}."]
        repairs = [] if self.repairs is None else self.repairs.notes
        if self.planned is not None:
            repairs.append(self.planned.note)
        if self.repairs is None or self.repairs.by_cause is None:
            repairs += self._causes_note
        understood = [*self.source.notes, *self.told]
        return [
            *said,
            *self._mean_notes,
            *self._coming_notes,
            *repairs,
            *understood,
            *left_out_lines(self.rows, self.left_out),
        ]

    @property
    def left_out(self) -> dict[str, int]:
        """All that was left out, by reason: of the file, of the failures, and of the repairs."""
        return {**self.dropped, **(self.repairs.left_out if self.repairs is not None else {})}

    @property
    def _causes_note(self) -> list[str]:
        """The commonest causes, where there is more than one."""
        if len(self.causes) < 2:
            return []
        most = Counter(self.causes).most_common(_MOST_CAUSES)
        told = ", ".join(f"{shortened(cause or 'none told')} {count:,} x" for cause, count in most)
        return [f"Causes: {told}{', ...' * (len(self.causes) > _MOST_CAUSES)}."]

    @property
    def _coming_notes(self) -> list[str]:
        """How failures come: in clusters, ever rarer, by the clock, together."""
        said, best = [], self.law.distribution
        if self.frailty is not None:
            said += self.frailty.notes
        if self.dependence is not None and self.dependence.clustered:
            said.append(
                "Failures come in clusters: short gaps follow short ones (rank correlation "
                f"{self.dependence.correlation:.2f}, {self.dependence.z:.1f} standard errors). "
                f"Jobs then differ more from each other than under a {best} law. Replay the log to "
                "see how much; --coalesce makes one failure of those close in time."
            )
        if self.trend is not None and self.trend.is_sure:
            way = "rarer" if self.trend.z < 0 else "more frequent"
            clustered = self.dependence is not None and self.dependence.clustered
            clusters = ", unless that is a long cluster" if clustered else ""
            later = "; take a later window, e.g. --window 0.5:1" * (self.source.window is None)
            said.append(
                f"Failures become {way} over the log (Crow-AMSAA shape {self.trend.shape:.2f}, "
                f"Lewis and Robinson's z {self.trend.z:.1f}){clusters}: a law of the whole is one "
                f"of its middle{later}."
            )
        if self.calendar is not None:
            said += self.calendar.notes
        if self.bursts is not None:
            said.append(
                f"{self.bursts.count} bursts took down several nodes of a rack; "
                f"{self.bursts.by_chance:.2g} would by chance."
            )
        many = {size: count for size, count in sorted(self.at_once.items()) if size > 1}
        if many:
            often = ", ".join(f"{size} nodes {count:,} x" for size, count in list(many.items())[:6])
            said.append(
                f"Down at one instant: {often}{', ...' if len(many) > 6 else ''}; "
                f"{self.hit:.3g} in the mean."
            )
        if self.node_failures is not None:
            said += self.node_failures.notes
        return said

    @property
    def _mean_notes(self) -> list[str]:
        """What the mean of the best law rests on, where some lives were cut short."""
        said, law, time = [], self.law, self.view.node_time
        if time is not None:
            after, of_all = map(units.format_duration, (time.after_first_s, time.of_all_s))
            nodes = f"all {time.nodes:,} nodes"
            if not time.is_counted:
                nodes = f"{time.nodes - time.unseen:,} nodes that failed and an estimated "
                nodes += f"{time.unseen:,} that never did (--population says it)"
            said.append(
                f"A node failed every {after} of its up time after its first failure; counting "
                f"{nodes} from the start of the log, every {of_all}."
            )
        sample = self.view.sample
        longest_s = float(sample.durations_s.max())
        beyond = 1 - law.within(longest_s)[1] / law.expected_s
        if sample.censored and beyond > _GUESS:
            said.append(
                f"{beyond:.0%} of the mean of the {law.distribution} law is what it says of "
                f"durations beyond {units.format_duration(longest_s)}, the longest that was "
                "watched: a guess."
            )
        return said

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
            "n": sample.n,
            "censored": sample.censored,
            "mean_s": sample.mtbf_s,
            "median_s": None if math.isnan(median_s) else median_s,
            "node_time_per_failure": None
            if self.view.node_time is None
            else self.view.node_time._asdict(),
            "ties": self.view.ties,
            "dropped": dict(self.dropped),
            "fits": [_fit_document(each) for each in self.fits],
            "best": self.best.law.distribution,
            "adequate": self.verdict.adequate,
            "reason": self.verdict.reason,
            "dependence": None
            if self.dependence is None
            else _dependence_document(self.dependence),
            "nodes_at_once": {str(size): count for size, count in sorted(self.at_once.items())},
            "mean_nodes_hit": self.hit,
            "bursts": None if self.bursts is None else _bursts_document(self.bursts),
            "trend": None if self.trend is None else asdict(self.trend),
            "frailty": None if self.frailty is None else self.frailty.document(),
            "node_failures": None if self.node_failures is None else self.node_failures.document(),
            "repairs": None if self.repairs is None else self.repairs.document(),
            "planned": None if self.planned is None else self.planned.document(),
            "causes": [{"cause": each, "n": n} for each, n in Counter(self.causes).most_common()],
            "calendar": None if self.calendar is None else self.calendar.document(),
            "rows": None if self.rows is None else self.rows._asdict(),
            "columns": dict(self.columns),
            "told": [*self.source.notes, *self.told],
            "notes": self.notes,
        }

    def toml(self) -> str:
        """The `[failures]` block of a scenario: the law, or the log where none is adequate."""
        return _block(self)

    def figure(self) -> "Figure":
        """Survival with its band, failure rate and quantiles, of the data and of each law.

        Below, what else the log tells: repairs, causes, nodes, hours and weekdays.
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


def _block(fitted: LogFit) -> str:
    """A `[failures]` table for a scenario file, with comments that say where it comes from.

    The best law if it is adequate. Else the log itself, to be replayed; or the durations, where
    there is no log of nodes to replay, as the Kaplan-Meier curve has them if some are censored.
    """
    import tomli_w  # noqa: PLC0415  (only those who write need it)

    table = _keys(fitted)
    lines = [*_comments(fitted), tomli_w.dumps({"failures": table}).rstrip()]
    if fitted.repairs is not None:
        lines += ["", fitted.repairs.block()]
    return "\n".join(lines)


def _keys(fitted: LogFit) -> dict[str, Any]:
    return law_keys(fitted) if fitted.verdict.adequate else log_keys(fitted)


def law_keys(fitted: LogFit) -> dict[str, Any]:
    """`[failures]` by the law of the fit, adequate or not."""
    frail = fitted.wanted_frailty
    return _law(fitted.law) | _per(fitted) | ({} if frail is None else {"frailty": frail.key})


def log_keys(fitted: LogFit) -> dict[str, Any]:
    """`[failures]` by what the log has: its failures, or its durations where that can't be."""
    # A log of the job's nodes is replayed as it stands, so not to a job on some of them, nor
    # without some of them.
    reader = fitted.source.reader
    of_nodes = bool(fitted.source.path) and reader != "intervals" and READERS[reader].counts_nodes
    changed = fitted.look == "job" or fitted.source.exclude_worst > 0
    if of_nodes and not (READERS[reader].of_the_job and changed):
        return _replay(fitted)
    return gap_keys(fitted)


def gap_keys(fitted: LogFit) -> dict[str, Any]:
    """`[failures]` that draws from the durations of the log."""
    return _empirical(fitted.view.sample) | _per(fitted)


def _per(fitted: LogFit) -> dict[str, Any]:
    """Whose failures they are, and what they hit; the nodes of a log are of all ages."""
    lives = fitted.view.per == "node"
    told: dict[str, Any] = {
        "per": fitted.view.per,
        "ages": "stationary" if lives else None,
        "hits": fitted.hits,
        "severity": dict(fitted.severities),
    }
    if lives and fitted.bursts is not None:
        law = fitted.bursts.law
        told["bursts"] = law.mapping() | {"mean": _rounded(law.mean_s)}
    return {key: each for key, each in told.items() if each}


def _empirical(sample: Sample) -> dict[str, Any]:
    """The durations themselves; those of the Kaplan-Meier curve where some are censored or many."""
    lasted = sample.durations_s
    if sample.censored or sample.n > _MOST_DURATIONS:
        lasted = KaplanMeier.from_sample(sample).typical(_MOST_DURATIONS)
    return {"distribution": "empirical", "durations": [_rounded(each) for each in lasted.tolist()]}


def _law(law: Distribution) -> dict[str, Any]:
    rounded = {
        key: float(f"{getattr(law, key):.{_DIGITS}g}")
        for key in ("shape", "cv")
        if getattr(law, key)
    }
    return {"distribution": law.distribution, "mean": _rounded(law.expected_s), **rounded}


def _replay(fitted: LogFit) -> dict[str, Any]:
    source = fitted.source
    # As it stands is by its own clock, which may be that of a calendar: start with its first.
    clock = source.window is None and READERS[source.reader].of_the_job
    part = (0.0, 1.0) if clock else source.window
    window = None if part is None else written(part)
    coalesce = (
        None if source.coalesce_s is None else units.format_exact(source.coalesce_s, units.SECONDS)
    )
    keys = {
        "trace": str(Path(source.path).resolve()),  # the scenario may lie elsewhere
        "reader": source.reader,
        "system": source.system,
        "columns": None if source.columns is None else source.columns.mapping(),
        "window": window,
        "coalesce": coalesce,
        "exclude_worst": source.exclude_worst or None,
    }
    return {key: value for key, value in keys.items() if value is not None}


def _rounded(seconds: float) -> str:
    """A duration in hours or seconds, to as many digits as make sense."""
    hours = seconds / units.SECONDS["h"]
    return f"{hours:.{_DIGITS}g} h" if hours >= 1 else f"{seconds:.{_DIGITS}g} s"


def _comments(fitted: LogFit) -> list[str]:
    sample = fitted.view.sample
    what = {
        "gaps": "times between failures of the whole system",
        "job": f"times between failures of a job on {fitted.view.nodes} of its nodes",
        "uptime": "uptimes of its nodes",
    }[fitted.look]
    censored = f", {sample.censored} of them censored" if sample.censored else ""
    texts = [f"{fitted.source}: {sample.n} {what}{censored}.", *fitted.notes]
    return [f"# {line}" for text in texts for line in textwrap.wrap(text, _WIDTH)]
