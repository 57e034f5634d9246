"""What time a policy saves for what learning it loses."""

from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, layout, style, ticks
from cprsim.figures.parts.curves import Entry, Panel
from cprsim.figures.parts.heading import Heading
from cprsim.figures.parts.thinning import evenly

#: How lost learning is counted, in the order of the panels.
LOSSES: Final = {
    "pls": Panel("Samples lost (PLS)", "overhead, % of useful time", "portion of lost samples"),
    "updates_lost": Panel("Updates lost", "overhead, % of useful time", "updates lost for good"),
}
_RIGHT_IN: Final = 5.3
_HEIGHT_IN: Final = 2.5
_ROW_IN: Final = 1.45  # of a panel where there are several circumstances
_ROOM: Final = 1.6  # beyond the outermost losses
_NOTHING: Final = 1e-9  # of what was learned
_MOST: Final = 6  # circumstances that have panels


class _Curve(NamedTuple):
    """A policy, and its points."""

    policy: str
    system: str
    rows: pd.DataFrame

    @property
    def loses(self) -> bool:
        """Whether any point loses learning."""
        return bool((self.rows[[*LOSSES]] > _NOTHING).any(axis=None))


def tradeoff(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead against the learning lost, a curve a policy, a level for one that loses nothing.

    Parameters
    ----------
    table
        A row a point and policy: `policy`, its `system`; `overhead`, a share of the useful time;
        `pls` and `updates_lost`, shares of what is learned; each of the three with its 95 %
        interval, `_low` to `_high`. Where there is a column `circumstances`, values of
        what is `varied` beside choices, each of them has a row of panels: points of different ones
        are never in the same.
    title
        What it is found in: stands below the finding, wrapped.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with axes for each of `LOSSES`, in a row for each of the circumstances, 6 at
        most: that share over overhead as a share, log, all with the same limits. A policy that
        loses nothing at any point is a dashed level at its least overhead.
    """
    with style.styled():
        found = _circumstances(table)
        kept = [found[i] for i in evenly(len(found), _MOST)]
        several = len(found) > 1
        shown = table[table["circumstances"].isin(kept)] if several else table
        told = f" ({len(kept)} of {len(found)} circumstances shown)" * (len(kept) < len(found))
        frame = curves.frame(
            Heading.of(_finding(table, kept), f"{title}{told}"),
            list(LOSSES.values()),
            _RIGHT_IN,
            _ROW_IN if several else _HEIGHT_IN,
            [f"{table['varied'].iloc[0]} = {name}" for name in kept] if several else [""],
        )
        curves.log_shares(frame, shown["overhead"].to_numpy(dtype=np.float64))
        drawn = _curves(shown)
        lossy = [each.rows[[*LOSSES]].to_numpy(dtype=np.float64) for each in drawn if each.loses]
        both = np.concatenate([np.zeros((1, len(LOSSES))), *lossy]).ravel()
        for i, axes in enumerate(frame.axes):
            name, loss = kept[i // len(LOSSES)], [*LOSSES][i % len(LOSSES)]
            axes.set_xscale("log")
            axes.set_xlim(*curves.log_limits(both, 10, _ROOM))
            ticks.number_ticks(axes, "x", frame.width_in, 0.01, " %")
            _draw(axes, loss, shown[shown["circumstances"] == name] if several else shown)
        curves.write_key(frame, _entries(drawn))
    return frame.figure


def _draw(axes: Axes, loss: str, rows: pd.DataFrame) -> None:
    for each in _curves(rows):
        if each.loses:
            there = each.rows[each.rows[loss] > _NOTHING].sort_values(loss)
            axes.plot(there[loss], there["overhead"], **curves.line(each.system))
            curves.with_whiskers(axes, there, loss, "overhead", curves.points(each.system))
        else:
            axes.axhline(each.rows["overhead"].min(), **curves.line(each.system, 1))


def _circumstances(table: pd.DataFrame) -> list[str]:
    """All that there are, in the table's order; one, empty, where the table doesn't tell."""
    return [*dict.fromkeys(table["circumstances"])] if "circumstances" in table else [""]


def _curves(table: pd.DataFrame) -> list[_Curve]:
    return [_Curve(*each) for each in curves.by_policy(table)]


def _finding(table: pd.DataFrame, names: list[str]) -> str:
    """What the fastest point loses, and the fastest that loses nothing; by the means.

    Under the last of the circumstances, where there are several.
    """
    several = len(names) > 1
    rows = table[table["circumstances"] == names[-1]] if several else table
    where = f"At {table['varied'].iloc[0]} = {names[-1]}, " if several else ""
    fastest = rows.iloc[int(rows["overhead"].argmin())]
    said = f"{where}{fastest['policy']} loses {layout.percent(fastest['overhead'])} of the time"
    if max(fastest["pls"], fastest["updates_lost"]) <= _NOTHING:
        return f"{said} and no learning: none loses less time"
    said += f" and {layout.percent(fastest['updates_lost'])} of the updates"
    keeps = rows[(rows[[*LOSSES]] <= _NOTHING).all(axis=1)]
    if keeps.empty:
        return said
    safe = keeps.iloc[int(keeps["overhead"].argmin())]
    return f"{said}; {safe['policy']} loses {layout.percent(safe['overhead'])} and none"


def _entries(drawn: list[_Curve]) -> list[Entry]:
    entries = [
        Entry([curves.line(each.system), curves.points(each.system)], each.policy)
        if each.loses
        else Entry([curves.line(each.system, 1)], each.policy, "loses nothing")
        for each in drawn
    ]
    return [*entries, curves.point_means("simulated, 95 % intervals")]
