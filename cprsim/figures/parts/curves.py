"""Lines and points of systems: their looks, intervals, and names at the ends of lines."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from cprsim.figures.parts import style, texts, ticks
from cprsim.figures.parts.sheet import Entry

_ROOM: Final = 1.25  # beyond the outermost values of a log axis
_NAME_LETTERS: Final = 16
#: What is lost, for an axis.
OVERHEAD: Final = "overhead, % of useful time"

Floats = NDArray[np.float64]


def dashed(name: str) -> tuple[int, tuple[float, ...]]:
    """Return the dashes of a law as a style of lines."""
    return 0, style.LAW_DASHES[name]


def line(system: str, nth: int = 0) -> dict[str, Any]:
    """Return the look of the line of a system's nth policy: the first is whole, others are dashed.

    SCAR's is always dashed: MFU's, which it mostly covers, shows through.
    """
    dashes = ("-", dashed("weibull"), dashed("exponential"))
    return {
        "color": style.system_colour(system),
        "linewidth": 1.3,
        "linestyle": dashes[min(nth + (system == "cpr-scar"), 2)],
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
    errors: dict[str, Any] = {}
    for name, column in (("xerr", x), ("yerr", y)):
        if f"{column}_low" in rows:
            ends = rows[[f"{column}_low", f"{column}_high"]].to_numpy(dtype=np.float64).T
            middle = rows[column].to_numpy(dtype=np.float64)
            errors[name] = np.nan_to_num((ends - middle) * [[-1], [1]]).clip(min=0)
    whisker: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.8, "capthick": 0.8}
    axes.errorbar(rows[x], rows[y], fmt="none", ecolor=look["color"], **whisker, **errors)
    axes.plot(rows[x], rows[y], zorder=4, **look)


def name_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write names at the right end of lines: x, y, name and system of each.

    They are moved apart as far as lines of text need, for axes 2 inches high or more.
    """
    size_pt = style.small_pt()
    scale = axes.yaxis.get_transform()
    low, high = scale.transform(np.asarray(axes.get_ylim()))
    at = (scale.transform(np.array([y for _, y, _, _ in ends])) - low) / (high - low)
    for (x, _, name, system), y in zip(ends, spread(at, 1.25 * size_pt / 144), strict=True):
        axes.annotate(
            texts.wrapped(name, _NAME_LETTERS),
            (x, y),
            xycoords=axes.get_xaxis_transform(),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            size=size_pt,
            color=style.system_colour(system),
            annotation_clip=False,
        )


def spread(at: Floats, least: float) -> Floats:
    """Return values at least so far apart, in the same order and as near as can be."""
    order = np.argsort(at, kind="stable")
    found = at[order]
    for _ in range(200):
        push = np.clip(least - np.diff(found), 0, None) / 2
        found[:-1] -= push
        found[1:] += push
    result = np.empty_like(found)
    result[order] = found
    return result


def line_means(facts: str) -> Entry:
    """Return the entry of a key for lines of all colours."""
    return Entry([line("")], "line", facts)


def point_means(facts: str, *, hollow: bool = False) -> Entry:
    """Return the entry of a key for points of all colours, or hollow ones."""
    return Entry([points("", hollow=hollow)], "hollow" if hollow else "point", facts)


def log_shares(some: Sequence[Axes], table: pd.DataFrame) -> None:
    """Give all panels a log y axis in percent that holds all values > 0."""
    limits = log_limits(table, 10**0.5)
    for axes in some:
        axes.set(yscale="log", ylim=limits)
        ticks.shares(axes.yaxis)


def log_limits(values: Any, least_span: float, room: float = _ROOM) -> tuple[float, float]:
    """Return limits beyond all values > 0 by the factor `room`, at least `least_span` apart."""
    values = np.asarray(values, dtype=np.float64)
    there = values[np.isfinite(values) & (values > 0)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (1.0, 1.0)
    room = max(room, (least_span * low / high) ** 0.5)
    return low / room, high * room
