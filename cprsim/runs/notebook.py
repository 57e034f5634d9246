"""A result in a notebook: its look, and its table as labelled arrays of xarray (an extra)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import util
from typing import TYPE_CHECKING, Any

from cprsim.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import xarray


def notebook_html(
    title: str,
    head: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    notes: Iterable[str] = (),
) -> str:
    """A piece of HTML without scripts or styles; the first cell of a row names it."""
    top = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(_row(row) for row in rows)
    below = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f"<div><strong>{escape(title)}</strong><br>{escape(head)}"
        f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
        f"{f'<ul>{below}</ul>' if below else ''}</div>"
    )


def between(row: Any, measure: str) -> str:
    """Return the ends of an interval in percent; empty where it isn't known."""
    low, high = percent(row[f"{measure}_low"]), percent(row[f"{measure}_high"])
    return f"{low} to {high}" if low and high else ""


def percent(share: float) -> str:
    """A share in percent, as a table has it; nothing for what is no number."""
    return "" if math.isnan(share) else f"{100 * share:.2f}"


def _row(cells: Sequence[str]) -> str:
    first, *others = map(escape, cells)
    return f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>"


def dataset(
    table: "pd.DataFrame", dimensions: Mapping[str, Any], attributes: Mapping[str, Any]
) -> "xarray.Dataset":
    """A variable a column, over the columns that are `dimensions`, each with all its values.

    Not a number where the table has no row.

    Raises
    ------
    UsageError
        Where xarray is not installed.
    """
    if util.find_spec("xarray") is None:
        raise UsageError(
            'xarray is not installed, and to_xarray needs it: pip install "cprsim[xarray]"'
        )
    labelled = table.set_index(list(dimensions)).to_xarray()
    return labelled.reindex(dimensions).assign_attrs(attributes)
