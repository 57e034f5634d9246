"""Rows of candidates: their names, what is set, and a mark beside those that stand out."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import layout, panels, style
from cprsim.figures.parts.style import SMALL_PT, TEXT_PT, WIDTH_IN

# All in inches.
_MARGIN: Final = 0.1
_NAMES: Final = (0.68, 1.62)  # left edge and width
_AT: Final = 0.09  # from the top of a row to the middle of its bar
_GAP: Final = 0.09  # between rows
_ROW: Final = 0.3  # height of one at least
_OVER: Final = 0.3  # the heading of those over a bound

#: What a mark beside a name means.
_MARKS: Final = {
    "chosen": "{} of those that keep to the bounds",
    "same": "differs from it in no replication",
    "tied": "not surely worse",
    "open": "more replications may tell",
    "bound?": "may be over a bound",
}
#: What is least of the chosen one.
_LEAST: Final = {
    "overhead": "the least time",
    "machine_overhead": "the least machine time",
    "cost": "the least cost",
    "overhead_retrained": "the least time with lost updates trained again",
}


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """Where a candidate stands, and what is written of it: lines of text."""

    top_in: float
    name: list[str]
    facts: list[str]

    @property
    def at(self) -> float:
        """The middle of its bar, inches from the top of the panel."""
        return self.top_in + _AT

    @property
    def height_in(self) -> float:
        """Of its text, and of its bar."""
        words_in = layout.height_in(self.name, TEXT_PT) + layout.height_in(self.facts, SMALL_PT)
        return max(_ROW, words_in)


def rows_of(shown: pd.DataFrame) -> list[CandidateRow]:
    """Where each candidate stands, those over a bound under a heading."""
    rows: list[CandidateRow] = []
    top_in = 0.0
    over = False
    for name, row in shown.iterrows():
        if row["standing"] == "over" and not over:
            over, top_in = True, top_in + _OVER
        words = layout.wrap(str(name), _NAMES[1], TEXT_PT, "bold")
        rows.append(CandidateRow(top_in, words, _packed(str(row["settings"]))))
        top_in += rows[-1].height_in + _GAP
    return rows


def write_names(
    figure: Figure, top_in: float, shown: pd.DataFrame, rows: list[CandidateRow]
) -> None:
    """Write the names, settings and marks of rows that begin `top_in` from the top."""
    right_in = sum(_NAMES)
    over = False
    for (_, row), place in zip(shown.iterrows(), rows, strict=True):
        at_in = top_in + place.top_in
        ink = style.INK
        if row["standing"] == "over":
            ink = style.FAINT_INK
            if not over:
                words = "Over a bound"
                layout.write(
                    figure, (_MARGIN, at_in - 0.75 * _OVER), [words], TEXT_PT, weight="bold"
                )
                over = True
        below_in = layout.write(
            figure, (right_in, at_in), place.name, TEXT_PT, weight="bold", ha="right", color=ink
        )
        panels.note(figure, (right_in, below_in), place.facts, ha="right")
        _write_mark(figure, at_in + _AT, mark(row))


def mark(row: "pd.Series[Any]") -> str:
    """The word beside a candidate's name; empty for most."""
    standing = str(row["standing"])
    return standing if standing in _MARKS else "" if row["sure"] else "bound?"


def marks(shown: pd.DataFrame, least: str) -> str:
    """What the marks mean that there are."""
    there = {mark(row) for _, row in shown.iterrows()}
    words = (f"{word}: {_MARKS[word].format(_LEAST[least])}" for word in _MARKS if word in there)
    return "; ".join(words)


def _packed(settings: str) -> list[str]:
    """Lines of settings, none of which is parted if it fits into one."""
    lines: list[str] = []
    for setting in settings.split(", "):
        longer = f"{lines[-1]}, {setting}" if lines else setting
        if lines and layout.text_width_in(longer, SMALL_PT) <= _NAMES[1]:
            lines[-1] = longer
        else:
            lines.append(setting)
    return [part for line in lines for part in layout.wrap(line, _NAMES[1], SMALL_PT)]


def _write_mark(figure: Figure, at_in: float, word: str) -> None:
    if word:
        filled = word == "chosen"
        figure.text(
            (_MARGIN + 0.03) / WIDTH_IN,
            1 - at_in / figure.get_figheight(),
            word,
            size=SMALL_PT,
            color="white" if filled else style.INK,
            va="center_baseline",
            bbox={
                "boxstyle": "round,pad=0.2",
                "facecolor": style.INK if filled else "white",
                "edgecolor": style.INK,
                "linewidth": 0.7,
                "linestyle": "--" if word in ("open", "bound?") else "-",
            },
        )
