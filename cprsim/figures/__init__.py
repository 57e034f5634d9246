"""Pictures: each takes a table of results and gives a `matplotlib.figure.Figure`.

`FIGURES` are those of one run, for `Result.figure`. Pictures of questions, which take runs of their
own, are in `cprsim.report.gallery`. A `title` says of what a picture is: it is the first note
below. One of a single panel can be drawn on axes of a user's own, `ax`.

Nothing here touches pyplot or changes the global rcParams. What a user has set in them (sizes,
fonts, colours) wins over the style of the pictures; `look` sets some of it for a paper.
"""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from cprsim.basics.files import check_writable
from cprsim.basics.schema import nearest
from cprsim.errors import UsageError
from cprsim.figures.bars import breakdown, failures_by_cause, fleet_breakdown
from cprsim.figures.sheet import without_words
from cprsim.figures.style import look, styled, with_dark

__all__ = [
    "FIGURES",
    "FORMATS",
    "check_picture",
    "draw",
    "look",
    "page_bytes",
    "save_bytes",
    "without_words",
]
#: What draws each picture, by its name: called with its table and a title.
FIGURES: Final[dict[str, Callable[[pd.DataFrame, str], Figure]]] = {
    "breakdown": breakdown,
    "causes": failures_by_cause,
    "fleet-breakdown": fleet_breakdown,
}
#: Formats that `save_bytes` writes, each with its metadata: who made the file, and no date.
FORMATS: Final[dict[str, dict[str, str | None]]] = {
    "png": {"Software": "cprsim"},
    "svg": {"Creator": "cprsim", "Date": None},
    "pdf": {"Creator": "cprsim", "CreationDate": None},
}


def draw(name: str, table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the picture of `FIGURES` of that name; raise `UsageError` if there is none."""
    if name not in FIGURES:
        raise UsageError(f"figure {name!r}: there is none of that name; {nearest(name, FIGURES)}")
    return FIGURES[name](table, title)


def page_bytes(figure: Figure) -> bytes:
    """Return the figure as an SVG for a page, which is dark where the reader's pages are."""
    return with_dark(save_bytes(figure, "svg"))


def check_picture(path: Path, option: str = "--plot") -> None:
    """Raise `UsageError`, about `option`, where no picture can be written to `path`."""
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        raise UsageError(f"{option} {path}: a picture's name ends in .{', .'.join(FORMATS)}")
    check_writable(path.parent, option=option)


def save_bytes(figure: Figure, format: str) -> bytes:
    """Return the figure as a file: `"png"`, `"svg"` or `"pdf"`; the same figure, the same bytes.

    Raises
    ------
    UsageError
        For any other format, and if its text leaves no room for anything else.
    """
    if format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {', '.join(FORMATS)}")
    buffer = io.BytesIO()
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied")
        try:
            figure.savefig(buffer, format=format, metadata=dict(FORMATS[format]))
        except UserWarning:
            width_in, height_in = figure.get_size_inches()
            raise UsageError(
                f"the picture has no room left by its text in {width_in:.3g}in x "
                f"{height_in:.3g}in; make it wider or higher"
            ) from None
    return buffer.getvalue()
