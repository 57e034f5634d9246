"""`cprsim run`: simulate a scenario or a fleet."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cprsim.cli.common import ProgressBar, echo, echo_wrapped, print_json, print_table
from cprsim.cli.options import (
    FORCE,
    JSON,
    OVERRIDES,
    POLICIES,
    SCENARIO,
    SEED,
    option,
    options,
    output,
)
from cprsim.cli.output import OutputFolder

if TYPE_CHECKING:
    from cprsim.contract.vocabulary import Vocabulary


@options(
    scenario=SCENARIO,
    policies=POLICIES,
    replications=option("Failure timelines to draw.", kind=int, default=1000),
    seed=SEED,
    engine=option("auto, sim or batch.", default="auto"),
    workers=option("Number of processes. Results don't depend on it.", kind=int, default=1),
    overrides=OVERRIDES,
    out=output("Folder for report.html, results.csv ..."),
    force=FORCE,
    vocabulary=option("Shares of the wall clock by the words of cprsim, goodput or ett."),
    max_restarts=option(
        "Restarts that the launcher allows: are they enough?", kind=int, metavar="N"
    ),
    as_json=JSON,
)
def run(
    *,
    scenario: Path,
    overrides: list[str] | None,
    out: Path | None,
    force: bool,
    vocabulary: str | None,
    max_restarts: int | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Simulate a scenario, or a fleet of jobs: where the time goes."""
    if max_restarts is not None:
        from cprsim.runs.restarts import check_most

        check_most(max_restarts)
    from cprsim.contract.vocabulary import vocabulary as named

    words, folder = None if vocabulary is None else named(vocabulary), None
    with ProgressBar("simulating", "replications", silent=as_json) as progress:
        from cprsim.errors import UsageError
        from cprsim.runs.fleet import Fleet, of_tables
        from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text

        text = scenario_text(scenario)
        tables = scenario_tables(mapping_of(text, scenario, overrides or ()))
        loaded = of_tables(with_systems(tables, asked["policies"]))
        if max_restarts is not None and isinstance(loaded, Fleet):
            raise UsageError("--max-restarts: asks of one job, and this is a fleet; leave it out")
        if out is not None:
            from cprsim.report import outputs
            from cprsim.report.basis import ScenarioSource

            folder = OutputFolder(out, outputs.NAMES, force=force)
            example = loaded.example if isinstance(loaded, Fleet) else loaded
            trace = outputs.trace_sha256(example)
            source = ScenarioSource(text, tuple(overrides or ()), trace)
        from cprsim.runs import runner
        from cprsim.runs.engines import waits
        from cprsim.runs.fleet_play import run_fleet

        if waits(asked["engine"]):
            progress.begin("compiling, once")
        play: Any = run_fleet if isinstance(loaded, Fleet) else runner.run
        result = play(loaded, progress=progress.update, **asked)
    if folder is not None:
        folder.write(outputs.contents(result, source, words), silent=as_json)
        from cprsim.runs.digest import Digest

        if isinstance(result.kept, Digest):
            missing = folder.folder / "results.csv"
            echo(f"cprsim: {missing} isn't there: {result.kept.reason}", err=True)
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


def with_systems(tables: dict[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """Return tables of a scenario with a default policy for each name that is a system's."""
    from cprsim.policies.registry import systems

    policies = tables.get("policies") or {}
    if not isinstance(policies, dict):
        return tables  # the schema reports it
    missing = {
        name: {"system": name} for name in names or () if name not in policies and name in systems()
    }
    return tables | {"policies": policies | missing} if missing else tables


def _show_run(result: Any, words: "Vocabulary | None") -> None:
    """Print the tables of a run of a scenario or a fleet."""
    from cprsim.report import tables
    from cprsim.report.conclusion import conclusion
    from cprsim.runs.fleet_result import FleetResult

    of_fleet = isinstance(result, FleetResult)
    print_table(tables.fleet_table(result) if of_fleet else tables.run_table(result))
    if words is not None:
        print_table(tables.wall_table(result, words))
    _print_any(tables.resources_table(result))
    if of_fleet:
        for line in (*tables.fleet_notes(result), tables.given_up_line(result)):
            if line is not None:
                echo_wrapped(line)
        return
    _print_any(tables.causes_table(result))
    for line in tables.notes(result):
        echo_wrapped(line)
    _print_any(tables.accuracy_table(result))
    echo_wrapped(conclusion(result))


def _print_any(table: Any) -> None:
    """Print a table, if there is one."""
    if table is not None:
        print_table(table)
