"""Write docs/reproduction.md and docs/figures/: every picture beside what is published of it.

Run `python -m tools.pages.reproduction`, or `make figures`. What is published, and which columns
of the pictures' tables stand beside it, is in tools/reproduction/.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl

from cprsim.basics.files import write_all
from cprsim.figures import save_bytes
from cprsim.gallery.registry import PICTURES
from tools.paths import DOCS, FIGURES
from tools.reproduction.lines import HEADS, Line, printed, table
from tools.reproduction.sections import APART, SECTIONS

PAGE = DOCS / "reproduction.md"
_MEASURED = HEADS.index("measured") + 1  # after the empty cell before the first bar

_INTRO = """\
# Reproduction

Every picture of `cprsim figure`, made of the shipped scenarios by `make figures`, and beside it
what is published. The tables are computed from what the pictures draw, ± being half of a 95 %
interval of a simulated mean. A test recomputes them: numbers without ± to the last digit, the
others within their intervals, since random numbers may change.

How certain a published number is stands with its source: *stated* in the paper or its abstract; on
its *poster*; *recalled* from memory and not checked against the text, with high, medium or low
confidence; *digitised* off a figure, to 0.3 points or minutes; *derived*, by the paper's equations
or from ratios that it states. CPR is Maeng et al., MLSys 2021; ECRec is Zhang et al., PVLDB 16(11),
2023; ECRM is its predecessor, arXiv 2104.01981; FT-HSDP is arXiv 2602.00277.

What it means to get it back stands in its role. An *input* was put into the scenario, which proves
nothing. To a *calibrated* number a constant was fitted: getting it back checks the arithmetic, and
is no evidence for the model. A *prediction* follows from inputs and from constants that were fitted
to other numbers. A *check* holds the simulator against the paper's equations at the calibrated
costs, and isn't a number of the paper. *Arithmetic* gives back a number that was itself derived
from those that the constants were fitted to, and *repeated* is what follows by arithmetic from what
another row publishes: neither counts as a prediction. *Other data*: the paper's aren't public. What
was not reproduced stands here with its distance.
"""
_NOTHING = "No number is published for this picture."


def page(lines_of: Mapping[str, Sequence[Line]], cells_of: Mapping[str, Sequence[str]]) -> str:
    """The whole page, given the lines of each picture and what is measured of each, in print."""
    shown = (section(name, lines_of.get(name, ()), cells_of.get(name, ())) for name in PICTURES)
    return _INTRO + "".join(
        (*shown, *(apart(name, lines_of[name], cells_of[name]) for name in APART))
    )


def section(name: str, lines: Sequence[Line], cells: Sequence[str]) -> str:
    """One picture, its source and its table."""
    picture = PICTURES[name]
    of = f", of scenarios/{picture.default}" if picture.default else ""
    paragraphs = [
        f"## `{name}`",
        _filled(f"`cprsim figure {name}`{of}: {picture.explains}."),
        f"![{picture.explains}](figures/{name}.svg)",
        _filled(SECTIONS[name].text if name in SECTIONS else _NOTHING),
        *([table(lines, cells).rstrip("\n")] if lines else []),
    ]
    return "".join(f"\n{paragraph}\n" for paragraph in paragraphs)


def apart(name: str, lines: Sequence[Line], cells: Sequence[str]) -> str:
    """What has no picture."""
    paragraphs = f"## {name}", _filled(APART[name].text), table(lines, cells).rstrip("\n")
    return "".join(f"\n{paragraph}\n" for paragraph in paragraphs)


def _filled(text: str) -> str:
    """A paragraph in lines of at most 100 letters."""
    return textwrap.fill(
        " ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False
    )


def shown_cells(text: str, name: str) -> list[str]:
    """What a page shows as measured in the section of that picture, or of that name."""
    found = re.search(rf"^## `?{name}`?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| .*\|$", found[1] if found else "", re.MULTILINE)
    return [row.split("|")[_MEASURED].strip() for row in rows[2:]]


def write() -> None:
    """Make every picture and the page, all of it or nothing."""
    mpl.rcdefaults()  # whatever the settings of whoever runs this
    pictures: dict[str, bytes] = {}
    lines_of: dict[str, list[Line]] = {}
    for name, picture in PICTURES.items():
        found: Any = picture.found()
        pictures[f"{name}.svg"] = save_bytes(picture.draw(found), "svg")
        if name in SECTIONS:
            lines_of[name] = SECTIONS[name].lines(found)
    for name, each in APART.items():
        lines_of[name] = each.lines(each.found())
    cells_of = {
        name: [printed(each.measured) for each in lines] for name, lines in lines_of.items()
    }
    write_all(FIGURES, pictures)
    write_all(PAGE.parent, {PAGE.name: page(lines_of, cells_of).encode()})


if __name__ == "__main__":
    write()
