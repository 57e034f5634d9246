"""Lengths of outages of nodes, and the law that fits best."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from cprsim.figures.parts import style, texts, ticks
from cprsim.figures.parts.findings import Finding
from cprsim.figures.parts.laws import described, line_style
from cprsim.figures.parts.texts import duration
from cprsim.figures.parts.thinning import evenly
from cprsim.survival.fitted_laws import Fit
from cprsim.survival.fitted_laws import survival as survival_of
from cprsim.survival.kaplan_meier import KaplanMeier
from cprsim.survival.sample import Sample

_POINTS: Final = 300  # of a law's curve
_MOST_STEPS: Final = 1000  # of the data's: more can't be seen
_FEW: Final = 0.02  # shorter outages stand left of the axis
_ROOM: Final = 1.15
_SEEN: Final[dict[str, Any]] = {"color": style.INK, "linewidth": 0.9}


def repairs(sample: Sample, fits: Sequence[Fit], is_adequate: bool) -> Finding:
    """Draw the share of outages that last longer; the best law of `fits`, if there is one."""
    curve = KaplanMeier.from_sample(sample)
    median_s, mean_s = curve.median_s, curve.restricted_mean_s
    half = (
        "More than half of the outages went on"
        if np.isnan(median_s)
        else f"Half of the outages are over after {duration(median_s)}"
    )
    law = ""
    if fits:
        law = f"; line: {described(fits[0].law)}{'' if is_adequate else ' (not adequate)'}"

    def draw(axes: Axes) -> None:
        axes.grid()
        first_s = float(np.quantile(sample.durations_s, _FEW)) / _ROOM
        axes.set_xscale("log")
        axes.set(xlim=(first_s, curve.last_s * _ROOM), ylim=(0, 1.02))
        ticks.durations(axes.xaxis)
        ticks.shares(axes.yaxis)
        label = f"length of an outage{law}"
        axes.set_xlabel("\n".join(texts.lines(label, 46)))
        axes.set_ylabel(f"of {sample.n:,} outages last longer")
        _steps(axes, curve, first_s)
        for found in fits[:1]:
            grid = np.geomspace(first_s, curve.last_s, _POINTS)
            axes.plot(grid, survival_of(found.law, grid), **line_style(found.law, best=True))

    return Finding(f"{half}; mean {duration(mean_s)}", draw)


def _steps(axes: Axes, curve: KaplanMeier, first_s: float) -> None:
    """The Kaplan-Meier curve and its band; 0 has no place on a log axis."""
    some = evenly(len(curve.times_s), _MOST_STEPS)
    times = np.concatenate(([min(first_s, curve.times_s[0])], curve.times_s[some]))
    low, high = (np.concatenate(([1.0], np.nan_to_num(end[some]))) for end in curve.band())
    axes.fill_between(times, low, high, step="post", facecolor=style.RULE, linewidth=0)
    axes.step(times, np.concatenate(([1.0], curve.survival[some])), where="post", **_SEEN)
