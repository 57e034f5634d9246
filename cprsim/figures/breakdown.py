"""Where the time goes under each policy, by cause, and what learning is lost beside it."""

import math
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from cprsim.basics.units import format_duration
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import breaks, key, layout, panels, style
from cprsim.figures.parts.heading import Heading, listed
from cprsim.figures.parts.labels import Label, LabelledRows
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.stack import stack
from cprsim.figures.parts.style import SMALL_PT, WIDTH_IN

# All in inches; the figure's height follows from the title and the names.
_NAMES: Final = (MARGIN, 1.9)  # left edge and width
_TIME: Final = (2.1, 2.85)
_LEARNING: Final = (5.25, 1.5)
_BAR: Final = 0.24
_SLIM: Final = 0.09  # the bar below another, with lost updates trained again
_BELOW: Final = 0.185  # from the middle of a bar to that of the slim one
_MORE_GAP: Final = 0.1  # where there are slim ones
_HEADINGS: Final = 0.32
_FOOT: Final = 0.48  # tick labels and the note
_NOTHING: Final = 1e-9  # of all updates
_PALE: Final = 0.6  # white in a slim bar's overhead


def _label(name: str, row: "pd.Series[Any]") -> Label:
    """A policy's name, and in small letters what it does."""
    interval = format_duration(row["interval_s"])
    saves = "never saves" if interval == "never" else f"saves every {interval}"
    facts = f"{row['recovery']} recovery, {saves}"
    return Label.of(name, _NAMES[1], layout.wrap(facts, _NAMES[1], SMALL_PT))


def breakdown(summary: pd.DataFrame, title: str = "") -> Figure:
    """Overhead by cause under each policy, and the share of updates lost for good.

    Below the bar of a policy that loses updates lies a slim one: its overhead if all of them were
    trained again.

    Parameters
    ----------
    summary
        A row a policy, as in `cprsim.runs.result.Result.summary`. `interval_s` is in seconds; the
        overhead, retrained or not, and its causes are shares of the useful training time,
        `updates_lost` is one of all updates.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide; its height grows with the number of policies. Its two axes are the overhead
        and the updates lost, with x as a share (1 is 100 %) and y in inches from the top.
    """
    with style.styled():
        head = Heading.of(finding(summary), title)
        causes = [cause for cause in CAUSE_LABELS if (summary[cause] > 0).any()]
        lossy = np.flatnonzero(summary["updates_lost"] > _NOTHING)
        labels = [_label(str(name), row) for name, row in summary.iterrows()]
        rows = LabelledRows(labels, _MORE_GAP * bool(lossy.size))
        legend_in = head.ends_in
        headings_in = legend_in + (key.causes_height_in(causes) if causes else MARGIN)
        measures = _measures(bool(lossy.size))
        rows_in = headings_in + _HEADINGS + layout.height_in(measures[1:], SMALL_PT)
        figure = Figure(figsize=(WIDTH_IN, rows_in + rows.height_in + _FOOT))
        head.write(figure)
        key.causes(figure, causes, (MARGIN, legend_in))
        y = rows.middles_in
        slim_y = [y[i] + _BELOW for i in lossy]
        rows.write(figure, (sum(_NAMES), rows_in))
        time = rows.panel(figure, _TIME, _FOOT)
        learning = rows.panel(figure, _LEARNING, _FOOT, sharey=time)
        again = summary.iloc[lossy]
        broken = breaks.broken_at(summary[["overhead", "overhead_retrained"]].max(axis=1))
        kept = _kept(summary["overhead"], broken)
        segments, _ = stack(time, summary, causes, y, _BAR, drawn=kept)
        _slim(time, again, slim_y, broken)
        shares, halves = np.concatenate(
            [_intervals(summary, "overhead"), _intervals(again, "overhead_retrained")], axis=1
        )
        limits = layout.label_bars(time, _TIME[1], y + slim_y, shares, halves, "0 %", broken)
        _cut(time, _TIME[1], summary["overhead"], y, _BAR, broken)
        _cut(time, _TIME[1], again["overhead_retrained"], slim_y, _SLIM, broken)
        shares = summary[causes].to_numpy(dtype=np.float64).T.ravel()
        _label_segments(time, segments, shares, np.tile(limits[: len(y)], len(causes)))
        lost, lost_halves = _intervals(summary, "updates_lost")
        lost_broken = breaks.broken_at(lost)
        learning.barh(y, np.minimum(lost, lost_broken), _BAR, color=style.LEARNING_COLOUR)
        layout.label_bars(learning, _LEARNING[1], y, lost, lost_halves, "none", lost_broken)
        _cut(learning, _LEARNING[1], summary["updates_lost"], y, _BAR, lost_broken)
        _explain(figure, headings_in, measures, math.isfinite(min(broken, lost_broken)))
    return figure


