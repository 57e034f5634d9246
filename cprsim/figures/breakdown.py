"""Where the time goes under each policy, by cause, and what learning is lost beside it."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from cprsim.figures import style
from cprsim.figures.style import CAUSE_COLOURS, CAUSE_LABELS, SMALL_PT, TEXT_PT, WIDTH_IN
from cprsim.units import format_duration

_RECOVERY: Final = {
    "full": "full recovery",
    "partial": "partial recovery",
    "replica": "recovery from replicas",
}
# All in inches; the figure's height follows from the rows and the title.
_MARGIN: Final = 0.1
_NAMES: Final = 1.9  # where the column of names ends
_TIME: Final = (2.0, 2.95)  # left edge and width
_LEARNING: Final = (5.25, 1.5)
_BAR: Final = 0.24
_GAP: Final = 0.14  # between the names of two policies
_HEADINGS: Final = 0.42
_FOOT: Final = 0.46  # tick labels and the note
_PAD_PT: Final = 4.0


@dataclass(frozen=True)
class _Label:
    """A policy's name, and in small letters what it does; heights in points."""

    name: list[str]
    facts: list[str]

    @property
    def name_pt(self) -> float:
        return len(self.name) * TEXT_PT * style.LINE

    @property
    def height_pt(self) -> float:
        return self.name_pt + len(self.facts) * SMALL_PT * style.LINE


def breakdown(summary: pd.DataFrame, title: str = "") -> Figure:
    """Overhead by cause under each policy, and the portion of lost samples (PLS).

    Parameters
    ----------
    summary
        A row a policy, as in `cprsim.results.Result.summary`; all but `interval_s` are shares: of
        the useful training time the overhead and its causes, of all samples `pls`.
    title
        Stands above, wrapped; none if empty.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide; its height grows with the number of policies. Its axes are the overhead and
        the PLS; their x is in shares of 1, and policy i has y = i.
    """
    with style.styled():
        labels = [_label(str(name), row) for name, row in summary.iterrows()]
        titles = style.wrap(title, WIDTH_IN - 2 * _MARGIN, style.TITLE_PT, "bold")
        causes = [cause for cause in CAUSE_LABELS if (summary[cause] > 0).any()]
        row_in = max(label.height_pt / 72 for label in labels) + _GAP
        title_in = _MARGIN + len(titles) * style.TITLE_PT * style.LINE / 72
        rows_top_in = title_in + (0.3 if causes else 0.1) + _HEADINGS
        height_in = rows_top_in + len(labels) * row_in + _FOOT
        figure = Figure(figsize=(WIDTH_IN, height_in))
        _write(figure, (_MARGIN, _MARGIN), "\n".join(titles), size=style.TITLE_PT, weight="bold")
        _legend(figure, causes, title_in)
        time, learning = _panels(figure, len(labels), row_in)
        bar = _BAR / row_in
        _names(time, labels)
        _stacks(time, summary, causes, bar)
        _totals(time, summary, "overhead", _TIME[1], "0 %")
        learning.barh(range(len(labels)), summary["pls"], bar, color=style.LEARNING_COLOUR)
        _totals(learning, summary, "pls", _LEARNING[1], "none")
        _words(figure, summary, rows_top_in - _HEADINGS)
    return figure


def _label(name: str, row: "pd.Series[Any]") -> _Label:
    interval = format_duration(row["interval_s"])
    saves = "never saves" if interval == "never" else f"saves every {interval}"
    width_in = _NAMES - _MARGIN
    facts = f"{_RECOVERY[row['recovery']]}, {saves}"
    return _Label(style.wrap(name, width_in, TEXT_PT, "bold"), _fold(facts, width_in))


def _fold(facts: str, width_in: float) -> list[str]:
    """On one line, or two that part at the comma."""
    if style.text_width_in(facts, SMALL_PT) <= width_in:
        return [facts]
    return facts.replace(", ", ",\n").split("\n")


def _write(figure: Figure, at_in: tuple[float, float], text: str, **font: Any) -> None:
    """Text with its upper left corner at inches from the upper left corner of the figure."""
    x = at_in[0] / figure.get_figwidth()
    y = 1 - at_in[1] / figure.get_figheight()
    figure.text(x, y, text, ha="left", va="top", linespacing=style.LINE, **font)


def _legend(figure: Figure, causes: list[str], top_in: float) -> None:
    if not causes:
        return
    figure.legend(
        handles=[Patch(color=CAUSE_COLOURS[c], label=CAUSE_LABELS[c]) for c in causes],
        loc="upper left",
        bbox_to_anchor=(_MARGIN / WIDTH_IN, 1 - top_in / figure.get_figheight()),
        ncols=len(causes),
        frameon=False,
        borderpad=0.3,
        borderaxespad=0,
        handlelength=1.1,
        handletextpad=0.4,
        columnspacing=1.1,
    )


def _panels(figure: Figure, rows: int, row_in: float) -> tuple[Axes, Axes]:
    height_in = figure.get_figheight()
    bottom, height = _FOOT / height_in, rows * row_in / height_in
    (left, wide), (right, narrow) = np.asarray([_TIME, _LEARNING]) / WIDTH_IN
    time = figure.add_axes((left, bottom, wide, height))
    learning = figure.add_axes((right, bottom, narrow, height), sharey=time)
    time.set_ylim(rows - 0.5, -0.5)
    for axes, ticks in ((time, 5), (learning, 3)):
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(ticks))
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    return time, learning


def _names(axes: Axes, labels: list[_Label]) -> None:
    for y, label in enumerate(labels):
        top_pt = label.height_pt / 2
        for lines, up_pt, font in (
            (label.name, top_pt, {"weight": "bold"}),
            (label.facts, top_pt - label.name_pt, {"size": SMALL_PT, "color": style.FAINT_INK}),
        ):
            axes.annotate(
                "\n".join(lines),
                (0, y),
                xycoords=("axes fraction", "data"),
                xytext=(-(_TIME[0] - _NAMES) * 72, up_pt),
                textcoords="offset points",
                ha="right",
                va="top",
                linespacing=style.LINE,
                **font,
            )


def _stacks(axes: Axes, summary: pd.DataFrame, causes: list[str], bar: float) -> None:
    """A stack of segments for each policy."""
    left = np.zeros(len(summary))
    for cause in causes:
        width = summary[cause].to_numpy(dtype=np.float64)
        axes.barh(range(len(summary)), width, bar, left, color=CAUSE_COLOURS[cause], label=cause)
        left = left + width
