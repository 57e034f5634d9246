"""A page of a failure log: its durations and laws, repairs, causes and nodes."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.failures.logs.node_failures import Concentration
from cprsim.figures.parts import bars, curves, style, texts, ticks
from cprsim.figures.parts.texts import duration
from cprsim.figures.survival import Panel, described, draw_steps, line_style, survival
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.fitted_laws import survival as survival_of
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample

_WORST: Final = 0.1  # share of the nodes of which the title speaks
_FEW: Final = 0.02  # shorter outages are left of the axis
_LETTERS: Final = (22, 12)  # of a cause, and in a narrow figure


class CauseCount(NamedTuple):
    """A cause, its failures, and the median of its repairs, seconds; nan if unknown."""

    name: str
    failures: int
    median_s: float = math.nan


def log_page(
    sample: Sample,
    fits: Sequence[Fit],
    title: str = "",
    *,
    repairs: tuple[Sample, Sequence[Fit], bool] | None = None,
    causes: Sequence[CauseCount] = (),
    nodes: Concentration | None = None,
) -> Figure:
    """Draw the durations of a log and their laws, then repairs, causes and nodes.

    Parameters
    ----------
    sample, fits, title
        As of `cprsim.figures.survival.survival`.
    repairs
        How long outages of nodes lasted, the laws fitted to that, the best first, and whether that
        one is adequate.
    causes
        Of the failures, the commonest first; one alone is no panel.
    nodes
        Failures of each node; no panel where there is but one node.

    Returns
    -------
    matplotlib.figure.Figure
        After the three axes of `survival` come those of repairs (a share over
        seconds), causes (failures) and nodes (a share of the failures over one of the nodes).
    """
    found = list[Panel]()
    if repairs is not None:
        found.append(partial(_repairs, *repairs))
    if len(causes) > 1:
        found.append(partial(_causes, causes))
    if nodes is not None and len(nodes.counts) > 1:
        found.append(partial(_nodes, nodes))
    return survival(sample, fits, title, found)


def _repairs(sample: Sample, fits: Sequence[Fit], is_adequate: bool, axes: Axes) -> str:
    """Draw the share of outages that last longer; the best law of `fits`, if there is one."""
    curve = KaplanMeier.from_sample(sample)
    label = "length of an outage"
    if fits:
        label += f"; line: {described(fits[0].law)}{'' if is_adequate else ' (not adequate)'}"
    first_s = float(np.quantile(sample.durations_s, _FEW)) / 1.15
    axes.set(xscale="log", xlim=(first_s, curve.last_s * 1.15), ylim=(0, 1.02))
    axes.grid()
    ticks.durations(axes.xaxis)
    ticks.shares(axes.yaxis)
    axes.set(xlabel=texts.wrapped(label, 46), ylabel=f"of {sample.n:,} outages last longer")
    draw_steps(axes, curve, min(first_s, curve.times_s[0]))
    for found in fits[:1]:
        grid = np.geomspace(first_s, curve.last_s, 300)
        axes.plot(grid, survival_of(found.law, grid), **line_style(found.law, best=True))
    half = (
        "More than half of the outages went on"
        if np.isnan(curve.median_s)
        else f"Half of the outages are over after {duration(curve.median_s)}"
    )
    return f"{half}; mean {duration(curve.restricted_mean_s)}"


def _causes(causes: Sequence[CauseCount], axes: Axes) -> str:
    """Draw a bar a cause, the commonest first, with its median repair behind it."""
    first, letters = causes[0], _LETTERS[style.is_narrow()]
    rows, counts = range(len(causes)), [each.failures for each in causes]
    axes.set(ylim=(len(causes) - 0.5, -0.5), xlim=(0, first.failures), xticks=[])
    axes.set_yticks(rows, [texts.short(each.name, letters) for each in causes])
    axes.tick_params(axis="y", length=0)
    axes.spines["bottom"].set_visible(False)
    axes.barh(rows, counts, 0.68, color=style.LAW_COLOURS["gamma"])
    for row, (_, count, median_s) in enumerate(causes):
        median = "" if math.isnan(median_s) else f", {duration(median_s)}"
        bars.beyond(axes, (count, row), f"{count:,}{median}")
    repaired = not all(math.isnan(each.median_s) for each in causes)
    axes.set_xlabel("failures by cause" + ", median repair" * repaired)
    share = _whole(first.failures / sum(counts))
    return f"{texts.short(first.name, 24)}: {share} of the failures"


def _nodes(nodes: Concentration, axes: Axes) -> str:
    """Draw the share of failures on the worst share of nodes (a Lorenz curve)."""
    mean, low, high = nodes.by_chance()
    at = np.linspace(0, 1, len(mean))
    counted = f"{len(nodes.counts):,} nodes"
    if nodes.unseen:
        counted += f", {nodes.unseen:,} (estimated) never failed"
    axes.grid()
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    ticks.shares(axes.xaxis)
    ticks.shares(axes.yaxis)
    axes.set(xlabel=f"share of the nodes, worst first; {counted}", ylabel="of the failures")
    faint: dict[str, Any] = {"color": style.FAINT_INK}
    axes.fill_between(at, low, high, facecolor=style.RULE, linewidth=0)
    axes.plot(at, mean, linewidth=0.9, label="alike nodes, 95 %", **faint)
    equal: dict[str, Any] = {"linewidth": 0.6, "linestyle": curves.dashed("weibull")}
    axes.plot((0, 1), (0, 1), label="the same on each", **equal, **faint)
    seen: dict[str, Any] = {"color": style.LAW_COLOURS["weibull"], "linewidth": 1.6}
    axes.plot(at, nodes.shares, zorder=4, label="the log", **seen)
    axes.legend(loc="lower right")
    chance = float(np.interp(_WORST, at, mean))
    said = f"The worst tenth of the nodes has {_whole(nodes.of_worst(_WORST))} of the failures"
    return f"{said}; by chance {_whole(chance)}"


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"
