"""The table of a sweep as CSV or Parquet."""

from io import BytesIO

from cprsim.basics.spreadsheet import csv_bytes
from cprsim.errors import UsageError
from cprsim.sweeps.stored import Sweep

FORMATS = ("csv", "parquet")


def exported(sweep: Sweep, form: str) -> bytes:
    """Return the table in one of `FORMATS`; the same numbers give the same CSV, byte by byte.

    Raises
    ------
    UsageError
        If there is no such format, or Parquet's library is not installed.
    """
    if form == "csv":
        return csv_bytes(sweep.table)
    if form != "parquet":
        raise UsageError(f"format {form!r} is not one of {', '.join(FORMATS)}")
    table, file = sweep.table, BytesIO()
    texts = table.select_dtypes("object")  # also where all of them are empty
    try:
        table.astype(dict.fromkeys(texts, "string")).to_parquet(file, index=False)
    except ImportError:
        raise UsageError("format parquet needs pyarrow: pip install 'cprsim[parquet]'") from None
    return file.getvalue()
