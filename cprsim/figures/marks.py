"""Bars by cause, and lines and points of systems: their looks, values, intervals and names."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.ticker import MaxNLocator

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures import style, ticks
from cprsim.figures.texts import wrapped

_BETWEEN_IN: Final = 0.16  # two rows of text
_LINE: Final = 1.25  # of the size of text, from one line to the next


def name_rows(
    axes: Axes, names: Sequence[str], facts: Sequence[str] = (), least_in: float = 0.0
) -> float:
    """Name rows 0, 1, ... downwards; `facts` are in small letters below the names.

    Returns how high a row is to be, inches: `least_in`, or more for more lines of text.
    """
    letters, more = (15, 19) if style.is_narrow() else (28, 36)
    above, below = (
        [wrapped(t, n) for t in texts] for texts, n in ((names, letters), (facts, more))
    )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(
        range(len(names)), above, weight="bold", va="bottom" if any(facts) else "center"
    )
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    look: dict[str, Any] = {"ha": "right", "va": "top", "size": style.small_pt()}
    look |= {"xycoords": axes.get_yaxis_transform(), "annotation_clip": False}
    look |= {"xytext": (-3.5, -1.5), "textcoords": "offset points", "color": style.FAINT_INK}
    for row, fact in enumerate(below):
        axes.annotate(fact, (0, row), **look)
    lines = sum(
        max(text.count("\n") + 1 for text in texts) for texts in (above, below) if any(texts)
    )
    return max(least_in, _BETWEEN_IN + lines * _LINE * style.small_pt() / 72)


def stack(
    axes: Axes,
    shares: pd.DataFrame,
    causes: Sequence[str],
    thickness: float,
    first: int = 0,
    pale: Sequence[float] = (),
) -> list[BarContainer]:
    """Draw a bar for each row of `shares`, which has a column a cause; return those of each cause.

    `first`: its row. `pale`: share of white in the colours of each row.
    """
    at, found, ends = np.arange(first, first + len(shares)), [], np.zeros(len(shares))
    for cause in causes:
        own = style.cause_colour(cause)
        colours = [style.paler(own, white) for white in pale] or own
        label = CAUSE_LABELS[cause]
        parts = axes.barh(at, shares[cause], thickness, ends, color=colours, label=label)
        for part in parts.patches[1:]:  # the first is the key's
            part.set_visible(part.get_width() > 0)  # without width it is a hairline in PDF
        found.append(parts)
        ends = ends + shares[cause].to_numpy(dtype=np.float64)
    return found


def write(
    axes: Axes,
    at: Any,
    ends: Any,
    texts: Sequence[str],
    interval: tuple[Any, Any] | None = None,
    **look: Any,
) -> None:
    """Write small bold texts right of points, and of their intervals if given."""
    errors = None
    if interval is not None:
        low, high = (np.asarray(end, dtype=np.float64) for end in interval)
        errors = np.array([ends - np.maximum(low, 0), high - ends])
        errors = np.where(np.isfinite(errors), errors, 0).clip(min=0)
    whiskers = {"ecolor": style.INK, "elinewidth": 0.9}
    # Invisible: bars without height are hairlines in PDF.
    found = axes.barh(at, ends, 0, color="none", linewidth=0, xerr=errors, error_kw=whiskers)
    words: dict[str, Any] = {"weight": "bold", "size": style.small_pt()} | look
    axes.bar_label(found, texts, padding=3, **words)


def reach(axes: Axes, most: float) -> None:
    """Let x begin at 0 and end at a round share, `most` or more."""
    ticks_to = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(0, most or 0.01)
    ticks.scale(axes.xaxis, (0, max(ticks_to[-1], most)), "", ticks.shares)


def limit(axes: Axes, at: float) -> None:
    """Draw a limit along x."""
    axes.axvline(at, color=style.INK, linewidth=1.0, linestyle=(0, (3, 2)), zorder=1.5)


_LINE_SHARE: Final = 0.07  # of the axes: the least from one name at the end of a line to the next
#: What is lost, for an axis.
OVERHEAD: Final = "overhead, % of useful time"
#: A band of what is likely.
BAND: Final[dict[str, Any]] = {"facecolor": style.RULE, "edgecolor": "none", "linewidth": 0}


def line(system: str, nth: int = 0) -> dict[str, Any]:
    """Return the look of the line of a system's nth policy: the first is whole, others are dashed.

    SCAR's is always dashed: MFU's, which it mostly covers, shows through.
    """
    dashes = ("-", "--", ":")
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
    errors: dict[str, Any] = {"xerr": None, "yerr": None}
    for name, column in (("xerr", x), ("yerr", y)):
        if f"{column}_low" in rows:
            ends = rows[[f"{column}_low", f"{column}_high"]].to_numpy(dtype=np.float64).T
            middle = rows[column].to_numpy(dtype=np.float64)
            errors[name] = np.nan_to_num((ends - middle) * [[-1], [1]]).clip(min=0)
    axes.errorbar(rows[x], rows[y], **errors, elinewidth=0.8, zorder=4, **look)


def name_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write names at the right end of lines: x, y, name and system of each.

    Where lines end close together, one name is above the other.
    """
    place = axes.transScale + axes.transLimits
    at = -math.inf
    look: dict[str, Any] = {"va": "center", "size": style.small_pt(), "annotation_clip": False}
    look |= {"xycoords": axes.get_xaxis_transform()}
    look |= {"xytext": (6, 0), "textcoords": "offset points"}
    for y, x, name, system in sorted((place.transform((x, y))[1], x, *of) for x, y, *of in ends):
        at = max(y, at + _LINE_SHARE)
        axes.annotate(wrapped(name, 16), (x, at), color=style.system_colour(system), **look)


def log_shares(some: Sequence[Axes], table: pd.DataFrame) -> None:
    """Give all panels a log y axis in percent that holds all values > 0."""
    limits = ticks.log_limits(table, 10**0.5)
    for axes in some:
        ticks.scale(axes.yaxis, limits, "", ticks.shares, log=10)
