"""What time a policy saves for what learning it loses."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.curves import Entry, Panel

#: How lost learning is counted, in the order of the panels.
LOSSES: Final = {
    "pls": Panel("Samples lost (PLS)", "overhead, % of useful time", "portion of lost samples"),
    "updates_lost": Panel("Updates lost", "overhead, % of useful time", "updates lost for good"),
}
_RIGHT_IN: Final = 5.3
_HEIGHT_IN: Final = 2.5
_ROOM: Final = 1.6  # beyond the outermost losses
_NOTHING: Final = 1e-9  # of what was learned
_PALEST: Final = 0.75  # share of white under the first circumstances; none under the last
_NAMED: Final = 6  # circumstances that the key names


class _Curve(NamedTuple):
    """A policy under one of the circumstances, how pale that is, and its points."""

    policy: str
    system: str
    pale: float
    rows: pd.DataFrame

    @property
    def loses(self) -> bool:
        """Whether any point loses learning."""
        return bool((self.rows[[*LOSSES]] > _NOTHING).any(axis=None))

    def look(self, look: dict[str, Any]) -> dict[str, Any]:
        """A line or point of the system, as pale as the circumstances have it."""
        colours = {k: style.paler(v, self.pale) for k, v in look.items() if k in _COLOURS}
        return look | colours


_COLOURS: Final = ("color", "markerfacecolor")


def tradeoff(table: pd.DataFrame, title: str = "") -> Figure:
    """Overhead against the learning lost, a curve a policy, a level for one that loses nothing.

    Parameters
    ----------
    table
        A row a point and policy: `policy`, its `system`; `overhead`, a share of the useful time;
        `pls` and `updates_lost`, shares of what is learned; each of the three with its 95 %
        interval, `_low` to `_high`. Where there is a column `circumstances`, values of
        what is `varied` beside choices, a policy has a curve for each of them, and points of
        different ones are never joined.
    title
        Stands above, wrapped; none if empty.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide, with axes for each of `LOSSES`: that share over overhead as a share, log. A
        policy that loses nothing at any point is a dashed level at its least overhead. Curves are
        the paler, the earlier their circumstances stand in the table.
    """
    with style.styled():
        frame = curves.frame(title, list(LOSSES.values()), _RIGHT_IN, _HEIGHT_IN)
        curves.log_shares(frame, table["overhead"].to_numpy(dtype=np.float64))
        drawn = list(_curves(table))
        lossy = [each.rows[[*LOSSES]].to_numpy(dtype=np.float64) for each in drawn if each.loses]
        both = np.concatenate([np.zeros((1, len(LOSSES))), *lossy]).ravel()
        for loss, axes in zip(LOSSES, frame.axes, strict=True):
            axes.set_xscale("log")
            axes.set_xlim(*curves.log_limits(both, 10, _ROOM))
            ticks.log_ticks(axes, "x", frame.width_in, 0.01, " %")
            for each in drawn:
                if each.loses:
                    there = each.rows[each.rows[loss] > _NOTHING].sort_values(loss)
                    line, points = curves.line(each.system), curves.points(each.system)
                    axes.plot(there[loss], there["overhead"], **each.look(line))
                    curves.with_whiskers(axes, there, loss, "overhead", each.look(points))
                else:
                    level = each.look(curves.line(each.system, 1))
                    axes.axhline(each.rows["overhead"].min(), **level)
        curves.write_key(frame, [*_entries(drawn), *_shades(table)])
    return frame.figure


def _circumstances(table: pd.DataFrame) -> list[str]:
    """All that there are, in the table's order; one, empty, where the table doesn't tell."""
    return [*dict.fromkeys(table["circumstances"])] if "circumstances" in table else [""]


def _curves(table: pd.DataFrame) -> Iterator[_Curve]:
    names = _circumstances(table)
    for policy, system, of_policy in curves.by_policy(table):
        for i, name in enumerate(names):
            rows = of_policy[of_policy["circumstances"] == name] if name else of_policy
            if len(rows):
                yield _Curve(policy, system, _pale(i, len(names)), rows)


def _pale(i: int, count: int) -> float:
    return _PALEST * (1 - i / (count - 1)) if count > 1 else 0.0


def _entries(drawn: list[_Curve]) -> list[Entry]:
    entries = []
    for policy, system in dict.fromkeys((each.policy, each.system) for each in drawn):
        if any(each.loses for each in drawn if each.policy == policy):
            entries.append(Entry([curves.line(system), curves.points(system)], policy))
        else:
            entries.append(Entry([curves.line(system, 1)], policy, "loses nothing"))
    return [*entries, curves.point_means("simulated, 95 % intervals")]


def _shades(table: pd.DataFrame) -> list[Entry]:
    """What pale and dark are; some of the circumstances where they are many."""
    names = _circumstances(table)
    if len(names) == 1:
        return []
    shown = [*range(len(names))]
    if len(names) > _NAMED:
        shown = [0, len(names) // 2, len(names) - 1]
    facts = f"{len(names)} shades of {table['varied'].iloc[0]}, in this order"
    return [
        Entry([_grey(_pale(i, len(names)))], names[i], facts if i == shown[-1] else "")
        for i in shown
    ]


def _grey(pale: float) -> dict[str, Any]:
    return {"color": style.paler(style.INK, pale), "linewidth": 1.3}
