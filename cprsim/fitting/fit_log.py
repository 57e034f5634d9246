"""From a log to a failure model: `cprsim fit`, of a log as it is or for a job."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np

from cprsim.errors import LogError, UsageError
from cprsim.failures.logs import views
from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.coincidence import coincidence, rack_bursts
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Rules
from cprsim.failures.logs.source import LogSource
from cprsim.fitting.frailty_fit import frailty_fit
from cprsim.fitting.log_fit import LogFit, Look
from cprsim.fitting.log_notes import COALESCED, too_little
from cprsim.fitting.strikes import at_most, strikes, strikes_of_job
from cprsim.survival.fitted_laws import Verdict, check_failures, check_spread, fit_and_judge
from cprsim.survival.fitted_laws import fit as fit_law

if TYPE_CHECKING:
    from cprsim.scenario import Scenario

#: Keys of `[failures]` that say what is taken of its log.
_TAKEN: Final = ("reader", "system", "columns", "rules", "window", "coalesce", "exclude_worst")
#: More nodes than fail in a log, and yet the same cluster: some never fail.
_SAME_SIZE: Final = 1.5
#: The names that `[failures.hits.weights]` has for kinds of nodes.
_KINDS: Final = {"parameter_server": "parameter_servers", "trainer": "trainers"}


def fit(
    log: str | os.PathLike[str] | FailureLog,
    reader: str | None = None,
    system: int | None = None,
    view: Look = "gaps",
    nodes: int | None = None,
    window: str | None = None,
    coalesce: str | None = None,
    ties: views.Ties = "drop",
    population: int | None = None,
    columns: Mapping[str, str] | None = None,
    exclude_worst: int = 0,
    rules: Mapping[str, object] | None = None,
) -> LogFit:
    """Fit failure laws to a log and judge the best.

    Parameters
    ----------
    log
        Path of a log, or one that is read already.
    reader
        Its format, a key of `cprsim.failures.logs.readers.READERS` or `"intervals"`; what its
        first lines look like if not given.
    system
        Which system of a log that holds several.
    view
        `"gaps"`: times between failures of the whole system; `"job"`: of a job on `nodes` random
        nodes; `"uptime"`: from a node's repair to its next failure, right-censored at the end.
    nodes
        Nodes of the job, for the view `"job"`.
    window
        Shares of the time from the first failure to the last, e.g. `"0.5:1"`; or, of a log that
        has the date of its times, dates: `"2025-03-01:2025-06-01"`, from the beginning of the
        first to that of the second, either of which may be left out.
    coalesce
        A duration, e.g. `"5 min"`: failures at most so long after the one before are one. Where
        the log has racks, those of a rack are also fitted as bursts; the view `"uptime"` then
        counts them as no end of a node's own life.
    ties
        What becomes of durations of 0 s: `"drop"`, or `"keep"` as half the shortest other one.
    population
        Nodes of the system, where the log lacks their number.
    columns
        What the columns of a CSV log are called, e.g. `{"time": "fell", "node": "box"}`; also
        `end`, `kind`, `rack` and `cause`. Those that are not named are found by their commonest
        names.
    exclude_worst
        How many of the nodes that fail most often are left out, as if they had been replaced by
        others like the rest.
    rules
        Which records of the file are failures, e.g. `{"failure_when": "failure=1"}`; see
        `cprsim.failures.logs.options.Rules`.

    Returns
    -------
    LogFit
        The fitted laws, the best first, and whether that one is adequate.

    Raises
    ------
    LogError
        If the log can't be read, or shows too few failures.
    UsageError
        If the arguments make no sense.

    Examples
    --------
    >>> from cprsim.basics.shipped import shipped
    >>> fitted = cprsim.fit(shipped("failures.csv"))
    >>> fitted.best.law.distribution
    'gamma'
    """
    _check_look(view, ties)
    source = LogSource.from_options(
        log, reader, system, window, coalesce, population, columns, exclude_worst, rules
    )
    return _fitted(source, view, nodes, ties)


def fit_for(
    scenario: "Scenario", log: str | os.PathLike[str] | FailureLog | None = None, **taken: Any
) -> LogFit:
    """Fit a log as `fit`, for a job: of a larger system, the gaps of a job on its nodes.

    `taken`: as of `fit`. Without a `log` the one that `failures.log` of the scenario names, to hold
    its law against: the keys that go with `failures.log` say what is taken of it, but what is given
    here wins; where its law is one of nodes' lives these are fitted, else gaps. Failures are shared
    out to the kinds of the job's nodes where the log hasn't any. Raises as `fit`, and `UsageError`
    where the job has many more nodes than the log, or the scenario names none.
    """
    if log is None:
        failures = scenario.failures
        log = failures.log
        if log is None:
            raise UsageError(
                "the scenario names no log to hold its law against; name one as LOG, or as "
                "failures.log"
            )
        named = {key: each for key, each in failures.mapping().items() if key in _TAKEN}
        named |= {"view": "uptime"} if failures.per == "node" else {}
        taken = named | {key: each for key, each in taken.items() if each}
    view, nodes = taken.pop("view", "gaps"), taken.pop("nodes", None)
    ties = taken.pop("ties", "drop")
    _check_look(view, ties)
    source = LogSource.from_options(log, **taken)
    if nodes is None:
        nodes = _nodes_to_fit(source, view, scenario)
        view = view if nodes is None else "job"
    return of_job(_fitted(source, view, nodes, ties), scenario)


def of_job(fitted: LogFit, scenario: "Scenario") -> LogFit:
    """The fit with failures shared out to the kinds of nodes of the job, if the log hasn't any.

    Kinds that the job lacks don't fail in it, and no more nodes at once than it has of each.
    """
    cluster = scenario.cluster
    counts = {"parameter_servers": cluster.parameter_servers, "trainers": cluster.trainers}
    nodes = {kind: count for kind, count in counts.items() if count}
    kinds = {kind: weight for kind, weight in fitted.kinds.items() if kind in nodes} or nodes
    limits = {kind: nodes[kind] for kind in kinds}
    return replace(fitted, kinds=kinds, strikes=at_most(fitted.strikes, limits))


def _nodes_to_fit(source: LogSource, view: Look, scenario: "Scenario") -> int | None:
    """Nodes of the job, where it was to be on some, or gaps of a larger system to be looked at."""
    nodes = scenario.failure_model.nodes
    if view == "job":
        return nodes
    if view != "gaps" or not source.path or source.reader == "intervals":
        return None
    failures = source.failures()
    if not failures.of_nodes:
        return None
    system = Attendance(failures).most
    if nodes > _SAME_SIZE * system:
        raise UsageError(
            f"the job has {nodes:,} nodes, and {system:,} fail in the log: gaps of the one tell "
            "nothing of the other; fit lives of nodes with --view uptime, or say with --population "
            "how many the log is of"
        )
    return nodes if nodes < system else None


def _check_look(view: str, ties: str) -> None:
    """Raise `UsageError` for a view, or a way with ties, that there isn't."""
    for name, value, known in (("view", view, Look), ("ties", ties, views.Ties)):
        if value not in get_args(known):
            raise UsageError(f"{name} {value!r} is not known; known: {', '.join(get_args(known))}")


