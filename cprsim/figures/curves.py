"""Curves and points: overhead, time to recover, MTBF, updates lost and accuracy against others."""

import math
from collections.abc import Mapping
from itertools import cycle
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWNBASE

from cprsim.basics.units import counted, format_duration
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures import marks, style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, duration, number, percent, wrapped

#: The MTBF models of a table of `scaling`, in the order of the panels: what each assumes, and x.
MODELS: Final = {
    "linear": ("MTBF falls as 1 / servers", "parameter servers"),
    "independent": ("Each fails with chance p an hour", "parameter servers"),
}
#: What a table of `sensitivity` varies.
_VARIED: Final = {
    "failures": ("More failures", "failures in the job"),
    "share": ("More servers lost in each", "servers lost, % of all"),
}


def scaling(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the number of servers under two MTBF models, a curve a policy.

    With axes for each model: servers over overhead as a share, both log.

    Parameters
    ----------
    table
        A row a model, number of servers and policy: `model`, one of `MODELS`; `servers`; `policy`
        and its `system`; `first_order`, the overhead in closed form; `overhead` as simulated, with
        its 95 % interval `overhead_low` to `overhead_high`. All three are shares of the useful
        time.
    """
    return _estimates(table, title, "model", "servers", MODELS, "servers")


def sensitivity(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead against the number of failures, and the share of servers that each takes.

    With two axes over overhead as a share, log: failures, log, and the share of servers.

    Parameters
    ----------
    table
        A row a point and policy: `varied`, `"failures"` or `"share"`; `value` of that, a number of
        failures or a share; the other columns are those of `scaling`.
    """
    return _estimates(table, title, "varied", "value", _VARIED, "failures")


@style.styled()
def _estimates(
    table: pd.DataFrame,
    title: str,
    by: str,
    x: str,
    panels: Mapping[str, tuple[str, str]],
    noun: str,
) -> Figure:
    """Draw a line of closed forms and points of simulated overheads for each policy.

    `by`: the column that says in which panel a row is. `noun`: what the first panel counts.
    """
    sheet = Sheet(len(panels), sharey=True, y=marks.OVERHEAD)
    marks.log_shares(sheet.axes, table.filter(regex="^(first_order|overhead)"))
    for axes, (name, (heading, label)) in zip(sheet.axes, panels.items(), strict=True):
        rows = table[table[by] == name]
        values = rows[x].unique().astype(float)
        if name == "share":
            names = {value: f"{100 * value:g} %" for value in values}
            ticks.scale(axes.xaxis, (0, 1.1 * values.max()), label, names)
        else:
            names = {value: number(value) for value in values}
            ticks.scale(axes.xaxis, ticks.log_limits(values, 2), label, names, log=10)
        axes.set_title(heading)
        ends = []
        for policy, system, own in marks.by_policy(rows):
            axes.plot(own[x], own["first_order"], **marks.line(system))
            marks.with_whiskers(axes, own, x, "overhead", marks.points(system))
            ends.append((own[x].iloc[-1], own["overhead"].iloc[-1], policy, system))
        if sheet.narrow or axes is sheet.axes[-1]:
            marks.name_ends(axes, ends)
    note = "Lines: closed form, to first order; points: simulated, 95 % interval"
    first = table[table[by] == next(iter(panels))]
    return sheet.done(_growth(first, x, noun), title, [note], 2.3)


def _growth(rows: pd.DataFrame, x: str, noun: str) -> str:
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

    Parameters
    ----------
    table
        A row an interval and system: `interval_s`, seconds; `system`; `closed_form`, its expected
        overhead; `overhead` as simulated with its 95 % interval `overhead_low` to `overhead_high`,
        not a number where none was simulated; `chosen`, whether that system chooses this interval,
        and `best`, whether it is where full recovery's closed form is least.
        Overheads are shares of the useful time.
    """
    sheet = Sheet(ax=ax, y=marks.OVERHEAD)
    (axes,) = sheet.axes
    rows = table.sort_values("interval_s")
    marks.log_shares([axes], rows[["closed_form", "overhead"]])
    limits = ticks.log_limits(rows["interval_s"], 6)
    ticks.scale(axes.xaxis, limits, "time between two saves", ticks.durations, log=10)
    ringed: list[tuple[str, dict[str, Any], pd.DataFrame]] = []
    for name in table["system"].unique():
        each = rows[rows["system"] == name]
        words, rule = _RULES[name]
        axes.plot(each["interval_s"], each["closed_form"], label=words, **marks.line(name))
        seen = each[each["overhead"].notna()]
        marks.with_whiskers(axes, seen, "interval_s", "overhead", marks.points(name))
        ringed.append((rule, marks.points(name) | _RING, each[each["chosen"]]))
    ringed.append(("least of the closed form", marks.points("full") | _STAR, rows[rows["best"]]))
    for words, look, at in ringed:
        for interval_s, overhead in zip(at["interval_s"], at["closed_form"], strict=True):
            label = f"{words}: {format_duration(interval_s)}"
            axes.plot(interval_s, overhead, zorder=5, label=label, **look)
    sheet.key()
    note = (
        "Lines: closed form; a step: one save less. Points: simulated, 95 % interval, "
        "exponential failures"
    )
    return sheet.done(_least_interval(table), title, [note])


def _least_interval(table: pd.DataFrame) -> str:
    """Say where full recovery has its least, and what the interval that is chosen loses."""
    full = table[table["system"] == "full"]
    (least,) = full[full["best"]].to_dict("records")
    said = (
        f"Full recovery is at its least, {percent(least['closed_form'])}, with a save "
        f"every {format_duration(least['interval_s'])}"
    )
    return "; as chosen, ".join([said, *map(percent, full.loc[full["chosen"], "closed_form"])])


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

    Parameters
    ----------
    table
        A row a point and policy: `policy`, its `system`; `overhead`, a share of the useful time;
        `pls` and `updates_lost`, shares of what is learned; each of the three with its 95 %
        interval, `_low` to `_high`. Where there is a column `circumstances`, values of
        what is `varied` other than choices, each of them has a row of panels: points of different
        ones are never in the same.
    """
    if "circumstances" not in table or table["circumstances"].nunique() == 1:
        table = table.assign(circumstances="", varied="")
    found = table["circumstances"].unique()
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
        axes.set_title(heading + f"\n{table['varied'].iloc[0]} = {name}" * several)
        for policy, system, rows in marks.by_policy(shown[shown["circumstances"] == name]):
            if (rows[[*LOSSES]] > NOTHING).any(axis=None):
                lossy = rows[rows[loss] > NOTHING].sort_values(loss)
                look: dict[str, Any] = marks.points(system) | marks.line(system)
                marks.with_whiskers(axes, lossy, loss, "overhead", look | {"label": policy})
            else:
                least, label = rows["overhead"].min(), f"{policy}: loses nothing"
                axes.axhline(least, label=label, **marks.line(system, 1))
    sheet.key()
    notes = [f"{len(kept)} of {len(found)} circumstances shown"] * (len(kept) < len(found))
    notes.append("Simulated, with 95 % intervals")
    last = shown[shown["circumstances"] == kept[-1]]
    where = f"At {table['varied'].iloc[0]} = {kept[-1]}, " * several
    return sheet.done(where + _fastest(last), title, notes, 1.45 if several else 2.5)


def _fastest(rows: pd.DataFrame) -> str:
    """Say what the fastest point loses, and the fastest that loses nothing; by the means."""
    fastest = rows.iloc[int(rows["overhead"].argmin())]
    said = f"{fastest['policy']} loses {percent(fastest['overhead'])} of the time"
    if max(fastest["pls"], fastest["updates_lost"]) <= NOTHING:
        return f"{said} and no learning: none loses less time"
    said += f" and {percent(fastest['updates_lost'])} of the updates"
    keeps = rows[(rows[[*LOSSES]] <= NOTHING).all(axis=1)]
    if keeps.empty:
        return said
    safe = keeps.iloc[int(keeps["overhead"].argmin())]
    return f"{said}; {safe['policy']} loses {percent(safe['overhead'])} and none"


_MEASURED: Final = "Lines: simulated. Hollow: as the paper measured it"


@style.styled()
def ecrm_overhead(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the overhead of checkpoints and of erasure coding against the size of the model.

    Its axes: gigabytes, log, over overhead as a share.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `overhead` as simulated and
        `published` as the paper measured it, shares of the useful time.
    """
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    _size_axis(axes, table)
    most = 1.08 * float(table[["overhead", "published"]].to_numpy().max())
    ticks.scale(axes.yaxis, (0, most), marks.OVERHEAD, ticks.shares)
    ends: dict[tuple[float, ...], tuple[list[str], str]] = {}  # lines that cover each other
    for system, nth, policy, rows in _looks(table):
        axes.plot(rows["size_gb"], rows["overhead"], **marks.line(system, nth))
        axes.plot(rows["size_gb"], rows["published"], **marks.points(system, hollow=True))
        ends.setdefault(tuple(rows["overhead"]), ([], system))[0].append(policy)
    last_gb = float(table["size_gb"].max())
    marks.name_ends(
        axes, [(last_gb, line[-1], " and ".join(ns), system) for line, (ns, system) in ends.items()]
    )
    where, least, most_of, there = _largest(table, "overhead")
    finding = f"{where}, {least} take{'s' * (not least.endswith('min'))} "
    finding += f"{percent(there[least])} of the time"
    finding += f", {most_of} {percent(there[most_of])}" * (least != most_of)
    return sheet.done(finding, title, [_MEASURED])


@style.styled()
def ecrm_recovery(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the time to recover a lost server against the size of the model.

    With axes for each policy that loads checkpoints (system `full`), each with all others:
    gigabytes over seconds, both log.

    Parameters
    ----------
    table
        A row a size and policy: `size_gb`; `policy`, its `system`; `best_s`, `recovery_s` and
        `worst_s`, on average and at the ends, and the same as the paper measured them under
        `published_best_s`, `published_s`, `published_worst_s`; seconds.
    """
    policies = _looks(table)
    baselines = [each for each in policies if each[0] == "full"]
    others = [each for each in policies if each[0] != "full"]
    sheet = Sheet(len(baselines), sharey=True, y="time to recover a lost server")
    limits = ticks.log_limits(table.filter(regex="_s$"), 6)
    for axes, (_, _, name, own) in zip(sheet.axes, baselines, strict=True):
        axes.set_title(name.capitalize())
        ticks.scale(axes.yaxis, limits, "", ticks.durations, log=10)
        _size_axis(axes, table)
        for system, nth, policy, rows in (("full", 0, "checkpoints", own), *others):
            x = rows["size_gb"]
            axes.fill_between(x, rows["best_s"], rows["worst_s"], **marks.BAND)
            axes.plot(x, rows["recovery_s"], label=policy, **marks.line(system, nth))
            for column in ("published_best_s", "published_s", "published_worst_s"):
                axes.plot(x, rows[column], **marks.points(system, hollow=True))
    sheet.key("below")
    where, least, most, there = _largest(table, "recovery_s")
    finding = f"{where}, a server is back in {duration(there[least])} by {least}"
    finding += f", in {duration(there[most])} by {most}" * (least != most)
    return sheet.done(finding, title, [_MEASURED, "Band: from best to worst"], 2.3)


def _largest(table: pd.DataFrame, measure: str) -> tuple[str, str, str, "pd.Series[float]"]:
    """Return the largest size, the policies of the least and the most there, and all values."""
    size = table["size_gb"].max()
    there = table[table["size_gb"] == size].set_index("policy")[measure]
    return f"At {number(size)} GB", str(there.idxmin()), str(there.idxmax()), there


def _looks(table: pd.DataFrame) -> list[tuple[str, int, str, pd.DataFrame]]:
    """Return system, which of its policies it is, name and rows of each, in the table's order."""
    found: list[tuple[str, int, str, pd.DataFrame]] = []
    for policy, system, rows in marks.by_policy(table):
        nth = sum(each[0] == system for each in found)
        found.append((system, nth, policy, rows.sort_values("size_gb")))
    return found


def _size_axis(axes: Axes, table: pd.DataFrame) -> None:
    """Put sizes of models on x, log."""
    sizes = sorted(table["size_gb"].unique())
    names = {float(size): f"{number(size)} GB" for size in sizes}
    label = "size of model and optimizer state"
    ticks.scale(axes.xaxis, ticks.log_limits(sizes, 2), label, names, log=2)


_BEYOND: Final = 30.0  # no interval moves the limits farther than this from what was measured
#: The models, what each assumes, and the look of its line; the thin one on top.
_MTBF_MODELS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "independent_s": (
        "independent: step / (1−(1−p)ⁿ), where each node fails in a step with chance p",
        {"color": style.LAW_COLOURS["gamma"], "linewidth": 1.8},
    ),
    "linear_s": (
        "linear: MTBF of one node / n, where no failures coincide",
        {"color": style.LAW_COLOURS["weibull"], "linestyle": style.LAW_DASHES["weibull"]},
    ),
}


@style.styled()
def mtbf_by_nodes(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw the mean time between failures (MTBF) against nodes: measured, and by two models.

    Its axes are log, nodes over seconds.

    Parameters
    ----------
    table
        A row a number of nodes: `nodes`; `measured_s` with its 95 % interval `low_s` to `high_s`,
        not a number where nothing was measured, `high_s` infinite where nothing bounds it;
        `linear_s`, the MTBF of one node / nodes; `independent_s`, step / (1 - (1 - p)^nodes).
        All but `nodes` in seconds.
    """
    rows = table.sort_values("nodes")
    values = rows[["measured_s", *_MTBF_MODELS]].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    ends = rows[["low_s", "high_s"]].clip(values.min() / _BEYOND, values.max() * _BEYOND)
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    low_s, high_s = ticks.log_limits(np.append(values, ends), 6)
    low, high = ticks.log_limits(rows["nodes"], 6)
    ticks.scale(axes.xaxis, (max(low, 0.85), high), "nodes of the job", log=10)
    label = "mean time between its failures"
    ticks.scale(axes.yaxis, (low_s, high_s), label, ticks.durations, log=10)
    marker = "_" if len(rows) == 1 else ""  # a line of one point can't be seen
    for name, (words, look) in _MTBF_MODELS.items():
        own: dict[str, Any] = {"linewidth": 1.2, "marker": marker, "markersize": 12} | look
        axes.plot(rows["nodes"], rows[name], label=words, **own)
    seen = rows["measured_s"].between(0, math.inf, inclusive="neither")
    measured = rows.loc[seen, ["nodes", "measured_s"]]
    # Where the interval is open the whisker leaves the picture.
    reach = rows.loc[seen, [*ends]].clip(low_s / 1.25, high_s * 1.25)
    measured[["measured_s_low", "measured_s_high"]] = reach
    look = marks.points("full") | {"clip_on": True, "label": "measured: 95 % interval"}
    marks.with_whiskers(axes, measured, "nodes", "measured_s", look)
    sheet.key()
    return sheet.done(_fall(rows), title, ["Simultaneous failures count as one"])


def _fall(rows: pd.DataFrame) -> str:
    """Say how the measured MTBF falls, and whether 1 / nodes is within its intervals."""
    seen = rows[np.isfinite(rows["measured_s"])]
    if seen.empty:
        return ""
    first, last = seen.iloc[0], seen.iloc[-1]
    few, many = (counted(round(each["nodes"]), "node") for each in (first, last))
    said = f"The MTBF is {duration(last['measured_s'])} on {many}"
    if len(seen) == 1:
        return said
    inside = (seen["low_s"] <= seen["linear_s"]) & (seen["linear_s"] <= seen["high_s"])
    said += f", {duration(first['measured_s'])} on {few}"
    return f"{said}: {'as' if inside.all() else 'not as'} 1 / nodes says"


#: The fraction of the CPR paper.
_CHOSEN: Final = 0.125
#: Trackers, with their words, which rows they take, and the look of their lines. Later ones lie on
#: top. Those of a policy have its colour, the others are grey.
_TRACKERS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "random": (
        "random",
        "other rows for each save",
        {"color": style.FAINT_INK, "linestyle": style.LAW_DASHES["exponential"]},
    ),
    "round-robin": (
        "round-robin",
        "in turn, whether accessed or not",
        {"color": style.LEARNING_COLOUR, "linestyle": style.LAW_DASHES["weibull"]},
    ),
    "ssu": (
        "SSU",
        "from a bounded list of those that were accessed in a sub-sample of the batches",
        {"color": style.SYSTEM_COLOURS["cpr-ssu"]},
    ),
    "mfu": (
        "MFU",
        "most accessed since their last save",
        {"color": style.SYSTEM_COLOURS["cpr-mfu"], "linewidth": 2.0},
    ),
    # Its dashes show the line of MFU where they cover it.
    "scar": ("SCAR", "most changed since their last save", marks.line("cpr-scar")),
}


@style.styled()
def lost_rows(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw updates lost in a failure under priority saving, against the share of rows of a save.

    Axes for each skew, in the table's order: fractions, log, over shares (1 is 100 %), all with the
    same limits.

    Parameters
    ----------
    table
        A row a point: `skew`, the name of a popularity; `tracker`, one of
        `cprsim.rows.meanfield.TRACKERS`; `fraction` of the rows that a save takes, > 0 and <= 1;
        `relative`, what a failure loses as a share of what it would if everything were saved once
        an interval (CPR-vanilla), over some time or in the long run; not a number for none.
    """
    skews = list(table["skew"].unique())
    label = "updates lost, % of CPR-vanilla's"
    sheet = Sheet(len(skews), min(2, len(skews)), sharey=True, sharex=True, y=label)
    low, high = ticks.log_limits(table["fraction"], 4.2)  # two doublings and a little
    most = max(1.0, float(table["relative"].replace(np.inf, np.nan).max()))
    powers = range(max(0, math.ceil(-math.log2(high))), 1 - math.ceil(math.log2(low)))
    names = {0.5**p: f"1/{2**p}" if p else "1" for p in powers}
    for skew, axes in zip(skews, sheet.axes, strict=True):
        axes.set_title(wrapped(str(skew), 22))
        ticks.scale(axes.xaxis, (low, high), "", names, log=2, keep=_CHOSEN)
        ticks.scale(axes.yaxis, (0, 1.06 * most), "", ticks.shares)
        colour = style.SYSTEM_COLOURS["cpr-vanilla"]
        label = "CPR-vanilla: everything once an interval, 100 %"
        axes.axhline(1, color=colour, linewidth=1.0, zorder=1.9, label=label)
        if low <= _CHOSEN <= high:
            look: dict[str, Any] = {"linestyle": "none", "marker": CARETDOWNBASE}
            look |= {"color": style.FAINT_INK, "transform": axes.get_xaxis_transform()}
            label = "1/8 of the rows: the choice of the CPR paper"
            axes.plot(_CHOSEN, 1, markersize=4, markeredgewidth=0, label=label, **look)
        for tracker, (words, takes, look) in _TRACKERS.items():
            rows = table[(table["skew"] == skew) & (table["tracker"] == tracker)]
            rows = rows.sort_values("fraction")
            if len(rows):
                own: dict[str, Any] = {"linewidth": 1.3, "marker": "o", "markersize": 2.8} | look
                label = f"{words}: {takes}"
                axes.plot(rows["fraction"], rows["relative"], label=label, clip_on=False, **own)
    for axes in sheet.axes[-sheet.columns :]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("share of all rows that a save takes")
    sheet.key()
    return sheet.done(_best_tracker(table), title, height_in=1.5 if sheet.rows > 1 else 2.5)


def _best_tracker(table: pd.DataFrame) -> str:
    """Say what the best tracker loses where a save takes as many rows as the CPR paper's."""
    there = table[np.isfinite(table["relative"])]
    if there.empty:
        return ""
    at = min(there["fraction"].unique(), key=lambda each: abs(math.log2(each / _CHOSEN)))
    by_tracker = there[there["fraction"] == at].groupby("tracker")["relative"]
    best = by_tracker.mean().idxmin()
    low, high = (percent(end) for end in (by_tracker.min()[best], by_tracker.max()[best]))
    span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    rows = f"1/{1 / at:.3g}" if at < 1 else "all"
    name = _TRACKERS[best][0]
    return f"Saves of {rows} of the rows by {name} lose {span} of CPR-vanilla's updates"


_ROOM: Final = 1.06  # beyond the outermost points
#: How points look by how many servers fail at once, the least first.
_AT_ONCE: Final[tuple[dict[str, Any], ...]] = (
    {"marker": "o", "markerfacecolor": "white", "markeredgewidth": 0.9},
    {"marker": "s", "markersize": 4.5},
    {"marker": "X", "markersize": 6.0},
    {"marker": "*", "markersize": 7.0},
)
_SEED: Final[dict[str, Any]] = {
    "color": style.RULE,
    "linewidth": 0.8,
    "marker": "o",
    "markersize": 2.6,
    "markeredgewidth": 0,
    "markerfacecolor": style.LEARNING_COLOUR,
}
_AUC: Final = "AUC below that without failures"
_MEANS: Final = "Means over the seeds, with 95 % intervals"


@style.styled()
def pls_accuracy(
    points: pd.DataFrame, slopes: Mapping[str, tuple[float, float]], title: str = ""
) -> Figure:
    """Draw drops of AUC against the portion of lost samples, with lines through the origin.

    The first axes have the points at which one server fails at a time, and the lines. The second,
    which are there if there is something to see in them, those of one policy at which several do at
    once, and its others.

    Parameters
    ----------
    points
        A row a point: `policy`, its `system`; `servers_hit` by a failure, out of `servers`; means
        `pls` and `auc_drop`, each with its 95 % interval, `_low` to `_high`.
    slopes
        By system the drop of AUC for each unit of PLS, and the largest PLS it was fitted to.
    """
    one = points[points["servers_hit"] == 1]
    several = points[points["policy"].isin(points.loc[points["servers_hit"] > 1, "policy"])]
    sheet = Sheet(1 + (not several.empty), sharey=True, y=_AUC)
    low, high = points["auc_drop_low"].min(), points["auc_drop_high"].max()
    headings = ("One server at a time", "Several at once, under one policy")
    for axes, heading in zip(sheet.axes, headings, strict=False):
        axes.set_title(heading)
        most = _ROOM * points["pls_high"].max()
        ticks.scale(axes.xaxis, (0, most), "PLS, share of all samples")
        ticks.scale(axes.yaxis, (min(0, _ROOM * low), _ROOM * high))
    for policy, system, rows in marks.by_policy(one):
        label = policy
        if system in slopes:
            slope, up_to = slopes[system]
            label += f": slope {slope:.4f}"
            sheet.axes[0].plot([0.0, up_to], [0.0, slope * up_to], **marks.line(system))
        look = marks.points(system) | {"label": label}
        marks.with_whiskers(sheet.axes[0], rows, "pls", "auc_drop", look)
    # By servers that fail at once, the fewest first.
    for marker, (hit, rows) in zip(cycle(_AT_ONCE), several.groupby("servers_hit")):
        look = marks.points(str(rows["system"].iloc[0])) | marker
        look["label"] = f"{hit} of {rows['servers'].iloc[0]}: at once"
        marks.with_whiskers(sheet.axes[-1], rows, "pls", "auc_drop", look)
    sheet.key()
    return sheet.done(_steepest(one, slopes), title, [_MEANS])


def _steepest(one: pd.DataFrame, slopes: Mapping[str, tuple[float, float]]) -> str:
    """Name the steepest slope and the flattest."""
    names = {system: policy for policy, system, _ in marks.by_policy(one)}
    order = sorted((slopes[system][0], names[system]) for system in names if system in slopes)
    if not order:
        return ""
    (least, best), (most, worst) = order[0], order[-1]
    said = f"A tenth of PLS takes {most / 10:.2g} of AUC under {worst}"
    return said if len(order) == 1 else f"{said}, {least / 10:.2g} under {best}"


@style.styled()
def policy_accuracy(
    runs: pd.DataFrame, points: pd.DataFrame, title: str = "", *, ax: Axes | None = None
) -> Figure:
    """Draw drops of AUC of each policy: a line a seed, means with their intervals on top.

    With one pair of axes: policies 0, 1, ... over drops of AUC.

    Parameters
    ----------
    runs
        A row a run: `seed`, `policy`, and its `auc_drop`.
    points
        A row a policy, in the order in which they are drawn: `policy`, its `system`, and the mean
        `auc_drop` with its 95 % interval, `auc_drop_low` to `auc_drop_high`; `pls`, `updates_lost`.
    """
    order = list(points["policy"])
    by_seed = runs.pivot_table(values="auc_drop", index="seed", columns="policy")[order]
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    label = "line: one seed: same data, model and failures"
    for drops in by_seed.to_numpy():
        axes.plot(range(len(order)), drops, label=label, **_SEED)
    low = min(by_seed.min(axis=None), points["auc_drop_low"].min(), 0)
    high = max(by_seed.max(axis=None), points["auc_drop_high"].max())
    ticks.scale(axes.yaxis, (low - 0.06 * high, 1.06 * high), _AUC)
    axes.set_xlim(-0.5, len(order) - 0.5)
    axes.set_xticks(range(len(order)), [name.replace("-", "-\n", 1) for name in order])
    for place, (policy, system, rows) in enumerate(marks.by_policy(points)):
        lost = f"{100 * rows['updates_lost'].iloc[0]:.0f} % of updates lost"
        label = f"{policy}: PLS {rows['pls'].iloc[0]:.2f}, {lost}"
        look = marks.points(system) | {"markersize": 6.0, "label": label}
        marks.with_whiskers(axes, rows.assign(place=place), "place", "auc_drop", look)
    sheet.key()
    return sheet.done(_least_and_most(points), title, [_MEANS])


def _least_and_most(points: pd.DataFrame) -> str:
    """Say who loses the most and the least AUC, and whether their intervals are apart."""
    order = points.sort_values("auc_drop", kind="stable")
    least, most = order.iloc[0], order.iloc[-1]
    said = f"{most['policy']} loses {most['auc_drop']:.2g} of AUC"
    if len(order) == 1:
        return said
    if least["auc_drop_high"] >= most["auc_drop_low"]:
        return "No policy clearly loses the least AUC"
    lost = f"{least['auc_drop']:.2g}" if least["auc_drop"] > 0 else "none"
    return f"{said}, {least['policy']} {lost}"


#: What a cause may be off by: the larger of a share and so many seconds.
SHARE: Final = 0.25
SECONDS: Final = 0.05


@style.styled()
def predicted_measured(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw predicted seconds against measured ones, a point a run and cause, on log axes.

    With one pair of axes: measured over predicted seconds, the line on which both are equal, and a
    band of `SHARE` or `SECONDS` about it, whichever is wider.

    Parameters
    ----------
    table
        A row a run and cause: `cause`, one of `cprsim.contract.ledger.OVERHEAD_CAUSES` or
        `"overhead"`, all of them together; `predicted` and `measured`, seconds. Rows in which
        either is 0 are left out.
    """
    shown = table[(table[["predicted", "measured"]] > 0).all(axis=1)]
    room = np.maximum(SHARE * shown["measured"], SECONDS)
    near = int(((shown["predicted"] - shown["measured"]).abs() <= room).sum())
    finding = f"{near} of {len(shown)} predictions are within {100 * SHARE:g} % or {SECONDS:g} s"
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    limits = ticks.log_limits(shown[["predicted", "measured"]], 10)
    ticks.scale(axes.xaxis, limits, "measured, s", log=10)
    ticks.scale(axes.yaxis, limits, "predicted, s", log=10)
    for cause, rows in shown.groupby("cause", sort=False):
        look: dict[str, Any] = {"color": style.cause_colour(str(cause)), "linestyle": "none"}
        look |= {"marker": "o" if cause in CAUSE_LABELS else "D", "markersize": 4.5}
        look |= {"markeredgecolor": style.INK, "markeredgewidth": 0.4}
        label = CAUSE_LABELS.get(str(cause), "all overhead")
        axes.plot(rows["measured"], rows["predicted"], label=label, **look)
    along = np.geomspace(*limits, 200)
    off = np.maximum(SHARE * along, SECONDS)
    low = np.maximum(along - off, limits[0])
    label = f"off by {100 * SHARE:g} % or {1e3 * SECONDS:g} ms at most"
    axes.fill_between(along, low, along + off, color=style.TRAINING_COLOUR, zorder=0.5, label=label)
    axes.plot(limits, limits, color=style.FAINT_INK, linewidth=0.8, zorder=0.6)
    sheet.key()
    return sheet.done(finding, title, height_in=3.2)
