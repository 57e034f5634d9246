"""Write docs/reproduction.md and docs/figures/: every picture, with the published numbers.

Run `python -m tools.pages.reproduction`, or `make figures`. The published numbers, and the columns
of the pictures' tables that they are compared with, are in tools/reproduction/.
"""

import csv
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl

from cprsim.basics.files import write_all
from cprsim.figures import save_bytes
from cprsim.report.gallery.registry import PICTURES
from tools.paths import DOCS, FIGURES
from tools.reproduction.lines import HEADS, Line, printed, row, summary, table
from tools.reproduction.sections import APART, SECTIONS
from tools.tables import csv_text

PAGE = DOCS / "reproduction.md"
#: CSV file of every published number; the page links it.
TABLE = DOCS / "reproduction.csv"
#: Rows up to which a section has its table on the page.
_MOST = 10

_INTRO = """\
# Reproduction

Every picture of `cprsim figure`, made of the shipped scenarios, next to the published numbers.
[reproduction.csv](reproduction.csv) has all of them, with the source of each; short tables are on
this page. ± is half of a 95 % interval of a simulated mean. A test recomputes all numbers. CPR is
Maeng et al., MLSys 2021; ECRec is Zhang et al., PVLDB 16(11), 2023; ECRM is its predecessor, arXiv
2104.01981; FT-HSDP is arXiv 2602.00277.

Sources are *stated* in the paper or its abstract; on its *poster*; *recalled* and not checked, with
high, medium or low confidence; *digitised* off a figure, to 0.3 points or minutes; or *derived*
from equations or stated ratios. Roles are:

- *input*: put into the scenario.
- *calibrated*: a constant was fitted to it, so getting it back checks the arithmetic only.
- *prediction*: it follows from inputs and from constants that were fitted to other numbers.
- *check*: the paper's equations at the calibrated costs, not a number of the paper.
- *arithmetic*: derived from the numbers that constants were fitted to. *repeated*: it follows from
  another row. Neither is a prediction.
- *other data*: the paper's aren't public.
"""


def page(lines_of: Mapping[str, Sequence[Line]], cells_of: Mapping[str, Sequence[str]]) -> str:
    """Return the whole page, given the lines of each section and what is measured, in print."""
    shown = (section(name, lines_of.get(name, ()), cells_of.get(name, ())) for name in PICTURES)
    return _INTRO + "".join(
        (*shown, *(apart(name, lines_of[name], cells_of[name]) for name in APART))
    )


def section(name: str, lines: Sequence[Line], cells: Sequence[str]) -> str:
    """Return one picture, what it shows and its table."""
    picture = PICTURES[name]
    of = f" (scenarios/{picture.default})" if picture.default else ""
    paragraphs = [
        f"## `{name}`",
        _filled(f"{picture.explains[0].upper()}{picture.explains[1:]}{of}."),
        f"![{name}](figures/{name}.svg)",
        *([_filled(SECTIONS[name].text)] if name in SECTIONS else []),
        *_compared(lines, cells),
    ]
    return "".join(f"\n{paragraph}\n" for paragraph in paragraphs)


def apart(name: str, lines: Sequence[Line], cells: Sequence[str]) -> str:
    """Return a section without a picture."""
    paragraphs = f"## {name}", _filled(APART[name].text), *_compared(lines, cells)
    return "".join(f"\n{paragraph}\n" for paragraph in paragraphs)


def _compared(lines: Sequence[Line], cells: Sequence[str]) -> Iterator[str]:
    """Yield the table of a section, or how many numbers it has and how far predictions are off.

    Numbers that are put in or follow by arithmetic need no table.
    """
    if len(lines) > _MOST or {line.role for line in lines} == {"input", "arithmetic"}:
        yield _filled(summary(lines, cells))
    elif lines:
        yield table(lines, cells).rstrip("\n")


def rows(lines_of: Mapping[str, Sequence[Line]], cells_of: Mapping[str, Sequence[str]]) -> str:
    """Return the text of `TABLE`."""
    found = [
        (name, *row(line, cell))
        for name in (*SECTIONS, *APART)
        for line, cell in zip(lines_of[name], cells_of[name], strict=True)
    ]
    return csv_text([("section", *HEADS), *found])


def _filled(text: str) -> str:
    """A paragraph in lines of at most 100 letters."""
    return textwrap.fill(
        " ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False
    )


def shown_cells(name: str) -> list[str]:
    """Return what `TABLE` has as measured in the section of that name."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return [each["measured"] for each in csv.DictReader(lines) if each["section"] == name]


def write() -> None:
    """Make every picture and the page, all of it or nothing."""
    mpl.rcdefaults()  # whatever the settings of whoever runs this
    pictures: dict[str, bytes] = {}
    lines_of: dict[str, list[Line]] = {}
    for name, picture in PICTURES.items():
        found: Any = picture.found()
        pictures[f"{name}.svg"] = save_bytes(found.figure(), "svg")
        if name in SECTIONS:
            lines_of[name] = SECTIONS[name].lines(found)
    for name, each in APART.items():
        lines_of[name] = each.lines(each.found())
    cells_of = {
        name: [printed(each.measured) for each in lines] for name, lines in lines_of.items()
    }
    write_all(FIGURES, pictures)
    texts = {PAGE: page(lines_of, cells_of), TABLE: rows(lines_of, cells_of)}
    write_all(DOCS, {path.name: text.encode() for path, text in texts.items()})


if __name__ == "__main__":
    write()
