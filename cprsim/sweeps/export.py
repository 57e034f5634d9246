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
    try:
        import pyarrow  # noqa: PLC0415  (an extra)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UsageError("format parquet needs pyarrow: pip install 'cprsim[parquet]'") from None
    table, file = sweep.table, BytesIO()
    # Texts also where all of a column are empty.
    kinds = {"i": pyarrow.int64(), "f": pyarrow.float64()}
    columns = [(name, kinds.get(k.kind, pyarrow.string())) for name, k in table.dtypes.items()]
    schema = pyarrow.schema(columns)
    parquet.write_table(pyarrow.Table.from_pandas(table, schema, preserve_index=False), file)
    return file.getvalue()
