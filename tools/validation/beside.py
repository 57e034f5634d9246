"""Tables that are too long for a page stand beside it, as CSV with the digits that are told."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path


def write(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table of cells."""
    path.write_text("".join(f"{line(each)}\n" for each in (head, *rows)), encoding="utf-8")


def line(cells: Iterable[str]) -> str:
    """Cells as a line of the file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of a page."""
    cells = [heads, ["---"] * len(heads), *([str(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(each)} |\n" for each in cells)
