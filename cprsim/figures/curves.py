"""Curves of overhead: against servers, failures, intervals, accepted losses and model sizes."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import format_duration
from cprsim.figures import marks, style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, duration, number, percent

#: What is varied, in the order of the panels: what each assumes, and x.
VARIED: Final = {
    "linear": ("MTBF falls as 1 / servers", "parameter servers"),
    "independent": ("Each fails with chance p an hour", "parameter servers"),
    "failures": ("More failures", "failures in the job"),
    "share": ("More servers lost in each", "servers lost, % of all"),
}


@style.styled()
def estimates(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against what is varied: a line of closed forms and simulated points a policy.

    With axes for each of `VARIED` that the table has: the number of servers under a model of the
    MTBF, the number of failures, or the share of servers that each takes (not log) over overhead as
    a share, both log.

    `table`: a row a point and policy: `varied`, one of `VARIED`; `value` of that, a number or a
    share; `policy` and its `system`; `first_order`, the overhead in closed form; `overhead` as
    simulated, with its 95 % interval `overhead_low` to `overhead_high`. All three are shares of the
    useful time.
    """
    panels = {name: words for name, words in VARIED.items() if name in set(table["varied"])}
    sheet = Sheet(len(panels), sharey=True, y=marks.OVERHEAD)
    marks.log_shares(sheet.axes, table.filter(regex="^(first_order|overhead)"))
    for axes, (name, (heading, label)) in zip(sheet.axes, panels.items(), strict=True):
        rows = table[table["varied"] == name]
        values = rows["value"].unique().astype(float)
        if name == "share":
            names = {value: f"{100 * value:g} %" for value in values}
            ticks.scale(axes.xaxis, (0, 1.1 * values.max()), label, names)
        else:
            names = {value: number(value) for value in values}
            ticks.scale(axes.xaxis, ticks.log_limits(values, 2), label, names, log=10)
        axes.set_title(heading)
        for policy, system, own in marks.by_policy(rows):
            axes.plot(own["value"], own["first_order"], **marks.line(system))
            look = marks.points(system) | {"label": policy}
            marks.with_whiskers(axes, own, "value", "overhead", look)
    # How overhead grows in the first panel, under the policies that end highest and lowest.
    first_panel, finding = next(iter(panels)), ""
    rows = table[table["varied"] == first_panel]
    means = rows.pivot_table("overhead", "value", "policy", sort=False).sort_index()
    if len(means) > 1:
        first, last = means.iloc[0], means.iloc[-1]
        grown = [
            f"from {percent(first[name])} to {percent(last[name])} under {name}"
            for name in dict.fromkeys((str(last.idxmax()), str(last.idxmin())))
        ]
        noun = "failures" if first_panel == "failures" else "servers"
        ends = f"From {means.index[0]:,g} to {means.index[-1]:,g} {noun}"
        finding = f"{ends}, overhead goes {', '.join(grown)}"
    note = "Lines: closed form, to first order; points: simulated, 95 % interval"
    return sheet.done(finding, title, [note], 2.3, "below")


_RING: Final = {"marker": "o", "markersize": 9.0, "markeredgewidth": 1.2, "markerfacecolor": "none"}
_STAR: Final = {"marker": "*", "markersize": 8.0}
#: Systems of `interval`: their names, and the rules by which they choose theirs.
_RULES: Final = {
    "full": ("full recovery", "Young's interval, sqrt(2 save MTBF)"),
    "cpr-vanilla": ("partial recovery", "CPR's interval, for its target PLS"),
}


