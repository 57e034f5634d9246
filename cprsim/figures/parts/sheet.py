"""The sheet of a picture: its panels, the sentence above them, the key and the notes.

Matplotlib's constrained layout finds the places; the sheet only grows until its panels are as high
as they are to be.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.typing import ColorType

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import style, texts

_NEAR_IN: Final = 0.01
_EDGE_IN: Final = 0.06  # from the left edge to the words above and below the panels
_HANDLE: Final = 7  # letters that the sample of an entry of the key takes, and the gaps around it


class Entry(NamedTuple):
    """What a line or a marker is: looks that lie over each other, its name, and more of it."""

    looks: Sequence[dict[str, Any]]
    words: str
    facts: str = ""


def square(colour: ColorType) -> dict[str, Any]:
    """Return the look of a square of that colour, for a key."""
    look = {"marker": "s", "markersize": 8.0, "markeredgewidth": 0, "linestyle": "none"}
    return look | {"color": colour}


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
        self.narrow = ax is not None or style.is_narrow()
        self.columns = 1 if self.narrow else columns or count
        self.rows = -(-count // self.columns)
        if ax is not None:
            self.figure: Figure = ax.figure  # type: ignore[assignment]  # the one it belongs to
            self.axes = [ax]
            return
        if self.narrow:
            grid.pop("width_ratios", None)
        size_in = style.size_in()[0], 3 * self.rows + 3
        self.figure = Figure(figsize=size_in, layout="constrained")
        inner: Any = self.figure.subfigures()
        self._inner = inner
        found = list(inner.subplots(self.rows, self.columns, squeeze=False, **grid).flat)
        self.axes, self._spare = found[:count], found[count:]
        for axes in self._spare:
            axes.set_axis_off()

    @property
    def first_column(self) -> list[Axes]:
        """The axes left of which no others are."""
        return self.axes[:: self.columns]

    def key(self, entries: Iterable[Entry], *, below: bool = False) -> None:
        """Say what each line is, right of the panels, or below them; below where it is narrow."""
        letters = 44 if self.narrow else 60 if below else 30
        handles, labels = [], []
        for looks, *words in entries:
            handles.append(tuple(Line2D([], [], **look) for look in looks))
            labels.append(texts.wrapped(": ".join(filter(None, words)), letters))
        if self._given is None and self._spare and not below:
            self._spare[0].legend(handles, labels, loc="upper left", handler_map=_OVERLAID)
        elif below or self.narrow:
            self._in_rows(handles, labels, "lower left")
        else:
            self._inner.legend(handles, labels, loc="outside right upper", handler_map=_OVERLAID)

    def causes(self, names: Sequence[str]) -> None:
        """Say above the panels which cause of lost time has which colour."""
        patches = [Patch(color=style.cause_colour(name)) for name in names]
        self.patches(patches, [CAUSE_LABELS[name] for name in names])

    def patches(self, patches: Sequence[Artist], labels: Sequence[str]) -> None:
        """Say above the panels what each patch is."""
        if patches:
            self._in_rows(patches, labels, "upper left")

    def _in_rows(self, handles: Sequence[Any], labels: Sequence[str], where: str) -> None:
        """Write a key above or below the panels, as many entries in a row as have room."""
        if self._given is not None:
            self._given.legend(handles, labels, handler_map=_OVERLAID)
            return
        letters = [_HANDLE + max(map(len, label.split("\n"))) for label in labels]
        room = 72 * self.figure.get_figwidth() / (0.9 * texts.LETTER * style.small_pt())
        columns = len(labels) if sum(letters) <= room else max(1, int(room / max(letters)))
        place = f"outside {where}"
        self._inner.legend(handles, labels, loc=place, ncols=columns, handler_map=_OVERLAID)

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
        width_in = self.figure.get_figwidth()
        title, *foot = [text for text in (finding, about, *notes) if text] or [""]
        placed: dict[str, Any] = {"x": _EDGE_IN / width_in, "ha": "left"}
        written = [self.figure.suptitle(title, **placed)]
        if foot:
            words = ". ".join(each.rstrip(".") for each in foot)
            written.append(self.figure.supxlabel(words, color=style.FAINT_INK, **placed))
        for text in written:
            letters = 72 * (width_in - 2 * _EDGE_IN) / (texts.LETTER * float(text.get_fontsize()))
            found = texts.lines(text.get_text(), int(letters), text.get_fontproperties())
            text.set_text("\n".join(found))
        self._fit(height_in)
        return self.figure

    def _fit(self, height_in: float) -> None:
        """Make the figure so high that all rows of panels together have their height."""
        _, whole_in = style.size_in()
        if whole_in is not None:
            self.figure.set_figheight(whole_in)
            return
        for _ in range(3):
            place(self.figure)
            have_in = sum(axes.bbox.height for axes in self.first_column) / self.figure.dpi
            short_in = self.rows * height_in - have_in
            if abs(short_in) < _NEAR_IN:
                return
            self.figure.set_figheight(self.figure.get_figheight() + short_in)


#: Looks of an entry lie over each other.
_OVERLAID: Final = {tuple: HandlerTuple(ndivide=1)}


def place(figure: Figure) -> None:
    """Let matplotlib find the places of all parts of a figure, without drawing them."""
    figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]  # a sheet has one


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
