"""`cprsim run`: simulate a scenario or a fleet."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
)
from cprsim.cli.output import Force, OutputFolder, output

if TYPE_CHECKING:
    from cprsim.contract.vocabulary import Vocabulary
    from cprsim.report.source import ScenarioSource


def run(
    scenario: ScenarioFile,
    policy: Policies = None,
    replications: Annotated[int, typer.Option(help="Failure timelines to draw.")] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    engine: Annotated[str, typer.Option(help="auto, sim or batch.")] = "auto",
    workers: Annotated[
        int, typer.Option(help="Number of processes. Results don't depend on it.")
    ] = 1,
    overrides: Overrides = None,
    out: Annotated[Path | None, output(help="Folder for report.html, results.csv ...")] = None,
    force: Force = False,
    vocabulary: Annotated[
        str | None,
        typer.Option(help="Shares of the wall clock by the words of cprsim, goodput or ett."),
    ] = None,
    max_restarts: Annotated[
        int | None,
        typer.Option(metavar="N", help="Restarts that the launcher allows: are they enough?"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a scenario, or a fleet of jobs: where the time goes."""
    if max_restarts is not None:
        from cprsim.runs.restarts import check_most

        check_most(max_restarts)
    asked = {
        "policies": policy,
        "replications": replications,
        "seed": seed,
        "engine": engine,
        "workers": workers,
    }
    from cprsim.contract.vocabulary import vocabulary as named

    words = None if vocabulary is None else named(vocabulary)
    with ProgressBar("simulating", "replications", silent=as_json) as progress:
        result, written = _played(
            scenario, overrides or (), asked, out, force, progress, max_restarts is not None
        )
    if written is not None:
        from cprsim.report import outputs

        folder, source = written
        folder.write(outputs.contents(result, source, words), silent=as_json)
        _say_what_is_left_out(result, folder.folder)
    if as_json:
        print_json(_document(result, words, max_restarts))
        return
    _show_run(result, words)
    if max_restarts is not None:
        from cprsim.report.tables import restarts_table

        print_table(restarts_table(result, max_restarts))


def _document(result: Any, words: "Vocabulary | None", max_restarts: int | None) -> dict[str, Any]:
    found: dict[str, Any] = result.document(words)
    if max_restarts is not None:
        from cprsim.runs.restarts import restarts

        for name, each in restarts(result, max_restarts).items():
            found["policies"][name]["restarts"] = each.document()
    return found


def _played(
    path: Path,
    overrides: Sequence[str],
    asked: dict[str, Any],
    out: Path | None,
    force: bool,
    progress: ProgressBar,
    of_one_job: bool,
) -> "tuple[Any, tuple[OutputFolder, ScenarioSource] | None]":
    """The result; and if it is to be written, the folder and the source of the scenario."""
    from cprsim.errors import UsageError
    from cprsim.fleets.fleet import Fleet, of_tables
    from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text

    text = scenario_text(path)
    given = with_systems(scenario_tables(mapping_of(text, path, overrides)), asked["policies"])
    loaded = of_tables(given)
    example = loaded.example if isinstance(loaded, Fleet) else loaded
    if of_one_job and loaded is not example:
        raise UsageError("--max-restarts: asks of one job, and this is a fleet; leave it out")
    written = None
    if out is not None:
        from cprsim.report import outputs
        from cprsim.report.source import ScenarioSource

        folder = OutputFolder(out, outputs.NAMES, force=force)
        written = folder, ScenarioSource(text, tuple(overrides), outputs.trace_sha256(example))
    from cprsim.fleets.play import run_fleet
    from cprsim.runs import runner
    from cprsim.runs.engines import waits

    if waits(asked["engine"]):
        progress.begin("compiling, once")
    if isinstance(loaded, Fleet):
        return run_fleet(loaded, progress=progress.update, **asked), written
    return runner.run(loaded, progress=progress.update, **asked), written


def with_systems(tables: dict[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """Tables of a scenario with a default policy for each name that is a system's."""
    from cprsim.policies.registry import systems

    policies = tables.get("policies") or {}
    if not isinstance(policies, dict):
        return tables  # the schema reports it
    missing = {
        name: {"system": name} for name in names or () if name not in policies and name in systems()
    }
    return tables | {"policies": policies | missing} if missing else tables


def _say_what_is_left_out(result: Any, out: Path) -> None:
    """The rows of a run whose rows aren't kept."""
    from cprsim.runs.digest import Digest

    if isinstance(result.kept, Digest):
        echo(f"cprsim: {out / 'results.csv'} isn't there: {result.kept.reason}", err=True)


def _show_run(result: Any, words: "Vocabulary | None") -> None:
    """Tables of a run of a scenario or a fleet."""
    from cprsim.fleets.result import FleetResult
    from cprsim.report import tables

    of_fleet = isinstance(result, FleetResult)
    print_table(tables.FleetTable(result) if of_fleet else tables.RunTable(result))
    if words is not None:
        print_table(tables.WallTable(result, words))
    taken = tables.resources_table(result)
    if taken is not None:
        print_table(taken)
    causes = None if of_fleet else tables.causes_table(result)
    if causes is not None:
        print_table(causes)
    for line in tables.fleet_notes(result) if of_fleet else tables.notes(result):
        echo_wrapped(line)
    predicted = None if of_fleet else tables.accuracy_table(result)
    if predicted is not None:
        print_table(predicted)
    if not of_fleet:
        from cprsim.report.conclusion import conclusion

        echo_wrapped(conclusion(result))
    left_out = tables.given_up_line(result) if of_fleet else None
    if left_out is not None:
        echo_wrapped(left_out)
