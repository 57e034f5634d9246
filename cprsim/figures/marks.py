"""Bars by cause, and lines and points of systems: their looks, values and intervals."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.ticker import MaxNLocator

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures import style, ticks
from cprsim.figures.style import Look
from cprsim.figures.texts import wrapped

#: What is lost, for an axis.
OVERHEAD: Final = "overhead, % of useful time"
#: A band of what is likely.
BAND: Final[Look] = {"facecolor": style.RULE, "edgecolor": "none", "linewidth": 0}
#: A limit across a panel.
LIMIT: Final[Look] = {"color": style.INK, "linewidth": 1, "linestyle": (0, (3, 2)), "zorder": 1.5}
_BETWEEN_IN: Final = 0.16  # two rows of text
_LINE: Final = 1.25  # of the size of text, from one line to the next


def name_rows(
    axes: Axes, names: Sequence[str], facts: Sequence[str] = (), least_in: float = 0.0
) -> float:
    """Name rows 0, 1, ... downwards; `facts` are in small letters below the names.

    Returns how high a row is to be, inches: `least_in`, or more for more lines of text.
    """
    letters, more = (15, 19) if style.is_narrow() else (28, 36)
    above, below = [wrapped(t, letters) for t in names], [wrapped(t, more) for t in facts]
    axes.set_ylim(len(names) - 0.5, -0.5)
    at = "bottom" if any(facts) else "center"
    axes.set_yticks(range(len(names)), above, weight="bold", va=at)
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    look: Look = {"ha": "right", "va": "top", "size": "small", "color": style.FAINT_INK}
    look |= {"xycoords": axes.get_yaxis_transform(), "annotation_clip": False}
    look |= {"xytext": (-3.5, -1.5), "textcoords": "offset points"}
    for row, fact in enumerate(below):
        axes.annotate(fact, (0, row), **look)
    lines = sum(max(t.count("\n") + 1 for t in texts) for texts in (above, below) if any(texts))
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
        look: Look = {"color": [style.paler(own, white) for white in pale] or own}
        parts = axes.barh(at, shares[cause], thickness, ends, label=CAUSE_LABELS[cause], **look)
        for part in parts.patches[1:]:  # the first is the key's
            part.set_visible(part.get_width() > 0)  # without width it is a hairline in PDF
        found.append(parts)
        ends = ends + shares[cause].to_numpy(dtype=np.float64)
    return found


def write(
    axes: Axes, at: Any, ends: Any, texts: Sequence[str], errors: Any = None, **look: Any
) -> None:
    """Write small bold texts right of bars that end there, and of their intervals if given."""
    whiskers = {"ecolor": style.INK, "elinewidth": 0.9}
    # Invisible: bars without height are hairlines in PDF.
    found = axes.barh(at, ends, 0, color="none", linewidth=0, xerr=errors, error_kw=whiskers)
    axes.bar_label(found, texts, padding=3, **{"weight": "bold", "size": "small"} | look)


def reach(axes: Axes, most: float) -> None:
    """Let x begin at 0 and end at a round share, `most` or more."""
    ticks_to = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(0, most or 0.01)
    ticks.scale(axes.xaxis, (0, max(ticks_to[-1], most)), "", ticks.shares)


def errors(rows: pd.DataFrame, column: str) -> Any:
    """Return how far the 95 % interval of a column reaches down and up; None where none is."""
    if f"{column}_low" not in rows:
        return None
    ends = rows[[f"{column}_low", f"{column}_high"]].to_numpy(dtype=np.float64).T
    middle = rows[column].to_numpy(dtype=np.float64)
    return np.nan_to_num((ends - middle) * [[-1], [1]], posinf=0).clip(min=0)


def with_whiskers(axes: Axes, rows: pd.DataFrame, x: str, y: str, look: Look) -> None:
    """Draw points with their 95 % intervals of x and y."""
    xerr, yerr = errors(rows, x), errors(rows, y)
    axes.errorbar(rows[x], rows[y], yerr, xerr, elinewidth=0.8, zorder=4, **look)


def line(system: str, nth: int = 0) -> Look:
    """Return the look of the line of a system's nth policy: the first is whole, others are dashed.

    SCAR's is always dashed: MFU's, which it mostly covers, shows through.
    """
    dashes = ("-", "--", ":")[min(nth + (system == "cpr-scar"), 2)]
    return {"color": style.system_colour(system), "linewidth": 1.3, "linestyle": dashes}


def points(system: str, *, hollow: bool = False) -> Look:
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


def log_shares(some: Sequence[Axes], table: pd.DataFrame) -> None:
    """Give all panels a log y axis in percent that holds all values > 0."""
    limits = ticks.log_limits(table, 10**0.5)
    for axes in some:
        ticks.scale(axes.yaxis, limits, "", ticks.shares, log=10)
