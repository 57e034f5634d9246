"""`[trainer] data`: samples out of files."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from cprsim.basics.schema import Section
from cprsim.trainer.data.contract import DataError
from cprsim.trainer.data.criteo import read_criteo
from cprsim.trainer.data.recorded import Recorded

_MOST_ROWS = 100_000  # of a table of Criteo's, if nobody says: 26 of them then fit into 70 MB


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
        kept: dict[str, Any] = {"dim": self.dim, "batch_size": batch}
        kept["test_share"] = test_samples / asked
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
