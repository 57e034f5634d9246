"""The command `cprsim study`."""

from pathlib import Path
from typing import Annotated

import typer

from cprsim.cli_common import Overrides, Progress
from cprsim.cli_train import check_torch

_RUNS = "runs"


def study(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="A scenario with blocks [trainer] and [study]."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the results; a study there goes on.")],
    workers: Annotated[int, typer.Option(help="Runs at a time; they change no digit.")] = 2,
    overrides: Overrides = None,
) -> None:
    """Measure what failures do to accuracy: many paired runs of the real trainer."""
    from cprsim import files
    from cprsim.runner import check_whole
    from cprsim.scenario import Scenario, load_mapping

    check_torch()
    check_whole("workers", workers, 1)
    from cprsim.studies.design import runs, study_section
    from cprsim.studies.play import play
    from cprsim.studies.store import RunStore
    from cprsim.trainer.spec import trainer_section

    mapping = load_mapping(config, overrides or ())
    section = trainer_section(mapping.pop("trainer", None))
    block = study_section(mapping.pop("study", None))
    mapping.pop("sweep", None)
    planned = runs(Scenario(**mapping), section, block)
    files.check_writable(out)
    store = RunStore(out / _RUNS)
    with Progress("training", "runs", silent=False) as progress:
        play(planned, store, workers, progress.update)
