"""The table of a sweep as CSV or Parquet, written in pieces: it may be larger than the memory."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO

import pandas as pd

from cprsim.basics.spreadsheet import csv_bytes
from cprsim.errors import UsageError
from cprsim.sweeps.stored import Sweep

FORMATS = ("csv", "parquet")

_POINTS = 1000  # in memory at a time


def exporter(sweep: Sweep, form: str, points: int = _POINTS) -> Callable[[BinaryIO], None]:
    """What writes the table in one of `FORMATS` into a file.

    The same numbers give the same CSV, byte by byte, also whatever the number of points that a
    piece has.

    Raises
    ------
    UsageError
        If there is no such format, or Parquet's library is not installed.
    """
    if form == "csv":
        return partial(_write_csv, sweep, points)
    if form != "parquet":
        raise UsageError(f"format {form!r} is not one of {', '.join(FORMATS)}")
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415  (an extra)
    except ImportError:
        raise UsageError("format parquet needs pyarrow: pip install 'cprsim[parquet]'") from None
    return partial(_write_parquet, sweep, points)


def _write_csv(sweep: Sweep, points: int, file: BinaryIO) -> None:
    for number, piece in enumerate(sweep.pieces(points)):
        file.write(csv_bytes(piece, header=number == 0))


def _write_parquet(sweep: Sweep, points: int, file: BinaryIO) -> None:
    from pyarrow import Table  # noqa: PLC0415
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415

    pieces = sweep.pieces(points)
    first = next(pieces)
    schema = _schema(first)
    with ParquetWriter(file, schema) as writer:
        for piece in _with_first(first, pieces):
            writer.write_table(Table.from_pandas(piece, schema=schema, preserve_index=False))


def _with_first(first: pd.DataFrame, others: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield first
    yield from others


def _schema(table: pd.DataFrame) -> Any:
    """Of all pieces: texts, also where one has none, and numbers."""
    import pyarrow  # noqa: PLC0415

    kinds = {"i": pyarrow.int64(), "f": pyarrow.float64()}
    return pyarrow.schema(
        [
            (name, kinds.get(getattr(kind, "kind", "O"), pyarrow.string()))
            for name, kind in table.dtypes.items()
        ]
    )
