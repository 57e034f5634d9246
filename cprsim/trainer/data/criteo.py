"""Criteo's click logs as they were published: lines of tab-separated values, gzipped or not."""

import gzip
import re
from collections.abc import Iterator
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.job.presets import PRESETS
from cprsim.job.workload import Table
from cprsim.trainer.data.contract import Batch, DataError
from cprsim.trainer.data.recorded import Recorded, record

_DENSE, _TABLES = 13, 26
_INTEGER, _CATEGORY = r"(?:-?[0-9]{1,18})?", r"(?:[0-9a-fA-F]{1,8})?"
_LINE = re.compile(rf"[01](?:\t{_INTEGER}){{{_DENSE}}}(?:\t{_CATEGORY}){{{_TABLES}}}")
_BLOCK = 8192  # lines made into arrays at a time
_GZIP = b"\x1f\x8b"
_WRONG = (
    "is not 40 fields separated by tabs: a label (0 or 1), 13 integers, and 26 categories of up to "
    "8 hexadecimal digits; all but the label may be empty"
)


def read_criteo(
    path: Path,
    folder: Path,
    *,
    most_rows: int = 100_000,
    most_samples: int | None = None,
    dim: int = 16,
    **how: Any,
) -> Recorded:
    """Read `train.txt` of Criteo Kaggle, or a day of Criteo Terabyte, or the like of them.

    `path`: the file, gzipped or not. `folder`: a new one, for the samples as arrays: 264 bytes a
    sample. `most_rows`: rows of a table at most; those of smaller ones are as many as Criteo Kaggle
    has categories. `most_samples`: how many lines to read from the start; all without it. `dim`:
    numbers of a row. `how`: as for `record`; the files are in order of time, so the last samples
    are held out.

    Notes
    -----
    A line is a label, 13 integers and 26 categories of 8 hexadecimal digits, any of which but the
    label may be missing. Integers become log(1 + x), 0 if missing or negative, as in DLRM's own
    preprocessing. A category of a table of n rows is row 1 + (category mod (n - 1)): the published
    categories are hashes of 32 bits. Row 0 is for missing ones.
    """
    rows = tuple(min(each, most_rows) for each in PRESETS["criteo-kaggle"].rows)
    tables = tuple(Table(name=f"C{n}", rows=each, dim=dim) for n, each in enumerate(rows, 1))
    return record(_blocks(Path(path), most_samples, np.array(rows)), Path(folder), tables, **how)


def _blocks(path: Path, most: int | None, rows: NDArray[np.int64]) -> Iterator[Batch]:
    done = 0
    try:
        with _opened(path) as file:
            lines = islice(file, most)
            while block := list(islice(lines, _BLOCK)):
                yield _batch(path, block, done + 1, rows)
                done += len(block)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; give the path of Criteo's lines") from None
    except (OSError, EOFError) as error:  # gzip's errors are among them
        raise DataError(f"{path}, after line {done}: {error}") from None


def _opened(path: Path) -> TextIOWrapper:
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP
    # What is not ASCII is malformed, and should be named with its line.
    if zipped:
        return gzip.open(path, "rt", encoding="ascii", errors="backslashreplace", newline="\n")
    return path.open(encoding="ascii", errors="backslashreplace", newline="\n")


def _batch(path: Path, lines: list[str], first: int, rows: NDArray[np.int64]) -> Batch:
    labels, integers, categories = [], [], []
    for number, line in enumerate(lines, first):
        text = line.rstrip("\r\n")
        if not _LINE.fullmatch(text):
            raise DataError(f"{path}, line {number}: {_WRONG}")
        fields = text.split("\t")
        labels.append(fields[0] == "1")
        integers.append([int(each or 0) for each in fields[1 : 1 + _DENSE]])
        categories.append([int(each or "-1", 16) for each in fields[1 + _DENSE :]])
    sparse = np.array(categories)
    return Batch(
        np.log1p(np.maximum(integers, 0)).astype(np.float32),
        np.where(sparse < 0, 0, 1 + sparse % (rows - 1)),
        np.array(labels, dtype=np.float32),
    )
