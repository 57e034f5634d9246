"""What the tests of all pictures look at."""

import itertools
from collections.abc import Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from cprsim.figures.parts.style import SMALL_PT


def rendered(figure: Figure) -> Figure:
    """With everything where it comes to lie."""
    FigureCanvasAgg(figure).draw()
    return figure


def texts_of(figure: Figure) -> list[Text]:
    """All texts that can be seen."""
    return figure.findobj(lambda a: isinstance(a, Text) and a.get_visible() and a.get_text())


def words(figure: Figure) -> list[str]:
    """What those say."""
    return [text.get_text() for text in texts_of(figure)]


def boxes_apart(figure: Figure, texts: Sequence[Text] | None = None) -> dict[Text, Bbox]:
    """The extent of each text (of all, by default): none is cut, too small, or covers another."""
    boxes = {text: text.get_window_extent() for text in texts or texts_of(figure)}
    for text, box in boxes.items():
        assert 0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert 0 <= box.y0 < box.y1 <= figure.bbox.y1, text
        assert text.get_fontsize() >= SMALL_PT, text
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        assert Bbox.intersection(a, b) is None, (one, other)
    return boxes
