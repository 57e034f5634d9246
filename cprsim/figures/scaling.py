"""How overhead grows with the servers and the failures of a job."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from cprsim.figures.parts import curves, style, ticks
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import number, percent


class _Panel(NamedTuple):
    """A panel: its title and what x is; `shares`: whether that are shares, on a linear axis."""

    title: str
    xlabel: str
    shares: bool = False


#: The MTBF models of a table of `scaling`, in the order of the panels, and what each assumes.
MODELS: Final = {
    "linear": _Panel("MTBF falls as 1 / servers", "parameter servers"),
    "independent": _Panel("Each fails with chance p an hour", "parameter servers"),
}
#: What a table of `sensitivity` varies.
_VARIED: Final = {
    "failures": _Panel("More failures", "failures in the job"),
    "share": _Panel("More servers lost in each", "servers lost, % of all", shares=True),
}


def scaling(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the number of servers under two MTBF models, a curve a policy.

    Parameters
    ----------
    table
        A row a model, number of servers and policy: `model`, one of `MODELS`; `servers`; `policy`
        and its `system`; `first_order`, the overhead in closed form; `overhead` as simulated, with
        its 95 % interval `overhead_low` to `overhead_high`. All three are shares of the useful
        time.

    Returns
    -------
    matplotlib.figure.Figure
        With axes for each model: servers over overhead as a share, both log.
    """
    return _estimates(table, title, "model", "servers", MODELS, "servers")


def sensitivity(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the number of failures, and the share of servers that each takes.

    Parameters
    ----------
    table
        A row a point and policy: `varied`, `"failures"` or `"share"`; `value` of that, a number of
        failures or a share; the other columns are those of `scaling`.

    Returns
    -------
    matplotlib.figure.Figure
        With two axes over overhead as a share, log: failures, log, and the share of servers.
    """
    return _estimates(table, title, "varied", "value", _VARIED, "failures")


def _estimates(
    table: pd.DataFrame, title: str, by: str, x: str, panels: Mapping[str, _Panel], noun: str
) -> Figure:
    """Draw a line of closed forms and points of simulated overheads for each policy.

    `by`: the column that says in which panel a row is. `noun`: what the first panel counts.
    """
    with style.styled():
        sheet = Sheet(len(panels), sharey=True)
        curves.log_shares(sheet.axes, table.filter(regex="^(first_order|overhead)"))
        for (name, panel), axes in zip(panels.items(), sheet.axes, strict=True):
            rows = table[table[by] == name]
            values = rows[x].unique().astype(float)
            if panel.shares:
                axes.set_xlim(0, 1.1 * values.max())
                ticks.named(axes.xaxis, {value: f"{100 * value:g} %" for value in values})
            else:
                axes.set_xscale("log")
                axes.set_xlim(*curves.log_limits(values, 2))
                ticks.named(axes.xaxis, {value: number(value) for value in values})
            axes.set(title=panel.title, xlabel=panel.xlabel)
            axes.grid()
            for _, system, own in curves.by_policy(rows):
                axes.plot(own[x], own["first_order"], **curves.line(system))
                curves.with_whiskers(axes, own, x, "overhead", curves.points(system))
            if sheet.narrow or axes is sheet.axes[-1]:
                ends = [
                    (own[x].iloc[-1], own["overhead"].iloc[-1], policy, system)
                    for policy, system, own in curves.by_policy(rows)
                ]
                curves.name_ends(axes, ends)
        for axes in sheet.first_column:
            axes.set_ylabel(curves.OVERHEAD)
        note = "Lines: closed form, to first order; points: simulated, 95 % interval"
        first = table[table[by] == next(iter(panels))]
        return sheet.done(_finding(first, x, noun), title, [note], 2.3)


def _finding(rows: pd.DataFrame, x: str, noun: str) -> str:
    """Say how overhead grows under the policies that end highest and lowest."""
    first, last = rows[x].min(), rows[x].max()
    if not first < last:
        return ""
    means = rows.pivot_table(values="overhead", index=x, columns="policy", sort=False)
    there = means.loc[last]
    grown = [
        f"from {percent(means.loc[first, name])} to {percent(there[name])} under {name}"
        for name in dict.fromkeys((there.idxmax(), there.idxmin()))
    ]
    return f"From {first:,g} to {last:,g} {noun}, overhead goes {', '.join(grown)}"
