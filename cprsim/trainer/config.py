"""A scenario that is to be trained, and its block `[trainer]`, with the samples that it names."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from cprsim.basics.files import locked_tempdir
from cprsim.errors import ScenarioError
from cprsim.job.workload import Table
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.trainer.data import DataTable
from cprsim.trainer.section import TrainerSection, trainer_section


def opened(
    path: Path, overrides: Iterable[str] = ()
) -> AbstractContextManager[tuple[Scenario, TrainerSection]]:
    """Return `ready` of a file."""
    return ready(load_mapping(path, overrides))


@contextmanager
def ready(mapping: dict[str, Any]) -> Iterator[tuple[Scenario, TrainerSection]]:
    """Yield the arguments of `train`; samples that the file names lie in a folder meanwhile.

    The tables are then those of the samples, and the scenario says so: `Scenario.to_toml` is a file
    that can be simulated. A file that names them itself has to name the same; the run is planned
    and predicted with the skew and the like that it gives them.

    Raises
    ------
    ScenarioError
        With every fault of the file.
    DataError
        For samples that can't be read, or are not as many as the scenario says.
    """
    section = trainer_section(mapping.get("trainer"))
    tables = scenario_tables(mapping)
    if section.files is None:
        yield Scenario(**tables), section
        return
    with locked_tempdir() as folder:
        samples = _samples(tables)
        model = _model(tables)
        named = Scenario(**tables).model if "tables" in model else None
        new = folder / "samples"
        recorded = section.files.read(new, samples, section.test_samples, section.batch)
        said: Sequence[dict[str, Any]] = [{}] * len(recorded.tables)
        if named is not None:
            _check_same(named.tables or (), recorded.tables)
            said = model["tables"]
        rows = [
            {**kept, "name": read.name, "rows": read.rows, "dim": read.dim}
            for kept, read in zip(said, recorded.tables, strict=True)
        ]
        yield Scenario(**tables | {"model": model | {"tables": rows}}), section.reading(recorded)


def _samples(tables: dict[str, Any]) -> int:
    """Return the samples of the job."""
    job = tables.get("job")
    samples = job.get("samples") if isinstance(job, dict) else None
    if not isinstance(samples, int) or samples < 1:
        raise ScenarioError("job.samples: is missing; write e.g. samples = 90_000")
    return samples


def _model(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the block [model] of the file, which can't be that of other samples."""
    model = tables.get("model", {})
    given = [key for key in ("preset", "embedding") if key in model]
    if given:
        raise ScenarioError(f"model.{given[0]}: trainer.data has its own tables; leave it out")
    return dict(model)


def _check_same(named: Sequence[Table], read: Sequence[DataTable]) -> None:
    """Raise `ScenarioError` where the tables that a file names aren't those of its samples."""
    sizes = [[(table.rows, table.dim) for table in tables] for tables in (named, read)]
    if sizes[0] != sizes[1]:
        rows = [table.rows for table in read]
        raise ScenarioError(
            f"model.tables: the samples of trainer.data have others, of {rows} rows with "
            f"dim = {read[0].dim}; give these in that order, or leave model.tables out"
        )
