"""A log fitted for a job: of a larger system, as a job on some of its nodes meets it."""

import os
from dataclasses import replace
from typing import Any, Final

from cprsim.errors import UsageError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.source import LogSource
from cprsim.failures.logs.views import Ties, nodes_of
from cprsim.fitting.fit_log import check_look, fit_source
from cprsim.fitting.log_fit import LogFit, Look
from cprsim.fitting.strikes import at_most
from cprsim.scenario import Scenario

#: More nodes than fail in a log, and yet the same cluster: some never fail.
_SAME_SIZE: Final = 1.5


def _nodes_to_fit(source: LogSource, view: Look, scenario: Scenario) -> int | None:
    """Nodes of the job, where it was to be on some, or gaps of a larger system to be looked at."""
    nodes = scenario.failure_model.nodes
    if view == "job":
        return nodes
    if view != "gaps" or not source.path or source.reader == "intervals":
        return None
    failures = source.failures()
    if not failures.of_nodes:
        return None
    system = nodes_of(failures)
    if nodes > _SAME_SIZE * system:
        raise UsageError(
            f"the job has {nodes:,} nodes, and {system:,} fail in the log: gaps of the one tell "
            "nothing of the other; fit lives of nodes with --view uptime, or say with --population "
            "how many the log is of"
        )
    return nodes if nodes < system else None


def fit_for(
    scenario: Scenario,
    log: str | os.PathLike[str] | FailureLog,
    *,
    view: Look = "gaps",
    nodes: int | None = None,
    ties: Ties = "drop",
    **taken: Any,
) -> LogFit:
    """Fit a log as `cprsim.fit`, for a job: of a larger system, the gaps of a job on its nodes.

    Failures are shared out to the kinds of the job's nodes where the log hasn't any.

    Raises
    ------
    LogError, UsageError
        As of `cprsim.fit`, and where the job has many more nodes than the log.
    """
    check_look(view, ties)
    source = LogSource.from_options(log, **taken)
    if nodes is None:
        nodes = _nodes_to_fit(source, view, scenario)
        view = view if nodes is None else "job"
    return of_job(fit_source(source, view, nodes, ties), scenario)


def fit_named(scenario: Scenario, **taken: Any) -> LogFit:
    """Fit the log that `failures.log` of a scenario names, as `fit_for`, to hold its law against.

    Parameters
    ----------
    scenario
        The keys beside `failures.log` say what is taken of it. Where its law is one of nodes' lives
        these are fitted, else gaps.
    taken
        As of `fit_for`; what is given here wins.

    Raises
    ------
    LogError, UsageError
        As of `fit_for`, and where the scenario names no log.
    """
    failures = scenario.failures
    if failures.log is None:
        raise UsageError(
            "the scenario names no log to hold its law against; name one as LOG, or as failures.log"
        )
    source = LogSource(
        failures.log,
        failures.reader or "csv",
        failures.system,
        failures.window,
        failures.coalesce_s,
        columns=failures.columns,
        rules=failures.rules,
    )
    view = "uptime" if failures.per == "node" else "gaps"
    named = source.keys() | {"reader": failures.reader, "view": view}
    named["exclude_worst"] = failures.exclude_worst
    return fit_for(
        scenario, failures.log, **named | {key: each for key, each in taken.items() if each}
    )


def of_job(fitted: LogFit, scenario: Scenario) -> LogFit:
    """The fit with failures shared out to the kinds of nodes of the job, if the log hasn't any.

    Kinds that the job lacks don't fail in it, and no more nodes at once than it has of each.
    """
    cluster = scenario.cluster
    counts = {"parameter_servers": cluster.parameter_servers, "trainers": cluster.trainers}
    nodes = {kind: count for kind, count in counts.items() if count}
    kinds = {kind: weight for kind, weight in fitted.kinds.items() if kind in nodes} or nodes
    limits = {kind: nodes[kind] for kind in kinds}
    return replace(fitted, kinds=kinds, strikes=at_most(fitted.strikes, limits))
