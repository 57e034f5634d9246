"""Tables as CSV that nothing acts upon which shows them: neither a spreadsheet nor a terminal."""

from typing import TYPE_CHECKING, Any

from cprsim.basics.errors import printable

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
