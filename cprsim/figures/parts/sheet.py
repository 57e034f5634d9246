"""The sheet of a picture: its panels, the sentence above them, the key and the notes.

Matplotlib's constrained layout finds the places; the sheet only grows until its panels are as high
as they are to be.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import style, texts

_EDGE_IN: Final = 0.06  # from the left edge to the words above and below the panels
_NEAR_IN: Final = 0.01
_FULL: Final = 0.94  # of a line of words: readers of an SVG may have a wider font
#: Letters of a line of the key: right of the panels, below them, below them in a narrow figure.
_KEY_LETTERS: Final = (30, 60, 44)


class Entry:
    """What a line or a marker is: looks that lie over each other, its name, and more of it."""

    def __init__(self, looks: Sequence[dict[str, Any]], words: str, facts: str = "") -> None:
        self.looks, self.words, self.facts = looks, words, facts

    def label(self, letters: int) -> str:
        """Return name and facts in lines of so many letters."""
        return "\n".join(texts.lines(": ".join(filter(None, (self.words, self.facts))), letters))


class Sheet:
    """A figure with panels of one size, or the one axes that a user gave.

    Parameters
    ----------
    count
        How many panels there are.
    columns
        How many of them are side by side, by default all; they are one below the other where the
        figure is narrow. The key is where a last row has room.
    ax
        Axes of a user's own to draw on, instead of a new figure's; for one panel.
    grid
        More for `matplotlib.figure.Figure.subplots`.
    """

    def __init__(
        self, count: int = 1, columns: int | None = None, *, ax: Axes | None = None, **grid: Any
    ) -> None:
        self._given = ax
        self._spare: list[Axes] = []
        if ax is not None:
            self.figure: Figure = ax.figure  # type: ignore[assignment]  # the one it belongs to
            self.narrow, self.axes, self.rows, self.columns = True, [ax], 1, 1
            return
        width_in, _ = style.size_in()
        self.narrow = style.is_narrow()
        self.columns = 1 if self.narrow else columns or count
        self.rows = -(-count // self.columns)
        if self.narrow:
            grid.pop("width_ratios", None)
        self.figure = Figure(figsize=(width_in, 3 * self.rows + 3), layout="constrained")
        inner: Any = self.figure.subfigures()
        self._inner = inner
        found = list(self._inner.subplots(self.rows, self.columns, squeeze=False, **grid).flat)
        self.axes, self._spare = found[:count], found[count:]
        for axes in self._spare:
            axes.set_axis_off()

    @property
    def last_column(self) -> list[Axes]:
        """The axes right of which no others are."""
        return [each for i, each in enumerate(self.axes) if (i + 1) % self.columns == 0]

    @property
    def first_column(self) -> list[Axes]:
        """The axes left of which no others are."""
        return self.axes[:: self.columns]

    def key(self, entries: Iterable[Entry], where: str = "right upper") -> None:
        """Say what each line is, right of the panels; below them where the figure is narrow."""
        letters = _KEY_LETTERS[2 if self.narrow else where != "right upper"]
        handles = [tuple(Line2D([], [], **look) for look in each.looks) for each in entries]
        labels = [each.label(letters) for each in entries]
        self._legend(handles, labels, where)

    def _legend(self, handles: Sequence[Any], labels: Sequence[str], where: str) -> None:
        if not handles:
            return
        look: dict[str, Any] = {
            "handler_map": {tuple: HandlerTuple(ndivide=1)},
            "handlelength": 2.2,
            "labelspacing": 0.6,
            "borderaxespad": 0.2,
        }
        if self._given is not None:
            self._given.legend(handles, labels, **look)
        elif self._spare and where == "right upper":
            self._spare[0].legend(handles, labels, loc="upper left", **look)
        elif where == "right upper" and not self.narrow:
            self._inner.legend(handles, labels, loc=f"outside {where}", **look)
        else:
            where = "lower left" if where == "right upper" else where
            self._in_rows(handles, labels, f"outside {where}", **look)

    def _in_rows(
        self, handles: Sequence[Any], labels: Sequence[str], where: str, **look: Any
    ) -> None:
        """As many entries in a row as fit into the figure."""
        for columns in range(len(handles), 0, -1):
            found: Legend = self._inner.legend(
                handles, labels, loc=where, ncols=columns, columnspacing=1.1, **look
            )
            if found.get_window_extent().width <= self.figure.bbox.width or columns == 1:
                return
            found.remove()

    def causes(self, names: Sequence[str]) -> None:
        """Say above the panels which cause of lost time has which colour."""
        patches = [Patch(color=style.cause_colour(name)) for name in names]
        self.patches(patches, [CAUSE_LABELS[name] for name in names])

    def patches(self, patches: Sequence[Artist], labels: Sequence[str]) -> None:
        """Say above the panels what each patch is."""
        self._legend(patches, labels, "upper left")

    def done(
        self, finding: str, about: str = "", notes: Iterable[str] = (), height_in: float = 2.5
    ) -> Figure:
        """Write what is found above and the notes below, and fit the height.

        Parameters
        ----------
        finding
            A sentence; where it is empty, `about` is the title.
        about
            Of what: the first of the notes.
        notes
            How to read the picture.
        height_in
            Of each panel, unless the user has set a height of the figure.
        """
        if self._given is not None:
            return self.figure
        left = _EDGE_IN / self.figure.get_figwidth()
        title, *foot = [text for text in (finding, about, *notes) if text] or [""]
        placed: dict[str, Any] = {"x": left, "ha": "left"}
        written = [self.figure.suptitle(title, **placed)]
        if foot:
            words = ". ".join(each.rstrip(".") for each in foot)
            written.append(self.figure.supxlabel(words, color=style.FAINT_INK, **placed))
        room_pt = 72 * _FULL * (self.figure.get_figwidth() - 2 * _EDGE_IN)
        for text in written:
            text.set_text(texts.filled(text.get_text(), room_pt, text.get_fontproperties()))
        self._fit(height_in)
        return self.figure

    def _fit(self, height_in: float) -> None:
        """Make the figure so high that all rows of panels together have their height."""
        _, whole_in = style.size_in()
        if whole_in is not None:
            self.figure.set_figheight(whole_in)
            return
        for _ in range(4):
            place(self.figure)
            have_in = sum(axes.bbox.height for axes in self.first_column) / self.figure.dpi
            short_in = self.rows * height_in - have_in
            if abs(short_in) < _NEAR_IN:
                return
            self.figure.set_figheight(self.figure.get_figheight() + short_in)


def place(figure: Figure) -> None:
    """Let matplotlib find the places of all parts of a figure, without drawing them."""
    engine = figure.get_layout_engine()
    if engine is None:
        figure.draw_without_rendering()
    else:
        engine.execute(figure)


def without_words(figure: Figure) -> list[str]:
    """Take the sentence above the panels and the notes below off a figure.

    It gets lower by their height, unless the user has set its height. Returns what they said, words
    for a caption.
    """
    place(figure)
    words = [" ".join(text.get_text().split()) for text in figure.texts]
    saved_in = sum(text.get_window_extent().height for text in figure.texts) / figure.dpi
    for text in figure.texts:
        text.set_text("")
    if style.size_in()[1] is None:
        figure.set_figheight(figure.get_figheight() - saved_in)
    return words


def spread(at: Sequence[float], least: float) -> list[float]:
    """Return values at least so far apart, in the same order and as near as can be."""
    order = np.argsort(at, kind="stable")
    found = np.asarray(at, dtype=np.float64)[order]
    for _ in range(200):
        gaps = least - np.diff(found)
        if (gaps <= 1e-12).all():
            break
        push = np.clip(gaps, 0, None) / 2
        found[:-1] -= push
        found[1:] += push
    result = np.empty_like(found)
    result[order] = found
    return [float(each) for each in result]
