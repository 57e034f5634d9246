"""Panels side by side, curves of policies in them and a key beside: what several pictures share."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from cprsim.figures.parts import key, layout, style, ticks
from cprsim.figures.parts import panels as parts
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.panels import MARGIN
from cprsim.figures.parts.style import SMALL_PT, WIDTH_IN

# In inches.
_LEFT: Final = 0.62
_BETWEEN: Final = 0.22
_BESIDE: Final = 0.25  # from the panels to the key
_HEADINGS: Final = 0.42
_AXIS: Final = 0.5  # tick labels and what the axis is
_ROW_NAME: Final = 0.27  # above a row of panels that has a name
_ROW_ABOVE: Final = 0.1  # of that, free above the name

_LEAST_DECADES: Final = 0.5  # of a log axis of shares
_ROOM: Final = 1.25  # beyond the outermost values of a log axis
_OTHER: Final = style.LEARNING_COLOUR  # systems of other packages, and any system

#: Overheads in a table of `estimates`.
ESTIMATES: Final = ["first_order", "overhead", "overhead_low", "overhead_high"]

Floats = NDArray[np.float64]


class Panel(NamedTuple):
    """What a panel shows, how that is measured, and what its x axis is."""

    what: str
    measure: str
    x: str


class Frame(NamedTuple):
    """A figure with its panels, all `width_in` x `height_in`, and where its key begins, inches."""

    figure: Figure
    axes: list[Axes]
    width_in: float
    height_in: float
    key_in: tuple[float, float]


def ends_of(table: pd.DataFrame, x: str) -> str:
    """What each policy's overhead is at both ends of x, of the one that ends highest and lowest."""
    first, last = table[x].min(), table[x].max()
    there = table[table[x] == last].groupby("policy", sort=False)["overhead"].mean()
    told = []
    for name in dict.fromkeys((there.idxmax(), there.idxmin())):
        rows = table[table["policy"] == name].set_index(x)["overhead"]
        told.append(
            f"from {layout.percent(rows.loc[[first]].iloc[0])} to "
            f"{layout.percent(rows.loc[[last]].iloc[0])} under {name}"
        )
    return ", ".join(told)


class Entry(NamedTuple):
    """Of a key: lines or markers that lie over each other, their name, and facts."""

    samples: list[dict[str, Any]]
    words: str
    facts: str = ""


def frame(
    head: Heading,
    panels: Sequence[Panel],
    right_in: float,
    height_in: float,
    rows: Sequence[str] = ("",),
) -> Frame:
    """Empty panels that end at `right_in` inches and share y, under a head and their headings.

    `rows`: what each row of them is, if there are more than one; the axes are row by row.
    """
    top_in = head.ends_in + MARGIN
    above_in = _ROW_NAME if any(rows) else 0.0
    whole_in = top_in + _HEADINGS + len(rows) * (above_in + height_in) + _AXIS
    figure = Figure(figsize=(WIDTH_IN, whole_in))
    head.write(figure)
    width_in = (right_in - _LEFT - (len(panels) - 1) * _BETWEEN) / len(panels)
    lefts_in = [_LEFT + i * (width_in + _BETWEEN) for i in range(len(panels))]
    for left_in, panel in zip(lefts_in, panels, strict=True):
        parts.head(figure, (left_in, top_in), [panel.what], [panel.measure])
    axes: list[Axes] = []
    for j, name in enumerate(rows):
        row_in = top_in + _HEADINGS + j * (above_in + height_in)
        lines = layout.wrap(name, right_in - _LEFT, SMALL_PT, "bold")[:1]
        layout.write(figure, (_LEFT, row_in + _ROW_ABOVE), lines, SMALL_PT, weight="bold")
        for left_in, panel in zip(lefts_in, panels, strict=True):
            at_in, size_in = (left_in, row_in + above_in), (width_in, height_in)
            axes.append(parts.panel(figure, at_in, size_in, axes[0] if axes else None))
            lowest = j == len(rows) - 1
            axes[-1].set_xlabel(panel.x if lowest else "")
            axes[-1].grid()
            axes[-1].tick_params(labelleft=panel is panels[0], labelbottom=lowest)
    return Frame(figure, axes, width_in, height_in, (right_in + _BESIDE, top_in))


