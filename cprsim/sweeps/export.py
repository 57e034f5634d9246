"""The table of a sweep as CSV or Parquet."""

from cprsim.errors import UsageError
from cprsim.sweeps.stored import Sweep

FORMATS = ("csv", "parquet")


def exported(sweep: Sweep, form: str) -> bytes:
    """The table in one of `FORMATS`; the same numbers give the same CSV, byte by byte.

    Raises
    ------
    UsageError
        If there is no such format, or Parquet's library is not installed.
    """
    if form == "csv":
        return sweep.table.to_csv(index=False, lineterminator="\n").encode()
    if form != "parquet":
        raise UsageError(f"format {form!r} is not one of {', '.join(FORMATS)}")
    try:
        import pyarrow  # noqa: F401, PLC0415  (an extra)
    except ImportError:
        raise UsageError("format parquet needs pyarrow: pip install 'cprsim[parquet]'") from None
    return sweep.table.to_parquet(engine="pyarrow", index=False)
