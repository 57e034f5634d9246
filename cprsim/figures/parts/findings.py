"""A panel that shows one thing: a sentence and what draws it."""

from collections.abc import Callable
from typing import Final, NamedTuple

from matplotlib.axes import Axes

from cprsim.figures.parts import style, texts

_LETTERS: Final = (32, 27)  # of a line of the sentence, and in a narrow figure


class Finding(NamedTuple):
    """A panel: the sentence above it, and what draws it and names its axes."""

    says: str
    draw: Callable[[Axes], None]

    def put(self, axes: Axes) -> None:
        """Draw it on axes."""
        axes.set_title("\n".join(texts.lines(self.says, _LETTERS[style.is_narrow()])))
        self.draw(axes)
