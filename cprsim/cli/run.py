"""`cprsim run`: simulate a scenario or a fleet."""

from typing import TYPE_CHECKING, Any

from cprsim.cli import options as opt
from cprsim.cli.common import echo, echo_wrapped, print_json, print_table

if TYPE_CHECKING:
    from cprsim.runs.vocabulary import Vocabulary


@opt.options(
    scenario=opt.SCENARIO,
    policies=opt.POLICIES,
    replications=opt.option("Failure timelines to draw.", kind=int, default=1000),
    seed=opt.SEED,
    engine=opt.option("auto, sim or batch.", default="auto"),
    workers=opt.option("Number of processes. Results don't depend on it.", kind=int, default=1),
    overrides=opt.OVERRIDES,
    out=opt.output("Folder for report.html, results.csv ..."),
    force=opt.FORCE,
    vocabulary=opt.option("Shares of the wall clock by the words of cprsim, goodput or ett."),
    max_restarts=opt.option(
        "Restarts that the launcher allows: are they enough?", kind=int, metavar="N"
    ),
    as_json=opt.JSON,
)
def run(asked: Any) -> None:
    """Simulate a scenario, or a fleet of jobs: where the time goes."""
    if asked.max_restarts is not None:
        from cprsim.runs.restarts import check_most

        check_most(asked.max_restarts)
    from cprsim.runs.vocabulary import vocabulary as named

    words, folder = None if asked.vocabulary is None else named(asked.vocabulary), None
    with asked.progress("simulating", "replications") as progress:
        from cprsim.errors import UsageError
        from cprsim.runs.fleet import Fleet, of_tables
        from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text, with_systems

        text = scenario_text(asked.scenario)
        tables = scenario_tables(mapping_of(text, asked.scenario, asked.overrides or ()))
        loaded = of_tables(with_systems(tables, asked.policies))
        if asked.max_restarts is not None and isinstance(loaded, Fleet):
            raise UsageError("--max-restarts: asks of one job, and this is a fleet; leave it out")
        if asked.out is not None:
            from cprsim.report import outputs
            from cprsim.report.basis import ScenarioSource

            folder = asked.folder(outputs.NAMES)
            example = loaded.example if isinstance(loaded, Fleet) else loaded
            trace = outputs.trace_sha256(example)
            source = ScenarioSource(text, tuple(asked.overrides or ()), trace)
        from cprsim.runs import runner
        from cprsim.runs.engines import waits
        from cprsim.runs.fleet_play import run_fleet

        if waits(asked.engine):
            progress.begin("compiling, once")
        play: Any = run_fleet if isinstance(loaded, Fleet) else runner.run
        result = play(
            loaded,
            asked.policies,
            asked.replications,
            asked.seed,
            engine=asked.engine,
            workers=asked.workers,
            progress=progress.update,
        )
    if folder is not None:
        folder.write(outputs.contents(result, source, words))
        from cprsim.runs.digest import Digest

        if isinstance(result.kept, Digest):
            missing = folder.folder / "results.csv"
            echo(f"cprsim: {missing} isn't there: {result.kept.reason}", err=True)
    if asked.as_json:
        document: dict[str, Any] = result.document(words)
        if asked.max_restarts is not None:
            from cprsim.runs.restarts import restarts

            for name, each in restarts(result, asked.max_restarts).items():
                document["policies"][name]["restarts"] = each.document()
        print_json(document)
        return
    _show_run(result, words)
    if asked.max_restarts is not None:
        from cprsim.report.tables import restarts_table

        print_table(restarts_table(result, asked.max_restarts))


def _show_run(result: Any, words: "Vocabulary | None") -> None:
    """Print the tables of a run of a scenario or a fleet, each if there is one."""
    from cprsim.report import tables
    from cprsim.report.conclusion import conclusion
    from cprsim.runs.fleet_result import FleetResult

    of_fleet = isinstance(result, FleetResult)
    shown: list[Any] = [tables.fleet_table(result) if of_fleet else tables.run_table(result)]
    shown += [] if words is None else [tables.wall_table(result, words)]
    shown += [tables.resources_table(result), None if of_fleet else tables.causes_table(result)]
    for table in filter(None, shown):
        print_table(table)
    for line in tables.fleet_notes(result) if of_fleet else tables.notes(result):
        echo_wrapped(line)
    if not of_fleet:
        accuracy = tables.accuracy_table(result)
        if accuracy is not None:
            print_table(accuracy)
        echo_wrapped(conclusion(result))
