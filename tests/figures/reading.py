"""Reading of a rendered figure: its words, and whether each text can be read."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

#: The smallest text that print can bear, points.
LEAST_PT = 7.0


def rendered(figure: Figure) -> Figure:
    """With everything where it comes to lie."""
    FigureCanvasAgg(figure).draw()
    return figure


class Drawn:
    """Draws and lays out pictures, one for each case of a table of arguments; each case once."""

    def __init__(self, draw: Callable[..., Figure], cases: Mapping[str, tuple[Any, ...]]) -> None:
        self.draw, self.cases, self._kept = draw, cases, dict[str, Figure]()

    def anew(self, case: str) -> Figure:
        """Return it drawn again, for what changes a figure, or is drawn in another look."""
        return self.draw(*self.cases[case])

    def __call__(self, case: str) -> Figure:
        if case not in self._kept:
            self._kept[case] = rendered(self.anew(case))
        return self._kept[case]


def texts_of(figure: Figure) -> list[Text]:
    """All texts that can be seen."""
    hidden = {id(text) for axes in figure.axes for text in _hidden(axes)}
    return [
        text
        for text in figure.findobj(lambda a: isinstance(a, Text) and a.get_visible())
        if text.get_text() and id(text) not in hidden
    ]


def _hidden(axes: Axes) -> Iterable[Text]:
    """Labels of ticks beyond the limits, or of axes that are off."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-9 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            inside = low - slack <= tick.get_loc() <= high + slack
            if not axes.axison or not inside:
                yield from (tick.label1, tick.label2)


def plain(text: str) -> str:
    """In one line."""
    return " ".join(text.replace("\u00a0", " ").split())


def words(figure: Figure) -> list[str]:
    """What all texts say, each in one line."""
    return [plain(text.get_text()) for text in texts_of(figure)]


def heading(figure: Figure) -> str:
    """The sentence above the panels."""
    return plain(figure.get_suptitle())


def notes(figure: Figure) -> str:
    """What is said below the panels."""
    return plain(figure.get_supxlabel())


def key(figure: Figure) -> list[str]:
    """The entries of all keys."""
    legends = [each for part in (figure, *figure.subfigs) for each in part.legends]
    legends += [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    return [plain(text.get_text()) for legend in legends for text in legend.get_texts()]


def labels(axis: Axis) -> list[str]:
    """The labels of the major ticks of an axis."""
    return [plain(each.get_text()) for each in axis.get_majorticklabels() if each.get_text()]


def boxes_apart(
    figure: Figure, texts: Sequence[Text] | None = None, least_pt: float = LEAST_PT
) -> dict[Text, Bbox]:
    """The extent of each text (of all, by default): none is cut, too small, or covers another."""
    # That of an annotation would hold its leader, too.
    boxes = {text: Text.get_window_extent(text) for text in texts or texts_of(figure)}
    for text, box in boxes.items():
        assert -1 <= box.x0 < box.x1 <= figure.bbox.x1 + 1, text
        assert -1 <= box.y0 < box.y1 <= figure.bbox.y1 + 1, text
        assert text.get_fontsize() >= least_pt - 1e-9, text
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        common = Bbox.intersection(a, b)
        assert common is None or min(common.width, common.height) < 1.5, (one, other)
    return boxes
