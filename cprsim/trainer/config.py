"""A scenario that is to be trained, and its block `[trainer]`, with the samples that it names."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from cprsim.basics.files import locked_tempdir
from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.trainer.data import Recorded
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
    job, model = tables.get("job"), tables.get("model", {})
    samples = job.get("samples") if isinstance(job, dict) else None
    if not isinstance(samples, int) or samples < 1:
        raise ScenarioError("job.samples: is missing; write e.g. samples = 90_000")
    if not isinstance(model, dict):
        Scenario(**tables)  # which refuses it
    for key in ("preset", "embedding"):
        if key in model:
            raise ScenarioError(f"model.{key}: trainer.data has its own tables; leave it out")
    if "tables" in model:
        Scenario(**tables)  # which says what is wrong with them
    with locked_tempdir() as folder:
        new = folder / "samples"
        recorded = section.files.read(new, samples, section.test_samples, section.batch)
        model = model | {"tables": _tables(model.get("tables"), recorded)}
        yield Scenario(**tables | {"model": model}), section.reading(recorded)


def _tables(named: list[dict[str, Any]] | None, recorded: Recorded) -> list[dict[str, Any]]:
    """Return those of the samples, with what the file says of each, if it names the same."""
    read = [{"name": each.name, "rows": each.rows, "dim": each.dim} for each in recorded.tables]
    if named is None:
        return read
    sizes = [[(each["rows"], each["dim"]) for each in tables] for tables in (named, read)]
    if sizes[0] != sizes[1]:
        rows = [each["rows"] for each in read]
        raise ScenarioError(
            f"model.tables: the samples of trainer.data have others, of {rows} rows with "
            f"dim = {read[0]['dim']}; give these in that order, or leave model.tables out"
        )
    return [said | own for said, own in zip(named, read, strict=True)]
