"""What each lever gives back of a job's time, by cause: one after the other, and each alone."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import key, layout, panels, style
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.labels import Label, LabelledRows
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.stack import stack
from cprsim.figures.parts.style import SMALL_PT, WIDTH_IN

# All in inches.
_NAMES: Final = 1.72  # wide
_PANELS: Final = {"together": (1.9, 2.45), "alone": (4.5, 2.4)}  # left edge and width
_BAR: Final = 0.17
_BELOW: Final = 0.145  # from the middle of a bar to that of what is written
_HEADINGS: Final = 0.42
_FOOT: Final = 0.62  # tick labels and the note
_NOTHING: Final = 1e-9  # of the wall clock, and of all updates
_HEADS: Final = {
    "together": (["One after the other"], ["each with all above it"]),
    "alone": (["Each alone"], ["the dashed line: the job as it is"]),
}
_NOTE: Final = (
    "Bars: time lost, % of the wall clock, by cause. In bold: effective training, the rest of it, "
    "and by how many points it is more than in the row above (right: than as it is)."
)


def ladder(table: pd.DataFrame, title: str = "") -> Figure:
    """Time lost with each lever, by cause, in a row a lever.

    Parameters
    ----------
    table
        A row a lever and `way` of pulling it: `"together"`, after all levers above it, first the
        job without any, and `"alone"`, but for that. `lever` is its name, `sets` what it sets;
        `ett` is the share of the wall clock that is training that counts, a column a cause that
        which is lost, `updates_lost` the share of all updates.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide. Its axes are the levers one after the other, and each alone; x as a share of
        the wall clock (1 is 100 %), y in inches from the top.
    """
    with style.styled():
        together = table[table["way"] == "together"]
        alone = table[table["way"] == "alone"]
        head = Heading.of(finding(table), title)
        causes = [cause for cause in CAUSE_LABELS if (table[cause] > _NOTHING).any()]
        names = zip(together["lever"], together["sets"], strict=True)
        labels = [Label.of(name, _NAMES, _lines(sets)) for name, sets in names]
        below_in = 0.05 if (table["updates_lost"] > _NOTHING).any() else 0.0
        rows = LabelledRows(labels, below_in)
        headings_in = head.ends_in + key.causes_height_in(causes)
        rows_in = headings_in + _HEADINGS
        figure = Figure(figsize=(WIDTH_IN, rows_in + rows.height_in + _FOOT))
        head.write(figure)
        key.causes(figure, causes, (MARGIN, head.ends_in))
        rows.write(figure, (MARGIN + _NAMES, rows_in))
        first = together["ett"].iloc[0]
        reach, shared = 1 - table["ett"].min(), None
        for way, shown, gains, middles_in in (
            ("together", together, together["ett"].diff(), rows.middles_in),
            ("alone", alone, alone["ett"] - first, rows.middles_in[1:]),
        ):
            axes = shared = rows.panel(figure, _PANELS[way], _FOOT, sharey=shared)
            stack(axes, shown, causes, middles_in, _BAR)
            _label(axes, _PANELS[way][1], shown, gains.tolist(), middles_in, reach)
            panels.head(figure, (_PANELS[way][0], headings_in), *_HEADS[way])
        axes.axvline(1 - first, color=style.INK, linewidth=1.0, linestyle=(0, (3, 2)), zorder=1.5)
        panels.foot(figure, panels.wrapped([_NOTE]))
    return figure


def finding(table: pd.DataFrame) -> str:
    """From where to where it goes, and which lever gives back most by itself."""
    together, alone = (table[table["way"] == way] for way in ("together", "alone"))
    first, last = together["ett"].iloc[0], together["ett"].iloc[-1]
    most = alone.iloc[int(alone["ett"].argmax())]
    said = f"Effective training goes from {layout.percent(first)} to {layout.percent(last)}"
    if most["ett"] <= first:
        return said
    gain = 100 * (most["ett"] - first)
    return f"{said}; alone, {most['lever']} gives back most: {gain:.1f} points"


def _lines(sets: str) -> list[str]:
    """What a lever sets, in lines that end after a comma where they can."""
    lines = [""]
    for each in sets.split(", "):
        longer = f"{lines[-1]}, {each}".removeprefix(", ")
        if layout.text_width_in(f"{longer},", SMALL_PT) <= _NAMES:
            lines[-1] = longer
        else:
            lines += [each]
    told = [*(f"{line}," for line in lines[:-1] if line), lines[-1]]
    return [part for line in told for part in layout.wrap(line, _NAMES, SMALL_PT)]


def _label(
    axes: Axes,
    width_in: float,
    shown: pd.DataFrame,
    gains: list[float],
    y: list[float],
    reach: float,
) -> None:
    """Effective training and points at the end of each bar, and what it loses beside time below.

    `reach`: of the longest bar of both panels, so that they have one scale.
    """
    shares = [layout.percent(ett) for ett in shown["ett"]]
    points = ["" if np.isnan(gain) else f"{100 * gain:+.1f}" for gain in gains]
    widest = max((f"{a}  {b}" for a, b in zip(shares, points, strict=True)), key=len)
    layout.fit_bars(axes, width_in, np.array([reach]), [widest], reach)
    pad_pt = layout.PAD_PT
    for at, share, gain, ett, lost in zip(
        y, shares, points, shown["ett"], shown["updates_lost"], strict=True
    ):
        beside_pt = pad_pt + 72 * layout.text_width_in(f"{share} ", SMALL_PT, "bold") + 2
        for text, x_pt, weight in ((share, pad_pt, "bold"), (gain, beside_pt, "normal")):
            layout.beside(axes, (1 - ett, at), text, x_pt, 1, weight=weight)
        if lost > _NOTHING:
            text = f"loses {layout.percent(lost)} of the updates"
            layout.beside(axes, (0, at + _BELOW), text, 1, 1, color=style.FAINT_INK)
