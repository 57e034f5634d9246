"""The command `cprsim study`."""

from pathlib import Path
from typing import Annotated

import typer

from cprsim.cli.common import (
    Overrides,
    ProgressBar,
    echo,
    print_table,
    resumable,
    scenario_file,
)
from cprsim.cli.output import Force, OutputFolder, output
from cprsim.trainer import check_torch

_RUNS = "runs"


def study(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG",
            help="A scenario with blocks [trainer] and [study].",
            callback=scenario_file,
        ),
    ],
    out: Annotated[Path, output(help="Folder of the results; a study there goes on.")],
    force: Force = False,
    workers: Annotated[int, typer.Option(help="Runs at a time; they change no digit.")] = 2,
    overrides: Overrides = None,
    so_far: Annotated[
        bool, typer.Option("--so-far", help="Train nothing: tell of what is done already.")
    ] = False,
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
    from cprsim.trainer.members.forking import check_sockets

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