def write_key(to: Frame, entries: Sequence[Entry]) -> None:
    """Say what each line is, beside the panels."""
    left_in, top_in = to.key_in
    for samples, words, facts in entries:
        lines = [Line2D([], [], **look) for look in samples]
        top_in = key.entry(to.figure, (left_in, top_in), lines, words, facts, bold=True)


def line(system: str, nth: int = 0) -> dict[str, Any]:
    """How the line of a system's nth policy looks: the first is whole, others are dashed.

    SCAR's is always dashed: MFU's, which it mostly covers, shows through.
    """
    dashes = ("-", (0, style.LAW_DASHES["weibull"]), (0, style.LAW_DASHES["exponential"]))
    return {
        "color": style.SYSTEM_COLOURS.get(system, _OTHER),
        "linewidth": 1.3,
        "linestyle": dashes[min(nth + (system == "cpr-scar"), len(dashes) - 1)],
    }


def points(system: str, *, hollow: bool = False) -> dict[str, Any]:
    """How the points of a system look."""
    colour = style.SYSTEM_COLOURS.get(system, _OTHER)
    return {
        "color": colour,
        "linestyle": "none",
        "marker": style.SYSTEM_MARKERS.get(system, "o"),
        "markersize": 4.5 if hollow else 3.8,
        "markeredgewidth": 0.9 if hollow else 0.0,
        "markerfacecolor": "white" if hollow else colour,
        "clip_on": False,
    }


def by_policy(table: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Name, system and rows of each policy, in the table's order."""
    for (policy, system), rows in table.groupby(["policy", "system"], sort=False):
        yield str(policy), str(system), rows


def with_whiskers(axes: Axes, rows: pd.DataFrame, x: str, y: str, look: dict[str, Any]) -> None:
    """Points with the 95 % intervals `_low` to `_high`, where there are any, of x and y."""
    errors: dict[str, Floats] = {}
    for name, column in (("xerr", x), ("yerr", y)):
        if f"{column}_low" in rows:
            low, high = rows[column] - rows[f"{column}_low"], rows[f"{column}_high"] - rows[column]
            errors[name] = np.nan_to_num(np.array([low, high], dtype=np.float64)).clip(min=0)
    axes.errorbar(
        rows[x],
        rows[y],
        xerr=errors.get("xerr"),
        yerr=errors.get("yerr"),
        fmt="none",
        ecolor=look["color"],
        elinewidth=0.8,
        capsize=1.8,
        capthick=0.8,
    )
    axes.plot(rows[x], rows[y], zorder=4, **look)


def estimates(axes: Axes, table: pd.DataFrame, x: str) -> None:
    """A line of closed forms and points of simulated overheads for each policy."""
    for _, system, rows in by_policy(table):
        axes.plot(rows[x], rows["first_order"], **line(system))
        with_whiskers(axes, rows, x, "overhead", points(system))


def estimate_entries(table: pd.DataFrame) -> list[Entry]:
    """The key of `estimates`."""
    entries = [Entry([line(system), points(system)], name) for name, system, _ in by_policy(table)]
    return [
        *entries,
        line_means("closed form, to first order"),
        point_means("simulated, 95 % interval"),
    ]


def line_means(facts: str) -> Entry:
    """What lines of all colours are."""
    return Entry([line("")], "line", facts)


def point_means(facts: str, *, hollow: bool = False) -> Entry:
    """What points of all colours are, or hollow ones."""
    return Entry([points("", hollow=hollow)], "hollow" if hollow else "point", facts)


def log_shares(to: Frame, values: Floats) -> None:
    """A log y axis in percent that holds all values > 0."""
    low, high = log_limits(values, 10**_LEAST_DECADES)
    to.axes[0].set(yscale="log", ylim=(low, high))
    ticks.number_ticks(to.axes[0], "y", to.height_in, 0.01, " %")


def log_limits(values: Floats, least_span: float, room: float = _ROOM) -> tuple[float, float]:
    """Limits beyond all values > 0 by the factor `room`, at least `least_span` apart."""
    there = values[np.isfinite(values) & (values > 0)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (1.0, 1.0)
    room = max(room, (least_span * low / high) ** 0.5)
    return low / room, high * room


def named_ticks(axes: Axes, at: dict[float, str]) -> None:
    """Ticks on x at these values, with these names, and no others."""
    axes.set_xticks(list(at), list(at.values()))
    axes.minorticks_off()
