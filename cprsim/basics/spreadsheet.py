"""Tables as Parquet, and as CSV that no spreadsheet and no terminal acts upon."""

from typing import TYPE_CHECKING, Any

from cprsim.errors import UsageError, printable

if TYPE_CHECKING:
    import pandas as pd

#: A spreadsheet takes a cell that begins so for a formula (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_bytes(table: "pd.DataFrame", *, header: bool = True) -> bytes:
    """A table as CSV; texts that a spreadsheet would take for formulas have a `'` before them."""
    shown = table.rename(columns=_shown)
    for name, kind in shown.dtypes.items():
        if kind.kind not in "biufcmM":
            shown[name] = shown[name].map(_shown)
    return shown.to_csv(index=False, header=header, lineterminator="\n").encode()


def _shown(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text


def parquet_bytes(table: "pd.DataFrame") -> bytes:
    """A table as Parquet; `UsageError` where its library isn't installed."""
    try:
        import pyarrow  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError("format parquet needs pyarrow: pip install 'cprsim[parquet]'") from None
    # Texts also where all of a column are empty.
    kinds = {"i": pyarrow.int64(), "f": pyarrow.float64()}
    columns = [(name, kinds.get(k.kind, pyarrow.string())) for name, k in table.dtypes.items()]
    return table.to_parquet(index=False, schema=pyarrow.schema(columns))