def finding(summary: pd.DataFrame) -> str:
    """Who takes the least and the most time, in a sentence; that nobody is clearly the least.

    That is where the least one's interval meets another's. What the least one loses of learning
    is said, too.
    """
    means = summary["overhead"]
    least, most = str(means.idxmin()), str(means.idxmax())
    mine = f"{layout.percent(means[least])} of the time"
    lost = float(summary["updates_lost"][least])
    but = f", but {layout.percent(lost)} of the updates" if lost > _NOTHING else ""
    if len(means) == 1:
        return f"{least} loses {mine}{but}"
    ends = summary["overhead_low"].fillna(means), summary["overhead_high"].fillna(means)
    near = means.index[(ends[0] <= ends[1][least]) & (means.index != least)]
    if len(near) == 0:
        return f"{least} loses {mine}{but}; {most} loses {layout.percent(means[most])}"
    if len(near) == len(means) - 1:
        same = means[most] - means[least] <= _NOTHING
        about = f"all lose {mine}" if same else f"from {mine} under {least}"
        return f"No policy is clearly the least: {about}"
    worst = f"{most} loses {layout.percent(means[most])} of the time"
    among = listed([least, *map(str, near)], 4)
    return f"No policy is clearly the least of {among}; {worst}"


def _slim(axes: Axes, lossy: pd.DataFrame, y: list[float], broken: float) -> None:
    """Overhead, paler, and behind it what training lost updates again would take."""
    pale = style.paler(style.LEARNING_COLOUR, _PALE)
    kept = _kept(lossy["overhead_retrained"], broken)
    by_itself = kept * lossy["overhead"]
    axes.barh(y, by_itself, _SLIM, color=pale)
    axes.barh(y, kept * lossy["updates_lost"], _SLIM, by_itself, color=style.LEARNING_COLOUR)


def _kept(values: "pd.Series[Any]", broken: float) -> NDArray[np.float64]:
    """What share of each bar's length is drawn."""
    lengths = values.to_numpy(dtype=np.float64)
    return np.where(lengths > broken, broken / np.where(lengths > 0, lengths, 1.0), 1.0)


def _cut(
    axes: Axes,
    width_in: float,
    values: "pd.Series[Any]",
    y: list[float],
    high: float,
    broken: float,
) -> None:
    rows = [at for at, value in zip(y, values, strict=True) if value > broken]
    breaks.cut(axes, width_in, rows, high, broken)


def _label_segments(
    axes: Axes,
    segments: list[Rectangle],
    shares: NDArray[np.float64],
    limits: NDArray[np.float64],
) -> None:
    """The value of each segment, inside it, where it fits and ends before its limit in x."""
    share_per_in = axes.get_xlim()[1] / _TIME[1]
    for segment, share, limit in zip(segments, shares, limits, strict=True):
        text = layout.percent(share)
        needed = share_per_in * (layout.text_width_in(text, SMALL_PT) + 2 * layout.PAD_PT / 72)
        x, y = segment.get_center()
        if needed <= segment.get_width() and x + needed / 2 <= limit:
            ink = style.ink_on(segment.get_facecolor())
            axes.text(x, y, text, size=SMALL_PT, color=ink, ha="center", va="center_baseline")


def _intervals(
    summary: pd.DataFrame, measure: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean under each policy, and half the width of its confidence interval."""
    means = summary[measure].to_numpy(dtype=np.float64)
    return means, summary[f"{measure}_high"].to_numpy(dtype=np.float64) - means


def _measures(lossy: bool) -> list[str]:
    """What the bars of time are."""
    again = ["grey, below: if every lost update were trained again"]
    return ["overhead, % of useful training time, by cause", *again * lossy]


def _explain(figure: Figure, top_in: float, measures: list[str], cut: bool) -> None:
    """What the panels show, what ± means, and what cuts are."""
    for (left_in, _), heading, shown in (
        (_TIME, "Time lost", measures),
        (_LEARNING, "Learning lost", ["share of updates lost for good"]),
    ):
        panels.head(figure, (left_in, top_in), [heading], shown)
    notes = []
    if any("±" in text.get_text() for axes in figure.axes for text in axes.texts):
        notes.append("±: 95 % confidence interval of the mean" + "." * cut)
    if cut:
        notes.append(breaks.NOTE)
    if notes:
        panels.foot(figure, [" ".join(notes)])
