"""Where the time goes under each policy, by cause, and what learning is lost."""

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import format_duration
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures.parts import bars, style
from cprsim.figures.parts.bars import Floats
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import NOTHING, listed, percent

_BAR: Final = 0.44  # of a row
_SLIM: Final = 0.16  # the bar below another, with lost updates trained again
_BELOW: Final = 0.34  # from the middle of a bar to that of the slim one
_PALE: Final = 0.6  # white in a slim bar's overhead


def breakdown(summary: pd.DataFrame, title: str = "") -> Figure:
    """Draw overhead by cause under each policy, and the share of updates lost for good.

    Below the bar of a policy that loses updates lies a slim one: its overhead if all of them were
    trained again.

    Parameters
    ----------
    summary
        A row a policy, as in `cprsim.runs.result.Result.summary`. `interval_s` is in seconds; the
        overhead, retrained or not, and its causes are shares of the useful training time,
        `updates_lost` is one of all updates.

    Returns
    -------
    matplotlib.figure.Figure
        Its height grows with the number of policies. Its two axes are the overhead and the updates
        lost, with x as a share (1 is 100 %) over policies 0, 1, ... downwards.
    """
    with style.styled():
        causes = [cause for cause in CAUSE_LABELS if (summary[cause] > 0).any()]
        lossy = summary["updates_lost"] > NOTHING
        sheet = Sheet(2, width_ratios=(1.9, 1))
        time, learning = sheet.axes
        names, least_in = [*map(str, summary.index)], 0.5 if lossy.any() else 0.42
        row_in = bars.name_rows(time, names, _facts(summary), least_in)
        bars.name_rows(learning, names if sheet.narrow else [""] * len(names))
        found = bars.stack(time, summary, causes, range(len(summary)), _BAR)
        bars.reach(time, _most(summary, "overhead", "overhead_high", "overhead_retrained"))
        limits = _ends(time, summary, "overhead", "0 %")
        bars.write_parts(time, found, limits)
        _slim(time, summary[lossy], np.add(np.flatnonzero(lossy), _BELOW, dtype=np.float64))
        learning.barh(
            range(len(summary)), summary["updates_lost"], _BAR, color=style.LEARNING_COLOUR
        )
        bars.reach(learning, _most(summary, "updates_lost", "updates_lost_high"))
        _ends(learning, summary, "updates_lost", "none")
        time.set(title="Time lost", xlabel="% of useful training time, by cause")
        learning.set(title="Learning lost", xlabel="% of updates lost for good")
        sheet.causes(causes)
        notes = ["Grey, below a bar: if every lost update were trained again"] * bool(lossy.any())
        if any("±" in text.get_text() for axes in sheet.axes for text in axes.texts):
            notes.append("±: 95 % confidence interval of the mean")
        return sheet.done(finding(summary), title, notes, row_in * len(summary))


def finding(summary: pd.DataFrame) -> str:
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


def _most(summary: pd.DataFrame, *columns: str) -> float:
    return float(np.nanmax(summary[[*columns]].to_numpy(dtype=np.float64)))


def _facts(summary: pd.DataFrame) -> list[str]:
    """Return what each policy does, in small letters."""
    facts = []
    for _, row in summary.iterrows():
        interval = format_duration(row["interval_s"])
        saves = "never saves" if interval == "never" else f"saves every {interval}"
        facts.append(f"{row['recovery']} recovery, {saves}")
    return facts


def _ends(axes: Axes, summary: pd.DataFrame, measure: str, zero: str) -> Floats:
    """Draw intervals and write values beyond them; returns where intervals begin."""
    means, low, high = (
        summary[f"{measure}{end}"].to_numpy(dtype=np.float64) for end in ("", "_low", "_high")
    )
    halves, there = high - means, means > NOTHING
    low, high = (np.where(there & np.isfinite(end), end, means) for end in (low, high))
    bars.whiskers(axes, low, high)
    for row, (mean, half) in enumerate(zip(means, halves, strict=True)):
        value = percent(mean, half) if mean > NOTHING else zero
        bars.beyond(axes, (float(high[row]), row), value, weight="bold")
    return low


def _slim(axes: Axes, lossy: pd.DataFrame, y: Floats) -> None:
    """Draw overhead, paler, and behind it what training lost updates again would take."""
    pale = style.paler(style.LEARNING_COLOUR, _PALE)
    axes.barh(y, lossy["overhead"], _SLIM, color=pale)
    axes.barh(y, lossy["updates_lost"], _SLIM, lossy["overhead"], color=style.LEARNING_COLOUR)
    for at, (_, row) in zip(y, lossy.iterrows(), strict=True):
        mean, high = row["overhead_retrained"], row["overhead_retrained_high"]
        bars.beyond(axes, (mean, float(at)), percent(mean, high - mean), color=style.FAINT_INK)
