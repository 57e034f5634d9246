"""Jobs of a cluster along time above the load of the store, and what sharing costs each."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cprsim.basics.units import counted, format_percent
from cprsim.figures.parts import style, ticks
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import duration, unit_of

if TYPE_CHECKING:
    from cprsim.clusters.job_run import JobRun
    from cprsim.clusters.play import PlayedCluster

_MOST_JOBS: Final = 30
_ROW_IN: Final = 0.17
_BAR: Final = 0.72  # of a row
_BESIDE: Final = 0.15  # of a row, what goes on beside training
_STEPS: Final = 150  # parts of the time over which the use of links is averaged, at most
_LOAD_IN: Final = 1.1  # of the lower panel
#: What a job does, in words, its colour, and the causes that it stands for; later ones on top.
_DOES: Final = {
    "saves": (style.CAUSE_COLOURS["save"], ("save", "stall", "verify")),
    "loads its checkpoint": (style.CAUSE_COLOURS["load"], ("load", "start", "shutdown")),
    "waits for machines": (style.CAUSE_COLOURS["reschedule"], ("detect", "reschedule")),
}
_LINKS: Final = {
    "write": ("saves", style.CAUSE_COLOURS["save"]),
    "read": ("loads", style.CAUSE_COLOURS["load"]),
    "core": ("the core", style.FAINT_INK),
}
_DOWN: Final = "#F6D5D0"  # while a rack or a pod is down


def jobs_over_time(
    played: "PlayedCluster",
    use: pd.DataFrame,
    title: str = "",
    window: tuple[float, float] | None = None,
) -> Figure:
    """Draw when each job waits, trains, saves and loads, and how much of the store is used.

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

    Returns
    -------
    matplotlib.figure.Figure
        A row a job, at most 30: those that failures of racks and pods strike first, then the
        earliest.
    """
    from_s, to_s = window or (0.0, played.ends_s)
    jobs = _chosen(played, from_s, to_s)
    shown = sum(_there(job, from_s, to_s) for job in played.jobs)
    shocks = [(s, n) for s, n in played.shocks if s.at_s < to_s and s.at_s + s.lasts_s > from_s]
    with style.styled():
        rows_in = _ROW_IN * max(len(jobs), 4)
        sheet = Sheet(2, 1, height_ratios=[rows_in, _LOAD_IN], sharex=True)
        above, below = sheet.axes
        for axes in sheet.axes:
            for shock, _ in shocks:
                axes.axvspan(shock.at_s, shock.at_s + shock.lasts_s, color=_DOWN, linewidth=0)
        for shock, _ in shocks[:6]:
            above.text(shock.at_s, -0.75, f"{shock.what} down", va="bottom", color="#A03020")
        for row, job in enumerate(jobs):
            _bar(above, job, row, (from_s, to_s))
        _say(above, jobs, (from_s, to_s))
        above.set(ylim=(len(jobs) - 0.4, -0.8), xlim=(from_s, to_s))
        above.set_yticks(range(len(jobs)), [job.name for job in jobs])
        above.tick_params(axis="y", length=0, labelcolor=style.INK)
        above.spines["left"].set_visible(False)
        _load(below, use, (from_s, to_s))
        unit, factor = unit_of(to_s)
        ticks.numbers(below.xaxis, factor)
        below.set_xlabel(f"time, {unit}")
        names = {name for _, there in shocks for name in there}
        finding, struck = f"{counted(shown, 'job')} in {duration(to_s - from_s)}", len(names)
        if len(shocks) == 1:
            finding += f": {shocks[0][0].what} fails and takes nodes of {counted(struck, 'job')}"
        elif shocks:
            finding += f": {len(shocks)} racks or pods fail, with nodes of {counted(struck, 'job')}"
        notes = ["Triangles: failures. Thin bars: saves and loads beside training"]
        if shown > len(jobs):
            notes.append(f"{len(jobs)} of {shown} jobs; those that racks or pods strike first")
        return sheet.done(finding, title, notes, height_in=(rows_in + _LOAD_IN) / 2)


def overhead_of_sharing(
    summary: pd.DataFrame, title: str = "", *, ax: Axes | None = None
) -> Figure:
    """Draw the overhead of jobs with the cluster to themselves beside that of sharing it.

    Parameters
    ----------
    summary
        As of `cprsim.clusters.result.ClusterResult.summary`: a row an entry of jobs.
    title
        Of what: the first note below.
    ax
        Axes to draw on, instead of a new figure's.

    Returns
    -------
    matplotlib.figure.Figure
        A row an entry: a hollow point for alone, a filled one for shared, and the difference.
    """
    table = summary.dropna(subset=["overhead", "overhead_alone"])
    alone, shared = 100 * table["overhead_alone"], 100 * table["overhead"]
    with style.styled():
        sheet = Sheet(ax=ax)
        (axes,) = sheet.axes
        at = np.arange(len(table))
        axes.hlines(at, alone, shared, color=style.RULE, linewidth=3)
        colour = style.CAUSE_COLOURS["save"]
        axes.plot(alone, at, "o", markerfacecolor="white", markeredgecolor=colour)
        axes.plot(shared, at, "o", color=colour)
        for row, (low, high) in enumerate(zip(alone, shared, strict=True)):
            text = f"+{high - low:.2g}" if high - low >= 0.005 else "no difference"
            place: dict[str, Any] = {
                "xytext": (6, 0),
                "textcoords": "offset points",
                "va": "center",
            }
            axes.annotate(text, (max(low, high), row), **place)
        axes.set_yticks(at, [str(name) for name in table.index])
        axes.tick_params(axis="y", length=0, labelcolor=style.INK)
        axes.set(ylim=(len(table) - 0.5, -0.8), xlabel="overhead, % of useful time")
        axes.set_xlim(0, 1.15 * max(float(shared.max()), float(alone.max()), 1e-9))
        finding = "No job has ended"
        if len(table):
            most = int(np.argmax(shared - alone))
            points, base = shared.iloc[most] - alone.iloc[most], table["overhead_alone"].iloc[most]
            finding = (
                f"Sharing costs {table.index[most]} most: {points:.2g} points on top of "
                f"{format_percent(base)}"
            )
        notes = ["Hollow: with the cluster to itself. Filled: beside the others"]
        return sheet.done(finding, title, notes, height_in=0.3 * max(len(table), 3))


def _there(job: "JobRun", from_s: float, to_s: float) -> bool:
    ends_s = job.had[-1][1] if job.had else to_s
    return job.arrives_s < to_s and ends_s > from_s


def _chosen(played: "PlayedCluster", from_s: float, to_s: float) -> list["JobRun"]:
    """Return the jobs to draw, in order of their start."""
    there = [job for job in played.jobs if _there(job, from_s, to_s)]
    struck = {n for s, names in played.shocks if from_s <= s.at_s < to_s for n in names}
    first = sorted(there, key=lambda job: (job.name not in struck, _start_s(job)))
    return sorted(first[:_MOST_JOBS], key=_start_s)


def _start_s(job: "JobRun") -> float:
    return job.had[0][0] if job.had else job.arrives_s


def _bar(axes: Axes, job: "JobRun", row: int, window: tuple[float, float]) -> None:
    from_s, to_s = window
    ends_s = job.had[-1][1] if job.had else to_s
    waits = (max(job.arrives_s, from_s), min(ends_s, to_s))
    axes.hlines(row, *waits, color=style.FAINT_INK, linewidth=0.8, linestyle=":", zorder=0)
    low = row - _BAR / 2
    had = [(a, b - a) for a, b in job.had]
    axes.broken_barh(had, (low, _BAR), color=style.TRAINING_COLOUR)
    if job.watch is None:
        return
    for colour, causes in _DOES.values():
        spans = [(a, b - a) for cause, a, b in job.watch.spans if cause in causes]
        seen = [(a, b) for a, b in spans if a < to_s and a + b > from_s]
        axes.broken_barh(seen, (low, _BAR), color=colour, linewidth=0.2)
    beside = [(a, b - a) for a, b in job.watch.in_background if a < to_s and b > from_s]
    axes.broken_barh(beside, (row + _BAR / 2 - _BESIDE, _BESIDE), color=_DOES["saves"][0])
    failures = [at_s for at_s in job.watch.failures if from_s <= at_s <= to_s]
    axes.plot(failures, [low - 0.02] * len(failures), "v", color=style.INK, markersize=3)


def _say(axes: Axes, jobs: list["JobRun"], window: tuple[float, float]) -> None:
    """Write what a job does beside the longest time that any does it, in a row of its own."""
    from_s, to_s = window
    written = set[int]()
    done = {
        words: (
            colour,
            [
                (a, b, row)
                for row, job in enumerate(jobs)
                for cause, a, b in (() if job.watch is None else job.watch.spans)
                if cause in causes
            ],
        )
        for words, (colour, causes) in _DOES.items()
    }
    queued = [(a, b, row) for row, job in enumerate(jobs) for a, b in _queued(job, to_s)]
    done["waits for nodes"] = (style.FAINT_INK, queued)
    for words, (colour, spans) in reversed(done.items()):
        seen = [(min(b, to_s) - max(a, from_s), row, a, b) for a, b, row in spans]
        free = [each for each in seen if each[0] > 0 and not written & {each[1] - 1, each[1]}]
        if not free:
            continue
        _, row, a, b = max(free)
        written.add(row)
        late = (a + b) / 2 > (from_s + to_s) / 2
        axes.annotate(
            words,
            (min(max((a + b) / 2, from_s), to_s), row),
            xytext=(-14 if late else 14, 8),
            textcoords="offset points",
            ha="right" if late else "left",
            va="center",
            fontsize="small",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8},
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.9},
        )


def _queued(job: "JobRun", to_s: float) -> list[tuple[float, float]]:
    """Return the times in which a job waits for nodes."""
    had = job.had
    starts = [*(a for a, _ in had), *([] if job.row is not None else [to_s])]
    ends = [job.arrives_s, *(b for _, b in had)]
    return [(a, b) for a, b in zip(ends, starts, strict=False) if b > a]


def _load(axes: Axes, use: pd.DataFrame, window: tuple[float, float]) -> None:
    """Draw the shares of the links that are used, each with its name at its peak."""
    step_s = use["time_s"].diff().max()
    part = use[(use["time_s"] >= window[0] - step_s) & (use["time_s"] <= window[1])]
    together = -(-len(part) // _STEPS) if len(part) else 1
    part = part.groupby(np.arange(len(part)) // together).mean()
    part["time_s"] -= (together - 1) * step_s / 2
    axes.set(ylim=(0, 118), ylabel="links used, %")
    axes.axhline(100, color=style.FAINT_INK, linewidth=0.6)
    for name, (words, colour) in _LINKS.items():
        if name not in part or not part[name].any():
            continue
        share = 100 * part[name]
        axes.fill_between(part["time_s"], share, step="post", color=colour, alpha=0.35, linewidth=0)
        axes.step(part["time_s"], share, where="post", color=colour, linewidth=0.8)
        peak = int(np.argmax(share))
        place: dict[str, Any] = {"xytext": (5, 1), "textcoords": "offset points"}
        at = (part["time_s"].iloc[peak], share.iloc[peak])
        axes.annotate(words, at, va="bottom", fontsize="small", **place)
