"""Lines and points of systems: their looks, intervals, and names at the ends of lines."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from cprsim.figures.parts import style, texts, ticks
from cprsim.figures.parts.sheet import Entry, Sheet, spread
from cprsim.figures.parts.texts import percent

_LEAST_DECADES: Final = 0.5  # of a log axis of shares
_ROOM: Final = 1.25  # beyond the outermost values of a log axis
_NAME_LETTERS: Final = 16
_NAME_LINES: Final = 1.25  # from one name at the end of a line to the next

#: Overheads in a table of `estimates`.
ESTIMATES: Final = ["first_order", "overhead", "overhead_low", "overhead_high"]
#: How to read `estimates`.
ESTIMATES_NOTE: Final = "Lines: closed form, to first order; points: simulated, 95 % interval"
#: What is lost, for an axis.
OVERHEAD: Final = "overhead, % of useful time"

Floats = NDArray[np.float64]


def line(system: str, nth: int = 0) -> dict[str, Any]:
    """Return the look of the line of a system's nth policy: the first is whole, others are dashed.

    SCAR's is always dashed: MFU's, which it mostly covers, shows through.
    """
    dashes = ("-", (0, style.LAW_DASHES["weibull"]), (0, style.LAW_DASHES["exponential"]))
    return {
        "color": style.system_colour(system),
        "linewidth": 1.3,
        "linestyle": dashes[min(nth + (system == "cpr-scar"), len(dashes) - 1)],
    }


def points(system: str, *, hollow: bool = False) -> dict[str, Any]:
    """Return the look of the points of a system."""
    colour = style.system_colour(system)
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
    """Yield name, system and rows of each policy, in the table's order."""
    for (policy, system), rows in table.groupby(["policy", "system"], sort=False):
        yield str(policy), str(system), rows


def with_whiskers(axes: Axes, rows: pd.DataFrame, x: str, y: str, look: dict[str, Any]) -> None:
    """Draw points with the 95 % intervals `_low` to `_high`, where there are any, of x and y."""
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


def estimates(sheet: Sheet, axes: Axes, table: pd.DataFrame, x: str) -> None:
    """Draw a line of closed forms and points of simulated overheads for each policy."""
    for _, system, rows in by_policy(table):
        axes.plot(rows[x], rows["first_order"], **line(system))
        with_whiskers(axes, rows, x, "overhead", points(system))
    if axes in sheet.last_column:
        name_ends(
            axes,
            [
                (float(rows[x].iloc[-1]), float(rows["overhead"].iloc[-1]), name, system)
                for name, system, rows in by_policy(table)
            ],
        )


def name_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write names at the right end of lines: x, y, name and system of each.

    They are moved apart as far as lines of text need, for axes 2 inches high or more.
    """
    size_pt = style.small_pt()
    per_line = _NAME_LINES * size_pt / (72 * 2.0)  # as a share of the height of the axes
    low, high = axes.yaxis.get_transform().transform(np.asarray(axes.get_ylim()))
    at = axes.yaxis.get_transform().transform(np.array([y for _, y, _, _ in ends]))
    places = spread(((at - low) / (high - low)).tolist(), per_line)
    for (x, _, name, system), place in zip(ends, places, strict=True):
        right = axes.get_xaxis_transform()
        axes.annotate(
            "\n".join(texts.lines(name, _NAME_LETTERS)),
            (x, place),
            xycoords=right,
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            size=size_pt,
            color=style.system_colour(system),
            annotation_clip=False,
        )


def line_means(facts: str) -> Entry:
    """Return the entry of a key for lines of all colours."""
    return Entry([line("")], "line", facts)


def point_means(facts: str, *, hollow: bool = False) -> Entry:
    """Return the entry of a key for points of all colours, or hollow ones."""
    return Entry([points("", hollow=hollow)], "hollow" if hollow else "point", facts)


def log_shares(some: Sequence[Axes], values: Floats) -> None:
    """Give all panels a log y axis in percent that holds all values > 0."""
    low, high = log_limits(values, 10**_LEAST_DECADES)
    for axes in some:
        axes.set(yscale="log", ylim=(low, high))
        ticks.shares(axes.yaxis)


def log_limits(values: Floats, least_span: float, room: float = _ROOM) -> tuple[float, float]:
    """Return limits beyond all values > 0 by the factor `room`, at least `least_span` apart."""
    there = values[np.isfinite(values) & (values > 0)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (1.0, 1.0)
    room = max(room, (least_span * low / high) ** 0.5)
    return low / room, high * room


def ends_of(table: pd.DataFrame, x: str) -> str:
    """Say what overhead is at both ends of x, under the policy that ends highest and lowest."""
    first, last = table[x].min(), table[x].max()
    there = table[table[x] == last].groupby("policy", sort=False)["overhead"].mean()
    said = []
    for name in dict.fromkeys((there.idxmax(), there.idxmin())):
        rows = table[table["policy"] == name].set_index(x)["overhead"]
        said.append(
            f"from {percent(rows.loc[[first]].iloc[0])} to "
            f"{percent(rows.loc[[last]].iloc[0])} under {name}"
        )
    return ", ".join(said)
