"""`cprsim run`: simulate a scenario or a fleet."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cprsim.cli.common import (
    Json,
    Overrides,
    Policies,
    ProgressBar,
    ScenarioFile,
    echo,
    echo_wrapped,
    print_json,
    print_table,
    write,
)


def run(
    scenario: ScenarioFile,
    policy: Policies = None,
    replications: Annotated[int, typer.Option(help="Failure timelines to draw.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of all random streams.")] = 0,
    engine: Annotated[str, typer.Option(help="auto, sim or batch.")] = "auto",
    workers: Annotated[int, typer.Option(help="Processes; they change no digit.")] = 1,
    overrides: Overrides = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html, results.csv ...")
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a scenario, or a fleet of jobs: where the time goes."""
    from cprsim.basics import files
    from cprsim.fleets.fleet import Fleet, of_tables
    from cprsim.fleets.play import run_fleet
    from cprsim.report import outputs
    from cprsim.report.source import ScenarioSource
    from cprsim.runs import runner
    from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text

    text = scenario_text(scenario)
    loaded = of_tables(scenario_tables(mapping_of(text, scenario, overrides or ())))
    example = loaded.example if isinstance(loaded, Fleet) else loaded
    if out is not None:
        files.check_writable(out, outputs.NAMES)
        trace = outputs.trace_sha256(example)
        source = ScenarioSource(text, tuple(overrides or ()), trace)
    chosen = policy, replications, seed, engine, workers
    result: Any
    first = _first(example, policy, engine, replications)
    with ProgressBar("simulating", "replications", silent=as_json, first=first) as progress:
        if isinstance(loaded, Fleet):
            result = run_fleet(loaded, *chosen, progress.update)
        else:
            result = runner.run(loaded, *chosen, progress.update)
    if out is not None:
        write(out, outputs.contents(result, source), silent=as_json)
        _say_what_is_left_out(result, out)
    if as_json:
        print_json(result.document())
    else:
        _show_run(result)


def _first(scenario: Any, policies: Any, engine: str, replications: int) -> str | None:
    """What is done before anything is simulated, if anything is."""
    from cprsim.runs.engines import chosen, compiles

    engines = chosen(scenario, scenario.select(policies), engine, replications)
    return "compiling, once" if compiles(engines.values()) else None


def _say_what_is_left_out(result: Any, out: Path) -> None:
    """The rows of a run whose rows aren't kept."""
    from cprsim.runs.digest import Digest

    if isinstance(result.kept, Digest):
        echo(f"cprsim: {out / 'results.csv'} isn't there: {result.kept.reason}", err=True)


def _show_run(result: Any) -> None:
    """Tables of a run of a scenario or a fleet."""
    from cprsim.fleets.result import FleetResult
    from cprsim.report import tables

    of_fleet = isinstance(result, FleetResult)
    print_table(tables.FleetTable(result) if of_fleet else tables.RunTable(result))
    taken = tables.resources_table(result)
    if taken is not None:
        print_table(taken)
    for line in tables.fleet_notes(result) if of_fleet else tables.notes(result):
        echo_wrapped(line)
    predicted = None if of_fleet else tables.accuracy_table(result)
    if predicted is not None:
        print_table(predicted)
    left_out = tables.given_up_line(result) if of_fleet else None
    if left_out is not None:
        echo_wrapped(left_out)
