"""Where the time goes, by cause: of policies, causes of failures, jobs of a fleet, and levers."""

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import format_duration, format_percent
from cprsim.contract.ledger import CAUSE_LABELS, FAILURE_COSTS
from cprsim.figures import marks, style
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import NOTHING, listed, percent, wrapped

_SLIM: Final = 0.16  # the bar below another, with lost updates trained again
_BELOW: Final = 0.34  # from the middle of a bar to that of the slim one
_VALUE: Final = (0.14, 0.2)  # of the axis: a part of a bar that holds its value; in a narrow figure


@style.styled()
def breakdown(summary: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead by cause under each policy, and the share of updates lost for good.

    Below the bar of a policy that loses updates lies a slim one: its overhead if all of them were
    trained again.

    Its two axes are the overhead and the updates lost, with x as a share (1 is 100 %) over policies
    0, 1, ... downwards.

    `summary`: a row a policy, as in `cprsim.runs.result.Result.summary`. `interval_s` is in
    seconds; the overhead, retrained or not, and its causes are shares of the useful training time,
    `updates_lost` is one of all updates.
    """
    causes = causes_in(summary, 0.0)
    lossy = summary["updates_lost"] > NOTHING
    rows, names = np.arange(len(summary)), [*map(str, summary.index)]
    sheet = Sheet(2, width_ratios=(1.9, 1))
    time, learning = sheet.axes
    every = [format_duration(each) for each in summary["interval_s"]]
    facts = [
        f"{recovery} recovery, " + ("never saves" if each == "never" else f"saves every {each}")
        for recovery, each in zip(summary["recovery"], every, strict=True)
    ]
    row_in = marks.name_rows(time, names, facts, 0.5 if lossy.any() else 0.42)
    marks.name_rows(learning, names if sheet.narrow else [""] * len(names))
    for axes, measure in ((time, "overhead"), (learning, "updates_lost")):
        ends = summary.filter(regex=f"^{measure}(_high|_retrained|_retrained_high)?$")
        marks.reach(axes, float(np.nanmax(ends.to_numpy(dtype=np.float64))))
    parts = marks.stack(time, summary, causes, 0.44)
    # A value has room in a wide part, left of the whisker.
    room = _VALUE[sheet.narrow] * time.get_xlim()[1]
    before = summary["overhead_low"].fillna(np.inf) - room / 2
    for cause, part in zip(causes, parts, strict=True):
        middle = summary[causes[: causes.index(cause)]].sum(axis=1) + summary[cause] / 2
        wide = (summary[cause] > room) & (middle < before)
        texts = [percent(share) * here for share, here in zip(summary[cause], wide, strict=True)]
        ink = style.ink_on(style.cause_colour(cause))
        time.bar_label(part, texts, label_type="center", size="small", color=ink)
    _values(time, rows, summary, "overhead", "0 %")
    colour, y, again = style.LEARNING_COLOUR, rows[lossy] + _BELOW, summary[lossy]
    time.barh(y, again["overhead"], _SLIM, color=style.paler(colour, 0.6))
    time.barh(y, again["updates_lost"], _SLIM, again["overhead"], color=colour)
    _values(time, y, again, "overhead_retrained", color=style.FAINT_INK)
    learning.barh(rows, summary["updates_lost"], 0.44, color=colour)
    _values(learning, rows, summary, "updates_lost", "none")
    time.set(title="Time lost", xlabel="% of useful training time, by cause")
    learning.set(title="Updates lost", xlabel="% of updates lost for good")
    notes = ["Grey, below a bar: if every lost update were trained again"] * bool(lossy.any())
    if any("±" in text.get_text() for axes in sheet.axes for text in axes.texts):
        notes.append("±: 95 % confidence interval of the mean")
    return sheet.done(breakdown_finding(summary), title, notes, row_in * len(rows), "above")


def _values(
    axes: Axes, at: Any, rows: pd.DataFrame, measure: str, zero: str = "", **look: Any
) -> None:
    """Write means and half their intervals beyond bars, and draw whiskers."""
    halves = rows[f"{measure}_high"] - rows[measure]
    pairs = zip(rows[measure], halves, strict=True)
    texts = [percent(mean, half) if mean > NOTHING else zero for mean, half in pairs]
    marks.write(axes, at, rows[measure], texts, marks.errors(rows, measure), **look)


def breakdown_finding(summary: pd.DataFrame) -> str:
    """Return a sentence on the policies that take the least and the most time.

    No policy is clearly the least where the least one's interval meets another's. What the least
    one loses of learning is said, too.
    """
    means = summary["overhead"]
    least, most = str(means.idxmin()), str(means.idxmax())
    mine = f"{percent(means[least])} of the time"
    lost = float(summary["updates_lost"][least])
    but = f", but {percent(lost)} of the updates" if lost > NOTHING else ""
    if len(means) == 1:
        return f"{least} loses {mine}{but}"
    ends = summary["overhead_low"].fillna(means), summary["overhead_high"].fillna(means)
    near = means.index[(ends[0] <= ends[1][least]) & (means.index != least)]
    if len(near) == 0:
        return f"{least} loses {mine}{but}; {most} loses {percent(means[most])}"
    if len(near) == len(means) - 1:
        same = means[most] - means[least] <= NOTHING
        about = f"all lose {mine}" if same else f"from {mine} under {least}"
        return f"No policy is clearly the least: {about}"
    worst = f"{most} loses {percent(means[most])} of the time"
    among = listed([least, *map(str, near)], 4)
    return f"No policy is clearly the least of {among}; {worst}"


def causes_in(table: pd.DataFrame, nothing: float = NOTHING) -> list[str]:
    """Return the causes that there are in a table, in the order of the bars."""
    return [cause for cause in CAUSE_LABELS if (table[cause] > nothing).any()]


@style.styled()
def failures_by_cause(table: pd.DataFrame, title: str = "", *, ax: Axes | None = None) -> Figure:
    """Draw what failures cost by cause, under the first policy of a table.

    A bar a cause, the dearest first: until its failures are noticed, waiting, starts, loads, and
    lost training.

    `table`: as `cprsim.runs.by_cause.by_cause` has it; shares of the useful time.
    """
    policy = str(table["policy"].iloc[0])
    rows = table[table["policy"] == policy]
    first = rows.iloc[0]
    finding = (
        f"Under {policy}, the cause that takes most is {first['cause']}: "
        f"{format_percent(first['overhead'])} of the time"
    )
    sheet = Sheet(ax=ax)
    (axes,) = sheet.axes
    facts = [f"{count:.3g} failures a job" for count in rows["failures"]]
    row_in = marks.name_rows(axes, [*map(str, rows["cause"])], facts)
    _stacked(axes, rows, [part for part in FAILURE_COSTS if (rows[part] > 0).any()], 0.5)
    marks.reach(axes, float(rows["overhead"].max()))
    axes.set_xlabel("what failures cost, % of useful training time")
    return sheet.done(finding, title, (), row_in * len(rows), "above")


def _stacked(axes: Axes, rows: pd.DataFrame, causes: list[str], thickness: float) -> None:
    """Draw bars by cause, and write their sums."""
    whole = rows[causes].sum(axis=1)
    marks.stack(axes, rows, causes, thickness)
    marks.write(axes, range(len(rows)), whole, [*map(percent, whole)])


_MOST_PANELS: Final = 3  # panels side by side


@style.styled()
def fleet_breakdown(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead by cause of the jobs at some percentiles, a panel a policy.

    Axes for each policy, in the table's order: shares (1 is 100 %), a row a percentile.

    `table`: a row a policy and percentile, as in
    `cprsim.runs.fleet_result.FleetResult.percentiles`: `percentile` of the policy's jobs by
    overhead, and causes as shares of useful time, means over the jobs around it.
    """
    policies, causes = list(table["policy"].unique()), causes_in(table, 0.0)
    most = float(table[causes].sum(axis=1).max())
    sheet = Sheet(len(policies), min(len(policies), _MOST_PANELS))
    for axes, policy in zip(sheet.axes, policies, strict=True):
        rows = table[table["policy"] == policy]
        row_in = marks.name_rows(axes, [f"P{each:g}" for each in rows["percentile"]])
        _stacked(axes, rows, causes, 0.62)
        marks.reach(axes, most)
        axes.set(title=wrapped(str(policy), 24), xlabel="% of useful training time")
    note = (
        "P90: the jobs with more overhead than 90 % of all under that policy; means over the "
        "jobs within one percentile of all around"
    )
    # Under the first policy, the jobs at the highest percentile and the lowest.
    rows = table[table["policy"] == policies[0]].sort_values("percentile")
    whole = rows[causes].sum(axis=1)
    (low, high), (first, last) = whole.iloc[[0, -1]], rows["percentile"].iloc[[0, -1]]
    finding = f"Under {policies[0]}, the job at P{last:g} loses {percent(high)} of its time"
    finding += f", that at P{first:g} {percent(low)}" * bool(first < last)
    return sheet.done(finding, title, [note], row_in * len(rows), "above")


_LADDER_NOTE: Final = (
    "In bold: effective training, the rest of the wall clock, and by how many points it is more "
    "than in the row above; each alone: than as it is (dashed)"
)


@style.styled()
def ladder(table: pd.DataFrame, title: str = "") -> Figure:
    """Draw the time lost with each lever, by cause, in a row a lever.

    Its axes are the levers one after the other, and each alone; x as a share of the wall clock (1
    is 100 %), y the levers 0, 1, ... downwards, 0 being the job as it is.

    `table`: a row a lever and `way` of pulling it: `"together"`, after all levers above it, first
    the job without any, and `"alone"`, but for that. `lever` is its name, `sets` what it sets;
    `ett` is the share of the wall clock that is training that counts, a column a cause that which
    is lost, `updates_lost` the share of all updates.
    """
    together, alone = (table[table["way"] == way] for way in ("together", "alone"))
    causes, sheet = causes_in(table), Sheet(2)
    names, sets = [*together["lever"]], [*together["sets"]]
    first, row_in = together["ett"].iloc[0], 0.42
    panels = (
        ("One after the other", together, together["ett"].diff()),
        ("Each alone", alone, alone["ett"] - first),
    )
    for i, (axes, (heading, shown, gains)) in enumerate(zip(sheet.axes, panels, strict=True)):
        if i == 0 or sheet.narrow:
            row_in = marks.name_rows(axes, names, sets, row_in)
        else:
            marks.name_rows(axes, [""] * len(names))
        marks.reach(axes, float(1 - table["ett"].min()))
        marks.stack(axes, shown, causes, 0.36, i)
        at = np.arange(i, len(names))
        points = ["" if np.isnan(gain) else f"  {100 * gain:+.1f}" for gain in gains]
        texts = [percent(ett) + more for ett, more in zip(shown["ett"], points, strict=True)]
        on_paper = {"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.6}
        marks.write(axes, at, 1 - shown["ett"], texts, bbox=on_paper)
        lossy = (shown["updates_lost"] > NOTHING).to_numpy()
        lost = [f"loses {percent(each)} of the updates" for each in shown["updates_lost"][lossy]]
        faint: style.Look = {"color": style.FAINT_INK, "weight": "normal"}
        marks.write(axes, at[lossy] + 0.32, np.zeros(len(lost)), lost, **faint)
        axes.set(title=heading, xlabel="time lost, % of the wall clock")
    sheet.axes[1].axvline(1 - first, **marks.LIMIT)
    finding = ladder_finding(table)
    return sheet.done(finding, title, [_LADDER_NOTE], row_in * len(names), "above")


def ladder_finding(table: pd.DataFrame) -> str:
    """Say how effective training rises, and which lever gives back most by itself."""
    together, alone = (table[table["way"] == way] for way in ("together", "alone"))
    first, last = together["ett"].iloc[0], together["ett"].iloc[-1]
    most = alone.iloc[int(alone["ett"].argmax())]
    said = f"Effective training goes from {percent(first)} to {percent(last)}"
    if most["ett"] <= first:
        return said
    gain = 100 * (most["ett"] - first)
    return f"{said}; alone, {most['lever']} gives back most: {gain:.1f} points"