@style.styled()
def interval(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw overhead against the checkpoint interval: closed form, simulated points, choices.

    Its axes are log: seconds between two saves over overhead as a share.

    `table`: a row an interval and system: `interval_s`, seconds; `system`; `closed_form`, its
    expected overhead; `overhead` as simulated with its 95 % interval `overhead_low` to
    `overhead_high`, not a number where none was simulated; `chosen`, whether that system chooses
    this interval, and `best`, whether it is where full recovery's closed form is least. Overheads
    are shares of the useful time.
    """
    sheet = Sheet(ax=ax, y=marks.OVERHEAD)
    (axes,) = sheet.axes
    rows = table.sort_values("interval_s")
    marks.log_shares([axes], rows[["closed_form", "overhead"]])
    limits = ticks.log_limits(rows["interval_s"], 6)
    ticks.scale(axes.xaxis, limits, "time between two saves", ticks.durations, log=10)
    ringed = []
    for name in table["system"].unique():
        each = rows[rows["system"] == name]
        words, rule = _RULES[name]
        axes.plot(each["interval_s"], each["closed_form"], label=words, **marks.line(name))
        seen = each[each["overhead"].notna()]
        marks.with_whiskers(axes, seen, "interval_s", "overhead", marks.points(name))
        ringed.append((rule, marks.points(name) | _RING, each[each["chosen"]]))
    best = rows[rows["best"]]
    ringed.append(("least of the closed form", marks.points("full") | _STAR, best))
    for words, look, some in ringed:
        for interval_s, overhead in zip(some["interval_s"], some["closed_form"], strict=True):
            label = f"{words}: {format_duration(interval_s)}"
            axes.plot(interval_s, overhead, zorder=5, label=label, **look)
    note = (
        "Lines: closed form; a step: one save less. Points: simulated, 95 % interval, "
        "exponential failures"
    )
    least, every = percent(best["closed_form"].iloc[0]), format_duration(best["interval_s"].iloc[0])
    finding = f"Full recovery is at its least, {least}, with a save every {every}"
    chosen = rows.loc[rows["chosen"] & (rows["system"] == "full"), "closed_form"]
    return sheet.done("; as chosen, ".join([finding, *map(percent, chosen)]), title, [note])


#: How lost learning is counted, in the order of the panels: title, and what x is.
LOSSES: Final = {
    "pls": ("Samples lost (PLS)", "portion of lost samples"),
    "updates_lost": ("Updates lost", "updates lost for good"),
}
_MOST_ROWS: Final = 6  # circumstances that have panels


@style.styled()
def tradeoff(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the learning lost, a curve a policy.

    With axes for each of `LOSSES`, in a row for each of the circumstances, 6 at most: that share
    over overhead as a share, log, all with the same limits. A policy that loses nothing at any
    point is a dashed level at its least overhead.

    `table`: a row a point and policy: `policy`, its `system`; `overhead`, a share of the useful
    time; `pls` and `updates_lost`, shares of what is learned; each of the three with its 95 %
    interval, `_low` to `_high`. Where there is a column `circumstances`, values of what is `varied`
    other than choices, each of them has a row of panels: points of different ones are never in the
    same.
    """
    if "circumstances" not in table or table["circumstances"].nunique() == 1:
        table = table.assign(circumstances="", varied="")
    found, varied = table["circumstances"].unique(), table["varied"].iloc[0]
    kept = found[np.unique(np.linspace(0, len(found) - 1, min(len(found), _MOST_ROWS)).astype(int))]
    several = len(kept) > 1
    shown = table[table["circumstances"].isin(kept)]
    limits = ticks.log_limits(shown[[*LOSSES]].where(shown[[*LOSSES]] > NOTHING), 10, 1.6)
    sheet = Sheet(len(LOSSES) * len(kept), len(LOSSES), sharey=True, y=marks.OVERHEAD)
    marks.log_shares(sheet.axes, shown[["overhead"]])
    panels = [(name, loss) for name in kept for loss in LOSSES]
    for axes, (name, loss) in zip(sheet.axes, panels, strict=True):
        heading, label = LOSSES[loss]
        ticks.scale(axes.xaxis, limits, label, ticks.shares, log=10)
        axes.set_title(heading + f"\n{varied} = {name}" * several)
        for policy, system, rows in marks.by_policy(shown[shown["circumstances"] == name]):
            if (rows[[*LOSSES]] > NOTHING).any(axis=None):
                lossy = rows[rows[loss] > NOTHING].sort_values(loss)
                look = marks.points(system) | marks.line(system) | {"label": policy}
                marks.with_whiskers(axes, lossy, loss, "overhead", look)
            else:
                level = marks.line(system, 1) | {"label": f"{policy}: loses nothing"}
                axes.axhline(rows["overhead"].min(), **level)
    notes = [f"{len(kept)} of {len(found)} circumstances shown"] * (len(kept) < len(found))
    notes.append("Simulated, with 95 % intervals")
    finding = f"At {varied} = {kept[-1]}, " * several
    finding += _fastest(shown[shown["circumstances"] == kept[-1]])
    return sheet.done(finding, title, notes, 1.45 if several else 2.5)


def _fastest(rows: pd.DataFrame) -> str:
    """Say what the fastest point loses, and the fastest that loses nothing; by the means."""
    rows = rows.sort_values("overhead", kind="stable")
    safe = rows[(rows[[*LOSSES]] <= NOTHING).all(axis=1)]
    first = rows.iloc[0]
    said = f"{first['policy']} loses {percent(first['overhead'])} of the time"
    if len(safe) and safe.index[0] == rows.index[0]:
        return f"{said} and no learning: none loses less time"
    said += f" and {percent(first['updates_lost'])} of the updates"
    if len(safe):
        said += f"; {safe['policy'].iloc[0]} loses {percent(safe['overhead'].iloc[0])} and none"
    return said


_MEASURED: Final = "Lines: simulated. Hollow: as the paper measured it"


@style.styled()
def ecrm_overhead(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the overhead of checkpoints and of erasure coding against the size of the model.

    Its axes: gigabytes, log, over overhead as a share.

    `table`: a row a size and policy: `size_gb`; `policy`, its `system`; `overhead` as simulated and
    `published` as the paper measured it, shares of the useful time.
    """
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    _size_axis(axes, table)
    most = 1.08 * float(table[["overhead", "published"]].to_numpy().max())
    ticks.scale(axes.yaxis, (0, most), marks.OVERHEAD, ticks.shares)
    names: dict[tuple[float, ...], list[str]] = {}  # of lines that cover each other
    for _, _, policy, rows in _by_system(table):
        names.setdefault(tuple(rows["overhead"]), []).append(policy)
    for system, nth, _, rows in _by_system(table):
        label = " and ".join(names.pop(tuple(rows["overhead"]), ["_"]))
        axes.plot(rows["size_gb"], rows["overhead"], label=label, **marks.line(system, nth))
        axes.plot(rows["size_gb"], rows["published"], **marks.points(system, hollow=True))
    where, least, most_of, there = _largest(table, "overhead")
    finding = f"{where}, {least} take{'s' * (not least.endswith('min'))} "
    finding += f"{percent(there[least])} of the time"
    finding += f", {most_of} {percent(there[most_of])}" * (least != most_of)
    return sheet.done(finding, title, [_MEASURED], key="below")


@style.styled()
def ecrm_recovery(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the time to recover a lost server against the size of the model.

    With axes for each policy that loads checkpoints (system `full`), each with all others:
    gigabytes over seconds, both log.

    `table`: a row a size and policy: `size_gb`; `policy`, its `system`; `best_s`, `recovery_s` and
    `worst_s`, on average and at the ends, and the same as the paper measured them under
    `published_best_s`, `published_s`, `published_worst_s`; seconds.
    """
    policies = [*_by_system(table)]
    baselines = [(name, rows) for system, _, name, rows in policies if system == "full"]
    others = [each for each in policies if each[0] != "full"]
    sheet = Sheet(len(baselines), sharey=True, y="time to recover a lost server")
    limits = ticks.log_limits(table.filter(regex="_s$"), 6)
    for axes, (name, own) in zip(sheet.axes, baselines, strict=True):
        axes.set_title(name.capitalize())
        ticks.scale(axes.yaxis, limits, "", ticks.durations, log=10)
        _size_axis(axes, table)
        for system, nth, policy, rows in (("full", 0, "checkpoints", own), *others):
            x = rows["size_gb"]
            axes.fill_between(x, rows["best_s"], rows["worst_s"], **marks.BAND)
            axes.plot(x, rows["recovery_s"], label=policy, **marks.line(system, nth))
            for column in ("published_best_s", "published_s", "published_worst_s"):
                axes.plot(x, rows[column], **marks.points(system, hollow=True))
    where, least, most, there = _largest(table, "recovery_s")
    finding = f"{where}, a server is back in {duration(there[least])} by {least}"
    finding += f", in {duration(there[most])} by {most}" * (least != most)
    return sheet.done(finding, title, [_MEASURED, "Band: from best to worst"], 2.3, "below")


def _largest(table: pd.DataFrame, measure: str) -> tuple[str, str, str, "pd.Series[float]"]:
    """Return the largest size, the policies of the least and the most there, and all values."""
    size = table["size_gb"].max()
    there = table[table["size_gb"] == size].set_index("policy")[measure]
    return f"At {number(size)} GB", str(there.idxmin()), str(there.idxmax()), there


def _by_system(table: pd.DataFrame) -> Iterator[tuple[str, int, str, pd.DataFrame]]:
    """Yield system, which of its policies it is, name and rows of each policy."""
    for system, some in table.groupby("system", sort=False):
        for nth, (policy, rows) in enumerate(some.groupby("policy", sort=False)):
            yield str(system), nth, str(policy), rows.sort_values("size_gb")


def _size_axis(axes: Axes, table: pd.DataFrame) -> None:
    """Put sizes of models on x, log."""
    sizes = sorted(table["size_gb"].unique())
    names = {float(size): f"{number(size)} GB" for size in sizes}
    label = "size of model and optimizer state"
    ticks.scale(axes.xaxis, ticks.log_limits(sizes, 2), label, names, log=2)
