"""`cprsim replay`: the interruptions of a log under other policies."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.cli import paths
from cprsim.cli.common import ProgressBar, echo_wrapped, print_json, print_table
from cprsim.cli.options import (
    FORCE,
    JSON,
    OVERRIDES,
    POLICIES,
    SEED,
    argument,
    option,
    options,
    output,
)
from cprsim.cli.output import OutputFolder

if TYPE_CHECKING:
    from cprsim.fitting.job_events import JobEvents
    from cprsim.scenario import Scenario


NAMES = ("scenario.toml", "interruptions.csv", "manifest.json")


@options(
    log=argument(
        "The event log of a job (JSON lines: starts, loads, saves), or with --for any log of "
        "failures that cprsim fit reads.",
        "LOG",
        paths.there,
    ),
    policy=POLICIES,
    for_job=option(
        "The job and its costs; what an event log tells, if not given.",
        "--for",
        kind=Path,
        metavar="SCENARIO",
        callback=paths.scenario_file,
    ),
    reader=option("Format of a log of failures; see cprsim fit."),
    step_time=option("What a step takes, e.g. 8s; from save to save if not given."),
    replications=option(
        "Runs: of the same interruptions, with other draws of waits.", kind=int, default=64
    ),
    seed=SEED,
    overrides=OVERRIDES,
    out=output(f"Folder for {', '.join(NAMES)}."),
    force=FORCE,
    as_json=JSON,
)
def replay(
    *,
    log: Path,
    policy: list[str] | None,
    for_job: Path | None,
    reader: str | None,
    step_time: str | None,
    replications: int,
    seed: int,
    overrides: list[str] | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Replay a log: the same interruptions under other policies."""
    from cprsim.errors import UsageError
    from cprsim.fitting.job_events import is_events, read_events

    if overrides and for_job is None:
        raise UsageError("--set: sets values of the scenario of --for; give that")
    folder = None if out is None else OutputFolder(out, NAMES, force=force)
    with ProgressBar("reading", silent=as_json) as progress, ExitStack() as folders:
        given, events = _given(for_job, overrides or [], policy), None
        if reader is None and is_events(log):
            from cprsim.basics.owned import owned_folder
            from cprsim.fitting.job_events import LOG

            events = read_events(log, _step_s(step_time))
            interruptions = folders.enter_context(owned_folder()) / LOG
            scenario = _of_events(events, given, interruptions, step_time is not None)
            if folder is not None:
                from cprsim.basics.manifest import versions, with_manifest

                told = scenario.to_toml().replace(str(interruptions), LOG)
                files = {"scenario.toml": told.encode(), LOG: interruptions.read_bytes()}
                folder.write(with_manifest(files, versions()), silent=as_json)
        elif for_job is None:
            raise UsageError(
                f"{log}: is no event log of a job; give the job and its costs, --for SCENARIO"
            )
        elif folder is not None:
            raise UsageError("--out: is for event logs; leave it out")
        else:
            scenario = _of_failures(log, reader, given)
        from cprsim.runs import runner

        progress.begin("simulating")
        result = runner.run(scenario, policy, replications, seed)
    if as_json:
        print_json(result.document() | ({} if events is None else {"logged": events.document()}))
        return
    from cprsim.fitting.display import event_lines
    from cprsim.report.tables import notes, run_table
    from cprsim.runs.cautions import AS_IT_STANDS

    if events is not None:
        for line in event_lines(events):
            echo_wrapped(line)
    print_table(run_table(result))
    for line in notes(result):
        if events is None or line != AS_IT_STANDS:  # here that is what was asked for
            echo_wrapped(line)


def _given(path: Path | None, overrides: list[str], policies: list[str] | None) -> dict[str, Any]:
    """Return the tables of the scenario of `--for`, with a policy for each system asked for."""
    from cprsim.cli.run import with_systems
    from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text

    given: dict[str, Any] = {}
    if path is not None:
        given = dict(scenario_tables(mapping_of(scenario_text(path), path, overrides)))
    return with_systems(given, policies)


def _step_s(text: str | None) -> float | None:
    from cprsim.basics.units import parse_duration
    from cprsim.errors import UsageError

    try:
        step_s = None if text is None else parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--step-time: {error}") from None
    if step_s is not None and not step_s > 0:
        raise UsageError(f"--step-time {text}: a step takes more than 0 s, e.g. 8s")
    return step_s


def _of_failures(log: Path, reader: str | None, given: dict[str, Any]) -> "Scenario":
    """Return the job of `--for`, in which the failures of a log strike.

    Severities of the log win over those of the job.
    """
    from cprsim.failures.logs.source import LogSource
    from cprsim.fitting.at_hand import not_told
    from cprsim.scenario import Scenario

    failures, source = given.get("failures"), LogSource.from_options(log, reader)
    kept = not_told(failures) if isinstance(failures, dict) else {}
    if "severity" in kept and source.failures().severities is not None:
        del kept["severity"]
    return Scenario(**given | {"failures": {"trace": str(log), "reader": source.reader, **kept}})


def _of_events(
    events: "JobEvents", given: dict[str, Any], interruptions: Path, knows_step: bool
) -> "Scenario":
    """Return the job of an event log; its interruptions are written into a file."""
    from cprsim.errors import ScenarioError, UsageError
    from cprsim.fitting.job_events import tables_of, write_log
    from cprsim.scenario import Scenario

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