def _fitted(source: LogSource, view: Look, nodes: int | None, ties: views.Ties) -> LogFit:
    """Fit laws to what is seen of a log.

    Of durations that are all alike the exponential law, which is not adequate. Raises `LogError` if
    durations are too few; with what was left out, since that may be why.
    """
    of_what = _of_durations if source.reader == "intervals" else _of_failures
    log, seen, more = of_what(source, view, nodes, ties)
    look: Look = "uptime" if seen.per == "node" else view
    left_out = seen.left_out
    if left_out and look != "uptime" and source.coalesce_s is not None:
        left_out = {COALESCED: seen.ties}
    dropped = {**log.dropped, **log.unused, **left_out}
    sample, time = seen.sample, seen.node_time
    try:
        check_failures(sample)
    except LogError as error:
        raise LogError(too_little(source.path, log, dropped, str(error))) from None
    try:
        check_spread(sample)
    except LogError as error:
        fits = [replace(fit_law(sample, "exponential"), verdict=Verdict(False, str(error)))]
    else:
        fits = fit_and_judge(sample, None if time is None else (time.low_s, time.high_s))
    return LogFit(source, look, log, seen, fits, dropped, **more)


def _of_failures(
    source: LogSource, view: Look, nodes: int | None, ties: views.Ties
) -> tuple[FailureLog, views.View, dict[str, Any]]:
    """The failures of a log, what is seen of them, and further fields of `LogFit`."""
    if view == "job" and nodes is None:
        raise UsageError("view 'job' needs nodes: how many the job runs on")
    if view != "job" and nodes is not None:
        raise UsageError(f"nodes = {nodes} goes with the view 'job'; leave it out")
    if ties == "keep" and (view == "uptime" or source.coalesce_s is not None):
        other = "the view 'uptime'" if view == "uptime" else "coalesce"
        raise UsageError(f"ties = 'keep' does not go with {other}; leave it out")
    log, within_s = source.failures(), source.coalesce_s
    if not log.of_nodes and (view != "gaps" or source.population or source.exclude_worst):
        asked = "population" if source.population else "exclude_worst"
        raise UsageError(
            f"{source.path}: has no column of nodes, which "
            f"{asked if view == 'gaps' else f'view {view!r}'} needs; name it with --node-column, "
            "or leave that out"
        )
    if view == "uptime" and within_s is not None and log.racks is None:
        raise UsageError(
            "coalesce finds bursts of racks in the view 'uptime', and the log has no racks; "
            "leave it out"
        )
    bursts = None if within_s is None or log.racks is None else rack_bursts(log, within_s)
    more: dict[str, Any] = {"bursts": bursts}
    if view == "uptime":
        own = np.ones(len(log), np.bool_) if bursts is None else ~bursts.members
        seen = views.uptimes(log, own)
        more |= {"strikes": strikes(log), "coincidence": coincidence(log, own)}
        if seen.node_time is not None:
            more["frailty"] = frailty_fit(log, own, seen.sample, seen.node_time)
        return log, seen, more
    struck, counts = log.coalesced(within_s or 0.0), Counter(log.kinds or ())
    more["kinds"] = {name: counts[kind] for kind, name in _KINDS.items() if counts[kind]}
    if nodes is None:
        return log, views.gaps(struck, ties), more | {"strikes": strikes(struck)}
    seen = views.job_gaps(struck, nodes, ties)
    return log, seen, more | {"strikes": strikes_of_job(struck, nodes)}


def _of_durations(
    source: LogSource, view: Look, nodes: int | None, ties: views.Ties
) -> tuple[FailureLog, views.View, dict[str, Any]]:
    """A log without a failure, the durations that somebody has measured, and no more fields."""
    columns = {} if source.columns is None else source.columns.mapping()
    rules = source.rules or Rules()
    given = {
        "system": source.system,
        "window": source.window,
        "coalesce": source.coalesce_s,
        "population": source.population,
        "exclude_worst": source.exclude_worst or None,
        "nodes": nodes,
        "view": None if view == "gaps" else view,
        "columns": columns.keys() - {"time"} or None,
        **{name: name for name in rules.given if name not in ("failure_when", "time_unit")},
    }
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"{name} does not go with reader 'intervals', whose durations are fitted as they "
                "are; leave it out"
            )
    found = read_intervals(source.path, source.columns, rules)
    none = FailureLog(np.empty(0), np.empty(0, np.int64), 0.0, 0.0, of_nodes=False)
    log = replace(none, dropped=found.dropped, notes=found.notes, rows=found.rows)
    return log, views.durations(found, ties), {}
