"""The look of a result in a notebook: its kind, a table, and sentences below it."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


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
