"""`cprsim replay`: the interruptions of a log under other policies."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cprsim.cli import options as opt
from cprsim.cli import paths
from cprsim.cli.common import echo_wrapped, print_json, print_table

NAMES = ("scenario.toml", "interruptions.csv", "manifest.json")


@opt.options(
    log=opt.argument(
        "The event log of a job (JSON lines: starts, loads, saves), or with --for any log of "
        "failures that cprsim fit reads.",
        "LOG",
        paths.there,
    ),
    policy=opt.POLICIES,
    for_job=opt.option(
        "The job and its costs; those of an event log, if not given.",
        "--for",
        kind=Path,
        metavar="SCENARIO",
        callback=paths.scenario_file,
    ),
    reader=opt.option("Format of a log of failures; see cprsim fit."),
    step_time=opt.option("What a step takes, e.g. 8s; from save to save if not given."),
    replications=opt.option(
        "Runs: of the same interruptions, with other draws of waits.", kind=int, default=64
    ),
    seed=opt.SEED,
    overrides=opt.OVERRIDES,
    out=opt.output(f"Folder for {', '.join(NAMES)}."),
    force=opt.FORCE,
    as_json=opt.JSON,
)
def replay(asked: Any) -> None:
    """Replay a log: the same interruptions under other policies."""
    from cprsim.errors import UsageError
    from cprsim.fitting.job_events import is_events, read_events, scenario_of
    from cprsim.fitting.law_versus_log import replayed
    from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text, with_systems

    if asked.overrides and asked.for_job is None:
        raise UsageError("--set: sets values of the scenario of --for; give that")
    folder = asked.folder(NAMES)
    with asked.progress("reading") as progress, ExitStack() as folders:
        tables: dict[str, Any] = {}
        if asked.for_job is not None:
            mapping = mapping_of(scenario_text(asked.for_job), asked.for_job, asked.overrides or [])
            tables = dict(scenario_tables(mapping))
        given, events = with_systems(tables, asked.policy), None
        if asked.reader is None and is_events(asked.log):
            from cprsim.basics.files import locked_tempdir
            from cprsim.fitting.job_events import LOG

            events = read_events(asked.log, _step_s(asked.step_time))
            interruptions = folders.enter_context(locked_tempdir()) / LOG
            scenario = scenario_of(events, given, interruptions, asked.step_time is not None)
            if folder is not None:
                from cprsim.basics.manifest import versions, with_manifest

                told = scenario.to_toml().replace(str(interruptions), LOG)
                files = {"scenario.toml": told.encode(), LOG: interruptions.read_bytes()}
                folder.write(with_manifest(files, versions()))
        elif asked.for_job is None:
            raise UsageError(
                f"{asked.log}: is no event log of a job; give the job and its costs, --for SCENARIO"
            )
        elif folder is not None:
            raise UsageError("--out: is for event logs; leave it out")
        else:
            scenario = replayed(asked.log, asked.reader, given)
        from cprsim.runs import runner

        progress.begin("simulating")
        result = runner.run(scenario, asked.policy, asked.replications, asked.seed)
    if asked.as_json:
        print_json(result.document() | ({} if events is None else {"logged": events.document()}))
        return
    from cprsim.fitting.display import event_lines
    from cprsim.report.tables import notes, run_table
    from cprsim.runs.cautions import REPLAYED

    if events is not None:
        for line in event_lines(events):
            echo_wrapped(line)
    print_table(run_table(result))
    for line in notes(result):
        if events is None or line != REPLAYED:  # here that is intended
            echo_wrapped(line)


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
