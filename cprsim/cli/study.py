"""The command `cprsim study`."""

from pathlib import Path

from cprsim.cli import paths
from cprsim.cli.common import ProgressBar, echo, print_table, resumable
from cprsim.cli.options import FORCE, OVERRIDES, argument, flag, option, options, output
from cprsim.cli.output import OutputFolder
from cprsim.trainer import check_torch

_RUNS = "runs"


@options(
    config=argument("A scenario with blocks [trainer] and [study].", "CONFIG", paths.scenario_file),
    out=output("Folder of the results; a study there goes on.", required=True),
    force=FORCE,
    workers=option("Runs at a time; they change no digit.", kind=int, default=2),
    overrides=OVERRIDES,
    so_far=flag("Train nothing: tell of what is done already.", "--so-far"),
)
def study(
    *,
    config: Path,
    out: Path,
    force: bool,
    workers: int,
    overrides: list[str] | None,
    so_far: bool,
) -> None:
    """Measure what failures do to accuracy: many paired runs of the real trainer."""
    from cprsim.runs.runner import check_workers
    from cprsim.scenario.mapping import load_mapping

    check_torch()
    check_workers(workers)
    from cprsim.studies import outputs
    from cprsim.studies.change import change_per_pls
    from cprsim.studies.design import notes, runs, study_section
    from cprsim.studies.display import lines, tables
    from cprsim.studies.findings import with_drops
    from cprsim.studies.play import play
    from cprsim.studies.store import RunStore
    from cprsim.trainer.config import ready
    from cprsim.trainer.lab.forking import check_sockets

    mapping = load_mapping(config, overrides or ())
    block = study_section(mapping.get("study"))
    with ready(mapping) as (scenario, section):
        planned = runs(scenario, section, block)
        folder = OutputFolder(out, outputs.NAMES, force=force)
        store = RunStore(out / _RUNS)
        store.check(planned)
        if not so_far:
            check_sockets()
        told = [] if so_far else notes(planned)
        for note in (*told, *store.notes(planned, so_far)):
            echo(f"cprsim: {note}", err=True)
        if not so_far:
            with resumable(out), ProgressBar("training", "runs", silent=False) as progress:
                play(planned, store, workers, progress.update)
        done = store.done(planned)
        table = outputs.runs_table(done, change_per_pls(scenario, section))
        about = (scenario.title or config.name, block.reading, outputs.made_with(done))
        folder.write(outputs.contents(table, len(planned), *about))
        found = with_drops(table, str(out))
    for each in tables(found, block.reading):
        print_table(each)
    for line in lines(found):
        echo(line)
