"""Rows of bars: what each is of, beside it, and the panels that stand on the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cprsim.figures.parts import layout, panels
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT

_GAP: Final = 0.14  # between the labels of two rows, inches


@dataclass(frozen=True, slots=True)
class Label:
    """What a row is of, and in small letters more of it: lines of text."""

    name: list[str]
    facts: list[str]

    @classmethod
    def of(cls, name: str, width_in: float, facts: Sequence[str]) -> "Label":
        """The name wrapped to that width, and lines that fit it."""
        return cls(layout.wrap(name, width_in, TEXT_PT, "bold"), [*facts])

    @property
    def height_in(self) -> float:
        """Inches."""
        return layout.height_in(self.name, TEXT_PT) + layout.height_in(self.facts, SMALL_PT)


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Labelled rows one below the other; `below_in`: room for more below each, inches."""

    labels: Sequence[Label]
    below_in: float = 0.0

    @property
    def _ends_in(self) -> NDArray[np.float64]:
        return np.cumsum([label.height_in + _GAP + self.below_in for label in self.labels])

    @property
    def height_in(self) -> float:
        """Of all, inches."""
        return float(self._ends_in[-1])

    @property
    def middles_in(self) -> list[float]:
        """Of each label, inches from the top of the first row."""
        return [
            float(end_in) - self.below_in - (label.height_in + _GAP) / 2
            for end_in, label in zip(self._ends_in, self.labels, strict=True)
        ]

    def write(self, figure: Figure, at_in: tuple[float, float]) -> None:
        """The labels, to the left of `at_in` and down from there: inches from the top left."""
        right_in, top_in = at_in
        for label, centre_in in zip(self.labels, self.middles_in, strict=True):
            name_in = (right_in, top_in + centre_in - label.height_in / 2)
            panels.head(figure, name_in, label.name, label.facts, ha="right")

    def panel(
        self, figure: Figure, at_in: tuple[float, float], foot_in: float, sharey: Axes | None = None
    ) -> Axes:
        """Axes on these rows, y in inches from the top of the first; `at_in`: left and width."""
        left_in, width_in = at_in
        top_in = figure.get_figheight() - foot_in - self.height_in
        axes = panels.panel(figure, (left_in, top_in), (width_in, self.height_in), sharey)
        axes.set_ylim(self.height_in, 0)
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="x")
        return axes
