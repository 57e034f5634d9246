"""Tables of pages in Markdown, and tables too long for a page as CSV next to it."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path


def markdown(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of a page."""
    cells = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(str, each))} |\n" for each in cells)


def between(text: str, name: str, shown: str) -> str:
    """Return a page with `shown` between its markers `<!-- name -->` and `<!-- end -->`."""
    before, marker, rest = text.partition(f"<!-- {name} -->\n")
    after = rest[rest.index("<!-- end -->") :]
    return f"{before}{marker}\n{shown}\n{after}"


def csv_text(rows: Iterable[Iterable[str]]) -> str:
    """Return rows of cells as the text of a file."""
    return "".join(f"{csv_line(each)}\n" for each in rows)


def csv_line(cells: Iterable[str]) -> str:
    """Return cells as a line of a file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def write_csv(path: Path, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table of cells."""
    path.write_text(csv_text([heads, *rows]), encoding="utf-8")
