"""Scenarios in which the failures or interruptions of a log strike."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cprsim.errors import ScenarioError, UsageError
from cprsim.failures.logs.source import LogSource
from cprsim.fitting.job_events import JobEvents, tables_of, write_log
from cprsim.fitting.law_versus_log import not_in_logs
from cprsim.scenario import Scenario


def of_failures(log: Path, reader: str | None, given: Mapping[str, Any]) -> Scenario:
    """Return the job of `--for`, in which the failures of a log strike.

    Severities of the log win over those of the job.
    """
    failures, source = given.get("failures"), LogSource.from_options(log, reader)
    kept: dict[str, Any] = {}
    if isinstance(failures, dict):
        needs_log = {"severity", "causes"} & failures.keys()
        is_graded = bool(needs_log) and source.failures().severities is not None
        kept = not_in_logs(failures, is_graded)
        if is_graded:
            kept.pop("severity", None)
    return Scenario(**{**given, "failures": {"trace": str(log), "reader": source.reader, **kept}})


def of_events(
    events: JobEvents, given: Mapping[str, Any], interruptions: Path, knows_step: bool
) -> Scenario:
    """Return the job of an event log; its interruptions are written into a file."""
    tables = tables_of(events, interruptions, given)
    cluster = tables["cluster"]
    servers = cluster.get("parameter_servers") if isinstance(cluster, dict) else None
    write_log(events, interruptions, servers)
    try:
        return Scenario(**tables)
    except ScenarioError as error:
        if knows_step or "save" not in str(error):
            raise
        raise UsageError(
            f"{error}; in this log saves take no time, since a step is taken to last as long as "
            "from save to save: give --step-time, or costs.save in --for"
        ) from None
