"""Points that were measured, with the curves that foretold them: MTBFs, lost rows, accuracy."""

import math
from collections.abc import Mapping
from functools import partial
from itertools import cycle
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETDOWNBASE

from cprsim.basics.units import counted
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures import marks, style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import duration, percent, wrapped

_BEYOND: Final = 30.0  # no interval moves the limits farther than this from what was measured
#: The models, what each assumes, and the look of its line; the thin one on top.
_MTBF_MODELS: Final[dict[str, tuple[str, style.Look]]] = {
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

    `table`: a row a number of nodes: `nodes`; `measured_s` with its 95 % interval `low_s` to
    `high_s`, not a number where nothing was measured, `high_s` infinite where nothing bounds it;
    `linear_s`, the MTBF of one node / nodes; `independent_s`, step / (1 - (1 - p)^nodes). All but
    `nodes` in seconds.
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
        own: style.Look = {"linewidth": 1.2, "marker": marker, "markersize": 12} | look
        axes.plot(rows["nodes"], rows[name], label=words, **own)
    # Where the interval is open the whisker leaves the picture.
    measured = rows.assign(
        measured_s_low=rows["low_s"].clip(low_s / 1.25),
        measured_s_high=rows["high_s"].clip(upper=high_s * 1.25),
    )[np.isfinite(rows["measured_s"])]
    look = marks.points("full") | {"clip_on": True, "label": "measured: 95 % interval"}
    marks.with_whiskers(axes, measured, "nodes", "measured_s", look)
    return sheet.done(_fall(measured), title, ["Simultaneous failures count as one"])


def _fall(seen: pd.DataFrame) -> str:
    """Say how the measured MTBF falls, and whether 1 / nodes is within its intervals."""
    if seen.empty:
        return ""
    first, last = seen.iloc[0], seen.iloc[-1]
    few, many = (counted(round(each["nodes"]), "node") for each in (first, last))
    said = f"The MTBF is {duration(last['measured_s'])} on {many}"
    if len(seen) == 1:
        return said
    inside = seen["linear_s"].between(seen["low_s"], seen["high_s"]).all()
    said += f", {duration(first['measured_s'])} on {few}"
    return f"{said}: {'as' if inside else 'not as'} 1 / nodes says"


#: The fraction of the CPR paper.
_CHOSEN: Final = 0.125
#: Trackers: which rows they take, and the look of their lines. Later ones lie on top. Those of a
#: policy have its colour, the others are grey.
_TRACKERS: Final[dict[str, tuple[str, style.Look]]] = {
    "random": ("random: other rows for each save", {"color": style.FAINT_INK, "linestyle": ":"}),
    "round-robin": (
        "round-robin: in turn, whether accessed or not",
        {"color": style.LEARNING_COLOUR, "linestyle": "--"},
    ),
    "ssu": (
        "SSU: from a bounded list of those that were accessed in a sub-sample of the batches",
        marks.line("cpr-ssu"),
    ),
    "mfu": ("MFU: most accessed since their last save", marks.line("cpr-mfu") | {"linewidth": 2.0}),
    # Its dashes show the line of MFU where they cover it.
    "scar": ("SCAR: most changed since their last save", marks.line("cpr-scar")),
}


@style.styled()
def lost_rows(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw updates lost in a failure under priority saving, against the share of rows of a save.

    Axes for each skew, in the table's order: fractions, log, over shares (1 is 100 %), all with the
    same limits.

    `table`: a row a point: `skew`, the name of a popularity; `tracker`, one of
    `cprsim.rows.meanfield.TRACKERS`; `fraction` of the rows that a save takes, > 0 and <= 1;
    `relative`, what a failure loses as a share of what it would if everything were saved once an
    interval (CPR-vanilla), over some time or in the long run; not a number for none.
    """
    skews = list(table["skew"].unique())
    label = "updates lost, % of CPR-vanilla's"
    sheet = Sheet(len(skews), min(2, len(skews)), sharey=True, sharex=True, y=label)
    low, high = ticks.log_limits(table["fraction"], 4.2)  # two doublings and a little
    most = max(1.0, float(table["relative"].replace(np.inf, np.nan).max()))
    powers = range(max(0, math.ceil(-math.log2(high))), 1 - math.ceil(math.log2(low)))
    # Every one, or every second or third, the paper's 1/8 among them.
    names = [
        {0.5**p: f"1/{2**p}" if p else "1" for p in powers if (p - 3) % n == 0} for n in (1, 2, 3)
    ]
    for skew, axes in zip(skews, sheet.axes, strict=True):
        axes.set_title(wrapped(str(skew), 22))
        ticks.scale(axes.xaxis, (low, high), "", partial(ticks.show, choices=names), log=2)
        ticks.scale(axes.yaxis, (0, 1.06 * most), "", ticks.shares)
        vanilla: style.Look = {"color": style.SYSTEM_COLOURS["cpr-vanilla"], "zorder": 1.9}
        label = "CPR-vanilla: everything once an interval, 100 %"
        axes.axhline(1, linewidth=1.0, label=label, **vanilla)
        if low <= _CHOSEN <= high:
            look: style.Look = {"linestyle": "none", "marker": CARETDOWNBASE, "markersize": 4}
            look |= {"color": style.FAINT_INK, "transform": axes.get_xaxis_transform()}
            label = "1/8 of the rows: the choice of the CPR paper"
            axes.plot(_CHOSEN, 1, markeredgewidth=0, label=label, **look)
        for tracker, (label, look) in _TRACKERS.items():
            rows = table[(table["skew"] == skew) & (table["tracker"] == tracker)]
            rows = rows.sort_values("fraction")
            if len(rows):
                own: style.Look = {"linewidth": 1.3, "marker": "o", "markersize": 2.8} | look
                axes.plot(rows["fraction"], rows["relative"], label=label, clip_on=False, **own)
    for axes in sheet.axes[-sheet.columns :]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("share of all rows that a save takes")
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
    name, _, _ = _TRACKERS[best][0].partition(":")
    return f"Saves of {rows} of the rows by {name} lose {span} of CPR-vanilla's updates"


_ROOM: Final = 1.06  # beyond the outermost points
#: How points look by how many servers fail at once, the least first.
_AT_ONCE: Final[tuple[style.Look, ...]] = (
    {"marker": "o", "markerfacecolor": "white", "markeredgewidth": 0.9},
    {"marker": "s", "markersize": 4.5},
    {"marker": "X", "markersize": 6.0},
    {"marker": "*", "markersize": 7.0},
)
_SEED: Final[style.Look] = {
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

    `points`: a row a point: `policy`, its `system`; `servers_hit` by a failure, out of `servers`;
    means `pls` and `auc_drop`, each with its 95 % interval, `_low` to `_high`. `slopes`: by system
    the drop of AUC for each unit of PLS, and the largest PLS it was fitted to.
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
    found = []
    for policy, system, rows in marks.by_policy(one):
        label = policy
        if system in slopes:
            slope, up_to = slopes[system]
            found.append((slope, policy))
            label += f": slope {slope:.4f}"
            sheet.axes[0].plot([0.0, up_to], [0.0, slope * up_to], **marks.line(system))
        look = marks.points(system) | {"label": label}
        marks.with_whiskers(sheet.axes[0], rows, "pls", "auc_drop", look)
    # By servers that fail at once, the fewest first.
    for marker, (hit, rows) in zip(cycle(_AT_ONCE), several.groupby("servers_hit")):
        look = marks.points(str(rows["system"].iloc[0])) | marker
        look["label"] = f"{hit} of {rows['servers'].iloc[0]}: at once"
        marks.with_whiskers(sheet.axes[-1], rows, "pls", "auc_drop", look)
    finding = ""
    if found:
        (most, worst), (least, best) = max(found), min(found)
        finding = f"A tenth of PLS takes {most / 10:.2g} of AUC under {worst}"
        finding += f", {least / 10:.2g} under {best}" * (len(found) > 1)
    return sheet.done(finding, title, [_MEANS])


@style.styled()
def policy_accuracy(
    runs: pd.DataFrame, points: pd.DataFrame, title: str = "", *, ax: Axes | None = None
) -> Figure:
    """Draw drops of AUC of each policy: a line a seed, means with their intervals on top.

    With one pair of axes: policies 0, 1, ... over drops of AUC.

    `runs`: a row a run: `seed`, `policy`, and its `auc_drop`. `points`: a row a policy, in the
    order in which they are drawn: `policy`, its `system`, and the mean `auc_drop` with its 95 %
    interval, `auc_drop_low` to `auc_drop_high`; `pls`, `updates_lost`.
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
    least, *_, most = points.sort_values("auc_drop", kind="stable").iloc[[0, -1]].to_dict("records")
    finding = f"{most['policy']} loses {most['auc_drop']:.2g} of AUC"
    if len(order) > 1 and least["auc_drop_high"] >= most["auc_drop_low"]:
        finding = "No policy clearly loses the least AUC"
    elif len(order) > 1:
        lost = f"{least['auc_drop']:.2g}" if least["auc_drop"] > 0 else "none"
        finding += f", {least['policy']} {lost}"
    return sheet.done(finding, title, [_MEANS])


#: What a cause may be off by: the larger of a share and so many seconds.
SHARE: Final = 0.25
SECONDS: Final = 0.05


@style.styled()
def predicted_measured(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw predicted seconds against measured ones, a point a run and cause, on log axes.

    With one pair of axes: measured over predicted seconds, the line on which both are equal, and a
    band of `SHARE` or `SECONDS` about it, whichever is wider.

    `table`: a row a run and cause: `cause`, one of `cprsim.contract.ledger.OVERHEAD_CAUSES` or
    `"overhead"`, all of them together; `predicted` and `measured`, seconds. Rows in which either is
    0 are left out.
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
        look: style.Look = {"linestyle": "none", "markersize": 4.5, "markeredgewidth": 0.4}
        look |= {"color": style.cause_colour(str(cause)), "markeredgecolor": style.INK}
        look |= {"marker": "o" if cause in CAUSE_LABELS else "D"}
        label = CAUSE_LABELS.get(str(cause), "all overhead")
        axes.plot(rows["measured"], rows["predicted"], label=label, **look)
    along = np.geomspace(*limits, 200)
    off = np.maximum(SHARE * along, SECONDS)
    low = np.maximum(along - off, limits[0])
    label = f"off by {100 * SHARE:g} % or {1e3 * SECONDS:g} ms at most"
    axes.fill_between(along, low, along + off, color=style.TRAINING_COLOUR, zorder=0.5, label=label)
    axes.plot(limits, limits, color=style.FAINT_INK, linewidth=0.8, zorder=0.6)
    return sheet.done(finding, title, height_in=3.2)
