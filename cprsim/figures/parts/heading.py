"""The head of every picture: what it finds, and in small letters of what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.figure import Figure

from cprsim.figures.parts import layout, panels
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import SMALL_PT, TITLE_PT, WIDTH_IN
from cprsim.selection import words

_BELOW: Final = 0.06  # the lines, inches
_SMALL: Final = 0.95  # of the room for small letters, which screens draw a little wider


@dataclass(frozen=True, slots=True)
class Heading:
    """Lines of the finding, and of what it is found in."""

    finding: list[str]
    about: list[str]

    @classmethod
    def of(cls, finding: str, about: str = "") -> "Heading":
        """Both wrapped to the figure's width; where nothing is found, `about` is the title."""
        if not finding:
            finding, about = about, ""
        room_in = WIDTH_IN - 2 * MARGIN
        return cls(
            layout.wrap(finding, room_in, TITLE_PT, "bold"),
            layout.wrap(about, _SMALL * room_in, SMALL_PT),
        )

    @property
    def ends_in(self) -> float:
        """Where it ends, inches from the figure's upper edge."""
        high_in = layout.height_in(self.finding, TITLE_PT) + layout.height_in(self.about, SMALL_PT)
        return MARGIN + high_in + (_BELOW if self.about else 0.0)

    def write(self, figure: Figure) -> None:
        """At the figure's head."""
        below_in = layout.write(figure, (MARGIN, MARGIN), self.finding, TITLE_PT, weight="bold")
        panels.note(figure, (MARGIN, below_in), self.about)


def listed(names: Sequence[str], most: int = 3) -> str:
    """Names in words: `"a, b and c"`; beyond `most` the others are counted."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return words.listed(names) if names else ""
