"""The block `[trainer]` of a scenario: what a simulation doesn't need to know."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from cprsim.basics.schema import Part, PositiveSeconds, Section
from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.trainer.data import Data, DataError, Planted, Recorded, read_criteo

Share = Annotated[float, Field(ge=0, le=1), Part]
_MOST_ROWS = 100_000  # of a table of Criteo's, by default: 26 of them then fit into 70 MB


class Files(Section):
    """Samples out of files, in place of made-up ones; what is text here is a path.

    `criteo`: a file as Criteo published them. `most_rows`: rows of each of its tables, at most.
    `movielens`: the folder of MovieLens-100K's three files, or true for those in the installed
    package recbole. `dim`: elements of a row.
    """

    criteo: Annotated[str, Field(min_length=1, examples=["train.txt.gz"])] | None = None
    movielens: Annotated[str, Field(min_length=1)] | Literal[True] | None = None
    most_rows: Annotated[int, Field(ge=2, examples=[100_000])] | None = None
    dim: Annotated[int, Field(ge=1)] = 16

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.criteo is None) == (self.movielens is None):
            raise ValueError("give one of criteo and movielens")
        if self.most_rows is not None and self.criteo is None:
            raise ValueError("'most_rows' goes with criteo; leave it out")
        return self

    def read(self, folder: Path, samples: int, test_samples: int, batch: int) -> Recorded:
        """So many samples to train on and to test with, as arrays in a new folder.

        Raises `DataError` where they can't be read, or are not as many.
        """
        asked = samples + test_samples
        share = test_samples / asked
        kept: dict[str, Any] = {"dim": self.dim, "batch_size": batch, "test_share": share}
        if self.criteo is not None:
            kept |= {"most_rows": self.most_rows or _MOST_ROWS, "most_samples": asked}
            read = read_criteo(Path(self.criteo), folder, **kept)
        else:
            # Pandas, which only that needs, is slow to import: processes of the lab wait for it.
            from cprsim.trainer.data.movielens import read_movielens  # noqa: PLC0415

            source = None if self.movielens is True else Path(str(self.movielens))
            read = read_movielens(folder, source=source, **kept)
        there = read.samples + read.test_samples
        if there != asked:
            raise DataError(
                f"trainer.data: has {there:,} samples, not job.samples = {samples:,} and "
                f"trainer.test_samples = {test_samples:,}; give as many together"
            )
        return read


class TrainerSection(Section):
    """The settings of real training.

    `batch`: samples of a step. `test_samples`: samples held out to measure how good the model is.
    `dense`: dense features of a sample; `hidden`: width of the hidden layer of both MLPs;
    `learning_rate`: that of Adagrad. The tables and their skew are those of `[model]`, the samples
    those of `[job]`, made up with a planted teacher.
    `data`: files that both come out of, see `Files`, and so does `dense`.

    `failures`: `"at-step"` pins each to the step that its instant falls into, so that a run gives
    the same each time; `"at-time"` strikes by the clock. `hangs`: share of the failures that stop
    processes instead of killing them. `saving`: share of the failures that strike during a save.
    `loading`: share that strikes again while the replacements load. `answer`: how long a server
    may leave a lookup unanswered before it counts as hung. `work`: how long a member that starts,
    writes, loads or predicts may be silent.
    """

    files: Files | None = Field(None, alias="data", examples=[{"criteo": "train.txt.gz"}])
    batch: Annotated[int, Field(ge=1, le=1 << 20)] = 512
    test_samples: Annotated[int, Field(ge=1)] = 20_000
    dense: Annotated[int, Field(ge=1)] = 4
    hidden: Annotated[int, Field(ge=1)] = 64
    learning_rate: Annotated[float, Field(gt=0)] = 0.05
    failures: Literal["at-step", "at-time"] = "at-step"
    hangs: Share = 0.0
    saving: Share = 0.0
    loading: Share = 0.0
    answer_s: PositiveSeconds = Field(2.0, alias="answer")
    work_s: PositiveSeconds = Field(60.0, alias="work")

    _recorded: Recorded | None = PrivateAttr(None)

    def reading(self, recorded: Recorded) -> Self:
        """The same, with the samples that were read for its `data`."""
        found = self.model_copy()
        found._recorded = recorded
        return found

    @property
    def recorded(self) -> Recorded | None:
        """Samples that were read from files."""
        return self._recorded

    def data(self, scenario: Scenario, seed: int) -> Data:
        """The samples of a scenario.

        Raises
        ------
        ScenarioError
            Where it doesn't say how many there are, or of what tables.
        """
        tables = None if scenario.model is None else scenario.model.tables
        samples, found = scenario.job.samples, []
        alike = ("dim", "dtype") if self.files else ("dim", "dtype", "skew")  # as planted
        if self.files is not None and self._recorded is None:
            found.append("trainer.data: is not read yet; use cprsim.trainer.config.opened")
        if tables is None:
            found.append("model.tables: is missing; write each as [[model.tables]] to train them")
        elif len({repr([getattr(table, key) for key in alike]) for table in tables}) > 1:
            named = f"{', '.join(alike[:-1])} and {alike[-1]}"
            found.append(f"model.tables: all must have the same {named} to be trained")
        if samples is None:
            found.append("job.samples: is missing; write e.g. samples = 100_000")
        elif samples < self.batch:
            found.append(f"job.samples: {samples} is less than a batch of {self.batch}")
        if scenario.cluster.trainers != 1:
            found.append(
                f"cluster.trainers: {scenario.cluster.trainers}, but only 1 can be trained; give 1"
            )
        if found or tables is None or samples is None:
            raise ScenarioError(*found)
        if self._recorded is not None:
            return replace(self._recorded, seed=seed, cycled=samples // self.batch)
        return Planted(
            samples,
            self.test_samples,
            self.batch,
            seed,
            tuple(table.rows for table in tables),
            tables[0].dim,
            self.dense,
            tables[0].skew,
        )


def trainer_section(table: object) -> TrainerSection:
    """The block, checked; raise `ScenarioError` with every fault."""
    return TrainerSection.checked({} if table is None else table, "trainer")
