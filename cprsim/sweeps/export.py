"""The table of a sweep as CSV or Parquet, written in pieces: it may be larger than the memory."""

from collections.abc import Callable
from functools import partial
from typing import BinaryIO

from cprsim.basics.spreadsheet import csv_bytes
from cprsim.errors import UsageError
from cprsim.sweeps.stored import Sweep

FORMATS = ("csv", "parquet")

_POINTS = 1000  # in memory at a time


def exporter(sweep: Sweep, form: str, points: int = _POINTS) -> Callable[[BinaryIO], None]:
    """Return a function that writes the table in one of `FORMATS` into a file.

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
    import pyarrow  # noqa: PLC0415
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415

    # Texts also where a piece has none, and numbers.
    kinds = {"i": pyarrow.int64(), "f": pyarrow.float64()}
    writer = None
    for piece in sweep.pieces(points):
        if writer is None:
            schema = pyarrow.schema(
                [
                    (name, kinds.get(getattr(kind, "kind", "O"), pyarrow.string()))
                    for name, kind in piece.dtypes.items()
                ]
            )
            writer = ParquetWriter(file, schema)
        writer.write_table(pyarrow.Table.from_pandas(piece, schema, preserve_index=False))
    if writer is not None:
        writer.close()
