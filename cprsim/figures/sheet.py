"""The sheet of a picture: its panels, the sentence above them, the key and the notes.

Matplotlib's constrained layout finds the places.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures import style, texts

_EDGE_IN: Final = 0.06  # from the left edge to the words above and below the panels
_HANDLE: Final = 7  # letters that the sample of an entry of the key takes, and the gaps around it
_NEAR_IN: Final = 0.01


class Sheet:
    """A figure with panels of one size, or the one axes that a user gave.

    `count`: how many panels there are. `columns`: how many of them are side by side, by default
    all; they are one below the other where the figure is narrow. `ax`: axes of a user's own to draw
    on, instead of a new figure's; for one panel. `y`: the label of the vertical axes, left of the
    first ones. `grid`: more for `matplotlib.figure.Figure.subplots`.
    """

    def __init__(
        self,
        count: int = 1,
        columns: int | None = None,
        *,
        ax: Axes | None = None,
        y: str = "",
        **grid: Any,
    ) -> None:
        self.narrow = ax is not None or style.is_narrow()
        self.columns = 1 if self.narrow else columns or count
        self.rows = -(-count // self.columns)
        self._given, self._spare = ax, list[Axes]()
        if ax is not None:
            self.figure: Figure = ax.figure  # type: ignore[assignment]  # the one it belongs to
            self.axes = [ax]
        else:
            if self.narrow:
                grid.pop("width_ratios", None)
            size_in = style.size_in()[0], 3 * self.rows + 3
            self.figure = Figure(figsize=size_in, layout="constrained")
            # So that keys are within the words, which are those of the whole figure.
            inner: Any = self.figure.subfigures()
            self._inner = inner
            found = list(inner.subplots(self.rows, self.columns, squeeze=False, **grid).flat)
            self.axes, self._spare = found[:count], found[count:]
            for axes in self._spare:
                axes.set_axis_off()
        for axes in self.axes[:: self.columns]:
            axes.set_ylabel(y)

    def done(
        self,
        finding: str,
        about: str = "",
        notes: Iterable[str] = (),
        height_in: float = 2.5,
        key: Literal["above", "below", "right"] = "right",
    ) -> Figure:
        """Write what is found above, the key and the notes, and fit the height.

        `finding`: a sentence; where it is empty, `about` is the title. `about`: of what: the first
        of the notes. `notes`: how to read the picture. `height_in`: of each panel, unless the user
        has set a height of the figure. `key`: where to say what everything is that was drawn with a
        label; instead of right, below where the figure is narrow, and in the last row where that
        has room.
        """
        self._key("below" if self.narrow and key == "right" else key)
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
            text.set_text(texts.wrapped(text.get_text(), int(letters)))
        self._fit(height_in)
        return self.figure

    def _key(self, where: str) -> None:
        """Say what everything is that was drawn with a label, but for axes with their own key."""
        found: dict[str, Any] = {}
        for axes in (each for each in self.axes if each.get_legend() is None):
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                found.setdefault(label, handle)
        if not found:
            return
        most = {"above": 44, "below": 44 if self.narrow else 60, "right": 30}[where]
        labels = [texts.wrapped(label, most) for label in found]
        # How many entries have room side by side: all of them, or columns as wide as the widest.
        letters = [_HANDLE + max(map(len, label.split("\n"))) for label in labels]
        room = 72 * self.figure.get_figwidth() / (0.9 * texts.LETTER * style.small_pt())
        columns = len(labels) if sum(letters) <= room else max(1, int(room / max(letters)))
        if self._given is not None:
            self._given.legend(found.values(), labels)
        elif self._spare and where == "right":
            self._spare[0].legend(found.values(), labels, loc="upper left")
        elif where == "right":
            self._inner.legend(found.values(), labels, loc="outside right upper")
        else:
            loc = "outside upper left" if where == "above" else "outside lower left"
            self._inner.legend(found.values(), labels, loc=loc, ncols=columns)

    def _fit(self, height_in: float) -> None:
        """Make the figure so high that all rows of panels together have their height."""
        _, whole_in = style.size_in()
        if whole_in is not None:
            self.figure.set_figheight(whole_in)
            return
        for _ in range(3):
            self.figure.get_layout_engine().execute(self.figure)  # type: ignore[union-attr]
            have_in = sum(axes.bbox.height for axes in self.axes[:: self.columns]) / self.figure.dpi
            short_in = self.rows * height_in - have_in
            if abs(short_in) < _NEAR_IN:
                return
            self.figure.set_figheight(self.figure.get_figheight() + short_in)


def without_words(figure: Figure) -> list[str]:
    """Take the sentence above the panels and the notes below off a figure.

    It gets lower by their height, unless the user has set its height. Returns what they said, words
    for a caption.
    """
    if style.size_in()[1] is None:
        figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]  # a sheet has one
        saved_in = sum(text.get_window_extent().height for text in figure.texts) / figure.dpi
        figure.set_figheight(figure.get_figheight() - saved_in)
    words = [" ".join(text.get_text().split()) for text in figure.texts]
    for text in figure.texts:
        text.set_text("")
    return words
