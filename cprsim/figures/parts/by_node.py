"""Unevenness of failures over the nodes, against chance alone."""

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from cprsim.failures.logs.node_failures import Concentration
from cprsim.figures.parts import style, ticks
from cprsim.figures.parts.findings import Finding

_WORST: Final = 0.1
_SEEN: Final[dict[str, Any]] = {"color": style.LAW_COLOURS["weibull"], "linewidth": 1.6}
_CHANCE: Final[dict[str, Any]] = {"color": style.FAINT_INK, "linewidth": 0.9}
_EQUAL: Final[dict[str, Any]] = {
    "color": style.FAINT_INK,
    "linewidth": 0.6,
    "linestyle": (0, (4, 3)),
}


def by_node(nodes: Concentration) -> Finding:
    """Draw the share of failures on the worst share of nodes (a Lorenz curve)."""
    mean, low, high = nodes.by_chance()
    at = np.linspace(0, 1, len(mean))
    seen, chance = nodes.of_worst(_WORST), float(np.interp(_WORST, at, mean))
    says = f"The worst tenth of the nodes has {_whole(seen)} of the failures"
    says += f"; by chance {_whole(chance)}"
    counted = f"{len(nodes.counts):,} nodes"
    if nodes.unseen:
        counted += f", {nodes.unseen:,} (estimated) never failed"

    def draw(axes: Axes) -> None:
        axes.grid()
        axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
        ticks.shares(axes.xaxis)
        ticks.shares(axes.yaxis)
        axes.set(xlabel=f"share of the nodes, worst first; {counted}", ylabel="of the failures")
        axes.fill_between(at, low, high, facecolor=style.RULE, linewidth=0)
        axes.plot(at, mean, label="alike nodes, 95 %", **_CHANCE)
        axes.plot((0, 1), (0, 1), label="the same on each", **_EQUAL)
        axes.plot(at, nodes.shares, zorder=4, label="the log", **_SEEN)
        axes.legend(loc="lower right")

    return Finding(says, draw)


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"
