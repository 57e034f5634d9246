"""Jobs of a cluster along time above the load of the store."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import counted
from cprsim.figures import style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.texts import duration, unit_of

if TYPE_CHECKING:
    from cprsim.clusters.job_run import JobRun
    from cprsim.clusters.play import PlayedCluster

_MOST_JOBS: Final = 30
_BAR: Final = 0.72  # of a row
_BESIDE: Final = 0.15  # of a row, work during training
_STEPS: Final = 150  # parts of the time over which the use of links is averaged, at most
#: What a job does, in words, its colour, and the causes that it covers; later ones on top.
_DOES: Final = {
    "saves": (style.CAUSE_COLOURS["save"], ("save", "stall", "verify")),
    "loads its checkpoint": (style.CAUSE_COLOURS["load"], ("load", "start", "shutdown")),
    "waits for machines": (style.CAUSE_COLOURS["reschedule"], ("detect", "reschedule")),
}
_LINKS: Final = {
    "write": ("link to the store: saves", style.CAUSE_COLOURS["save"]),
    "read": ("link to the store: loads", style.CAUSE_COLOURS["load"]),
    "core": ("core of the network", style.FAINT_INK),
}


@style.styled()
def jobs_over_time(
    played: "PlayedCluster",
    use: pd.DataFrame,
    title: str = "",
    window: tuple[float, float] | None = None,
) -> Figure:
    """Draw when each job waits, trains, saves and loads, and how much of the store is used.

    A row a job, at most 30: those that failures of racks and pods strike first, then the earliest.

    Parameters
    ----------
    played
        A replication that was watched.
    use
        As of `cprsim.clusters.result.ClusterResult.use`, of the same replication.
    title
        Of what: the first note below.
    window
        The part of the time to draw, s; all of it if not given.
    """
    from_s, to_s = window or (0.0, played.ends_s)
    there = [job for job in played.jobs if job.arrives_s < to_s and _end_s(job, to_s) > from_s]
    shocks = [(s, n) for s, n in played.shocks if s.at_s < to_s and s.at_s + s.lasts_s > from_s]
    struck = {name for shock, names in shocks for name in names}
    jobs = sorted(there, key=lambda job: (job.name not in struck, _start_s(job)))[:_MOST_JOBS]
    jobs.sort(key=_start_s)
    rows_in, load_in = 0.17 * max(len(jobs), 4), 1.1
    sheet = Sheet(2, 1, height_ratios=[rows_in, load_in], sharex=True)
    above, below = sheet.axes
    above.set(ylim=(len(jobs) - 0.4, -0.8), xlim=(from_s, to_s))
    for shock, _ in shocks:
        for axes in sheet.axes:
            end_s = shock.at_s + shock.lasts_s
            axes.axvspan(shock.at_s, end_s, color="#F6D5D0", linewidth=0)
    for shock, _ in shocks[:6]:
        above.text(shock.at_s, -0.75, f"{shock.what} down", va="bottom", color="#A03020")
    for row, job in enumerate(jobs):
        _bar(above, job, row, to_s)
    above.set_yticks(range(len(jobs)), [job.name for job in jobs])
    above.tick_params(axis="y", length=0, labelcolor=style.INK)
    above.spines["left"].set_visible(False)
    _load(below, use, (from_s, to_s))
    unit, factor = unit_of(to_s)
    ticks.numbers(below.xaxis, factor)
    below.set_xlabel(f"time, {unit}")
    sheet.key("below")
    finding = f"{counted(len(there), 'job')} in {duration(to_s - from_s)}"
    if shocks:
        what = f"{len(shocks)} racks or pods fail, with nodes"
        if len(shocks) == 1:
            what = f"{shocks[0][0].what} fails and takes nodes"
        finding += f": {what} of {counted(len(struck), 'job')}"
    notes = ["Triangles: failures. Thin bars: saves and loads during training"]
    if len(there) > len(jobs):
        notes.append(f"{len(jobs)} of {len(there)} jobs; those that racks or pods strike first")
    return sheet.done(finding, title, notes, (rows_in + load_in) / 2)


def _start_s(job: "JobRun") -> float:
    return job.had[0][0] if job.had else job.arrives_s


def _end_s(job: "JobRun", to_s: float) -> float:
    return job.had[-1][1] if job.had else to_s


def _bar(axes: Axes, job: "JobRun", row: int, to_s: float) -> None:
    """Draw when a job waits for nodes, has them, and what it does then."""
    low = row - _BAR / 2
    waits = (job.arrives_s, min(_end_s(job, to_s), to_s))
    look: dict[str, Any] = {"linewidth": 0.8, "linestyle": ":", "zorder": 0}
    axes.hlines(row, *waits, color=style.FAINT_INK, label="waits for nodes", **look)
    spans = [("train", a, b) for a, b in job.had] + (job.watch.spans if job.watch else [])
    does = {"trains": (style.TRAINING_COLOUR, ("train",))} | _DOES
    for words, (colour, causes) in does.items():
        seen = [(a, b - a) for cause, a, b in spans if cause in causes]
        if seen:
            axes.broken_barh(seen, (low, _BAR), color=colour, linewidth=0.2, label=words)
    if job.watch is not None:
        beside = [(a, b - a) for a, b in job.watch.in_background]
        thin = (row + _BAR / 2 - _BESIDE, _BESIDE)
        axes.broken_barh(beside, thin, color=style.CAUSE_COLOURS["save"])
        failures = job.watch.failures
        axes.plot(failures, [low - 0.02] * len(failures), "v", color=style.INK, markersize=3)


def _load(axes: Axes, use: pd.DataFrame, window: tuple[float, float]) -> None:
    """Draw the shares of the links that are used."""
    step_s = use["time_s"].diff().max()
    part = use[(use["time_s"] >= window[0] - step_s) & (use["time_s"] <= window[1])]
    together = -(-len(part) // _STEPS) if len(part) else 1
    part = part.groupby(np.arange(len(part)) // together).mean()
    part["time_s"] -= (together - 1) * step_s / 2
    axes.set(ylim=(0, 105), ylabel="links used, %")
    axes.axhline(100, color=style.FAINT_INK, linewidth=0.6)
    for name, (words, colour) in _LINKS.items():
        if name in part and part[name].any():
            share = 100 * part[name]
            axes.fill_between(part["time_s"], share, step="post", color=colour, alpha=0.35)
            axes.step(part["time_s"], share, where="post", label=words, color=colour, linewidth=0.8)
