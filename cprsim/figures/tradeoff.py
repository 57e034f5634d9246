"""The time a policy saves against the learning it loses."""

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Entry, Sheet
from cprsim.figures.parts.texts import NOTHING, percent
from cprsim.figures.parts.thinning import evenly

#: How lost learning is counted, in the order of the panels: title, and what x is.
LOSSES: Final = {
    "pls": ("Samples lost (PLS)", "portion of lost samples"),
    "updates_lost": ("Updates lost", "updates lost for good"),
}
_HEIGHT_IN: Final = 2.5
_ROW_IN: Final = 1.45  # of a panel where there are several circumstances
_ROOM: Final = 1.6  # beyond the outermost losses
_MOST: Final = 6  # circumstances that have panels


def tradeoff(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the learning lost, a curve a policy.

    Parameters
    ----------
    table
        A row a point and policy: `policy`, its `system`; `overhead`, a share of the useful time;
        `pls` and `updates_lost`, shares of what is learned; each of the three with its 95 %
        interval, `_low` to `_high`. Where there is a column `circumstances`, values of
        what is `varied` other than choices, each of them has a row of panels: points of different
        ones are never in the same.

    Returns
    -------
    matplotlib.figure.Figure
        With axes for each of `LOSSES`, in a row for each of the circumstances, 6 at most: that
        share over overhead as a share, log, all with the same limits. A policy that loses nothing
        at any point is a dashed level at its least overhead.
    """
    with style.styled():
        found = _circumstances(table)
        kept = [found[i] for i in evenly(len(found), _MOST)]
        several = len(found) > 1
        shown = table[table["circumstances"].isin(kept)] if several else table
        notes = [f"{len(kept)} of {len(found)} circumstances shown"] * (len(kept) < len(found))
        sheet = Sheet(len(LOSSES) * len(kept), len(LOSSES), sharey=True)
        curves.log_shares(sheet.axes, shown[["overhead"]])
        for i, axes in enumerate(sheet.axes):
            name, loss = kept[i // len(LOSSES)], [*LOSSES][i % len(LOSSES)]
            axes.set_xscale("log")
            axes.set_xlim(
                *curves.log_limits(shown[[*LOSSES]].where(shown[[*LOSSES]] > NOTHING), 10, _ROOM)
            )
            ticks.shares(axes.xaxis)
            axes.grid()
            there = f"\n{table['varied'].iloc[0]} = {name}" if several else ""
            axes.set(title=LOSSES[loss][0] + there, xlabel=LOSSES[loss][1])
            if axes in sheet.first_column:
                axes.set_ylabel(curves.OVERHEAD)
            _draw(axes, loss, shown[shown["circumstances"] == name] if several else shown)
        sheet.key(_entries(shown))
        height_in = _ROW_IN if several else _HEIGHT_IN
        return sheet.done(_finding(table, kept), title, notes, height_in)


def _draw(axes: Axes, loss: str, table: pd.DataFrame) -> None:
    for _, system, rows in curves.by_policy(table):
        if _loses(rows):
            there = rows[rows[loss] > NOTHING].sort_values(loss)
            axes.plot(there[loss], there["overhead"], **curves.line(system))
            curves.with_whiskers(axes, there, loss, "overhead", curves.points(system))
        else:
            axes.axhline(rows["overhead"].min(), **curves.line(system, 1))


def _loses(rows: pd.DataFrame) -> bool:
    """Return whether any point loses learning."""
    return bool((rows[[*LOSSES]] > NOTHING).any(axis=None))


def _circumstances(table: pd.DataFrame) -> list[str]:
    """Return all circumstances, in the table's order; one, empty, where there is no column."""
    return [*dict.fromkeys(table["circumstances"])] if "circumstances" in table else [""]


def _finding(table: pd.DataFrame, names: list[str]) -> str:
    """Say what the fastest point loses, and the fastest that loses nothing; by the means.

    Under the last of the circumstances, where there are several.
    """
    several = len(names) > 1
    rows = table[table["circumstances"] == names[-1]] if several else table
    where = f"At {table['varied'].iloc[0]} = {names[-1]}, " if several else ""
    fastest = rows.iloc[int(rows["overhead"].argmin())]
    said = f"{where}{fastest['policy']} loses {percent(fastest['overhead'])} of the time"
    if max(fastest["pls"], fastest["updates_lost"]) <= NOTHING:
        return f"{said} and no learning: none loses less time"
    said += f" and {percent(fastest['updates_lost'])} of the updates"
    keeps = rows[(rows[[*LOSSES]] <= NOTHING).all(axis=1)]
    if keeps.empty:
        return said
    safe = keeps.iloc[int(keeps["overhead"].argmin())]
    return f"{said}; {safe['policy']} loses {percent(safe['overhead'])} and none"


def _entries(table: pd.DataFrame) -> list[Entry]:
    entries = [
        Entry([curves.line(system), curves.points(system)], policy)
        if _loses(rows)
        else Entry([curves.line(system, 1)], policy, "loses nothing")
        for policy, system, rows in curves.by_policy(table)
    ]
    return [*entries, curves.point_means("simulated, 95 % intervals")]
