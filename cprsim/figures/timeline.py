"""Lanes along time: one run, runs under several policies, or the jobs of a cluster."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cprsim.basics.units import counted
from cprsim.contract.ledger import CAUSES
from cprsim.figures import style, ticks
from cprsim.figures.sheet import Sheet
from cprsim.figures.style import CAUSE_COLOURS, TRAINING_COLOUR
from cprsim.figures.texts import duration, listed, percent, unit_of, wrapped
from cprsim.sim.history.lanes import background_lanes, lanes
from cprsim.sim.history.phases import WAIT, WORDS, Phase
from cprsim.sim.history.recorder import Background, History

if TYPE_CHECKING:
    from cprsim.clusters.play import PlayedCluster

_PARTS: Final = 1040  # of the time of all lanes: marks that are nearer are one
_MARKS_IN: Final = 0.08  # above a lane that failures hit
_LINE: Final = 1.25  # of the size of text, from one line to the next
_MOST_ARROWS: Final = 40  # failures that are marked by triangles; more of them by strokes
_MANY: Final = 120  # failures, which a lane's name counts
_MOST_SERVERS: Final = 12  # with a lane of their own
_MOST_ROWS: Final = 4  # of tasks of one kind that go on at once

#: Colours of what a lane does, in that order, training first; waiting has none.
COLOURS: Final = {"train": TRAINING_COLOUR, **CAUSE_COLOURS, WAIT: "white"}
#: What is done, from when to when, s.
Span = tuple[str, float, float]


class _Row(NamedTuple):
    """A lane: its name, what is done in it, from when to when, and failures.

    `height_in`, `below_in`: of the lane and below it, inches.
    """

    name: str
    spans: Sequence[Span]
    ends_s: tuple[float, float]
    failures_s: Sequence[float] = ()
    height_in: float = 0.15
    below_in: float = 0.07


@style.styled()
def timeline(history: History, title: str = "") -> Figure:
    """Draw one run: the job and its nodes, and background tasks, along its time.

    Its height grows with the number of lanes. x is the wall clock in seconds, y in inches from the
    top.

    `history`: from `cprsim.sim.history.recorder.record`.
    """
    wall_s, useful_s = history.ledger.wall, history.ledger.train
    finding = (
        f"{counted(len(history.failures), 'failure')}: {duration(useful_s)} of training take "
        f"{duration(wall_s)} under {history.policy}"
    )
    rows = [
        _Row(_named(each.name, each.failures_s), _spans(each.phases), (0, wall_s), each.failures_s)
        for each in lanes(history, _MOST_SERVERS)
    ]
    for kind, tasks in background_lanes(history).items():
        more = f", {len(tasks) - _MOST_ROWS} more at once" * (len(tasks) > _MOST_ROWS)
        for i, spans in enumerate(_tasks(tasks)):
            name = _named(kind + more) if i == 0 else ""
            rows.append(_Row(name, spans, (0, wall_s), (), 0.1, 0.03))
    sheet = Sheet()
    seconds = {cause: getattr(history.ledger, cause) for cause in CAUSES}
    height_in = _draw(sheet.axes[0], rows, (0, wall_s), seconds)
    about = filter(None, (title, f"seed {history.seed}, replication {history.replication}"))
    return sheet.done(finding, "; ".join(about), (), height_in, "above")


@style.styled()
def timelines(histories: Sequence[History]) -> Figure:
    """Draw runs of the same replication under several policies: the job's lane of each.

    As `timeline`'s; background tasks are thin lanes beneath each policy's own.

    `histories`: a run each; from `cprsim.sim.history.recorder.record`.
    """
    rows: list[_Row] = []
    for each in histories:
        failures_s, ends_s = [failure.at_s for failure in each.failures], (0, each.ledger.wall)
        overhead = percent(each.ledger.wall / each.ledger.train - 1)
        name = f"{_named(each.policy, failures_s)}\n{overhead} overhead"
        rows.append(_Row(name, _spans(each.phases), ends_s, failures_s, 0.2, 0.02))
        for tasks in background_lanes(each).values():
            rows += [_Row("", spans, ends_s, (), 0.06, 0.02) for spans in _tasks(tasks)]
        rows[-1] = rows[-1]._replace(below_in=0.12)
    played = histories[0]
    about = f"seed {played.seed}, replication {played.replication}"
    about += "; thin lanes: in the background" * any(each.background for each in histories)
    walls = {each.policy: each.ledger.wall for each in histories}
    first, last = min(walls, key=lambda n: walls[n]), max(walls, key=lambda n: walls[n])
    under, more = first, f", {duration(walls[last])} under {last}"
    if walls[first] == walls[last]:
        under, more = listed([*walls]), ""
    finding = f"This run takes {duration(walls[first])} under {under}{more}"
    sheet = Sheet()
    height_in = _draw(sheet.axes[0], rows, (0, walls[last]))
    return sheet.done(finding, about, (), height_in, "above")


def _draw(
    axes: Axes,
    rows: Sequence[_Row],
    window: tuple[float, float],
    seconds: Mapping[str, float] | None = None,
) -> float:
    """Draw rows downwards; return their height, inches.

    The key has what is found in them, with its `seconds` where these are known.
    """
    at_in, names = 0.0, {}
    pixel_s = (window[1] - window[0]) / _PARTS
    for row in rows:
        drawn = row.spans if len(row.spans) <= _PARTS else _by_pixel(row.spans, window)
        name_in = (row.name.count("\n") + bool(row.name)) * _LINE * style.small_pt() / 72
        marks_in = _MARKS_IN if row.failures_s else 0.0
        bottom_in = at_in + max(row.height_in + marks_in, name_in)
        lane_in = bottom_in - row.height_in
        # An outline, so that a lane in which nothing is done is seen, too.
        from_s, to_s = row.ends_s
        frame = Rectangle((from_s, lane_in), to_s - from_s, row.height_in, linewidth=0.5)
        frame.set(fill=False, edgecolor=style.RULE)
        axes.add_artist(frame)
        for doing, colour in COLOURS.items():
            spans = [(a, b - a) for what, a, b in drawn if what == doing and doing != WAIT]
            if spans:
                look: style.Look = {"facecolor": colour, "linewidth": 0, "snap": False}
                axes.broken_barh(spans, (lane_in, row.height_in), **look)
        if row.failures_s:
            # One mark for all failures that fall on a pixel.
            at_s = pixel_s * np.unique(np.round(np.asarray(row.failures_s) / pixel_s))
            marker, edge = ("v", 0.0) if len(at_s) <= _MOST_ARROWS else ("|", 0.5)
            look = {"markersize": 3.5, "markeredgewidth": edge, "color": style.INK}
            mark_in = np.full(len(at_s), lane_in - 0.6 * _MARKS_IN)
            axes.plot(at_s, mark_in, marker, clip_on=False, **look)
        # At the middle of the lane; a name that is higher than that has its room above.
        if row.name:
            names[min((lane_in + bottom_in) / 2, bottom_in - name_in / 2)] = row.name
        at_in = bottom_in + row.below_in
    axes.set(xlim=window, ylim=(at_in, 0))
    axes.set_yticks([*names], [*names.values()])
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    axes.spines["left"].set_visible(False)
    unit, factor = unit_of(window[1])
    ticks.numbers(axes.xaxis, factor)
    axes.set_xlabel(f"wall-clock time, {unit}")
    found = {doing for row in rows for doing, _, _ in row.spans}
    for doing, colour in COLOURS.items():
        spent_s = (seconds or {}).get(doing, 0.0)
        if doing in found or spent_s:
            spent = f" {duration(spent_s)}" if spent_s else ""
            edge_colour = style.FAINT_INK if colour == "white" else colour
            look = {"facecolor": colour, "edgecolor": edge_colour, "linewidth": 0.4}
            axes.fill_between([], [], label=f"{WORDS[doing]}{spent}", **look)
    return at_in


def _by_pixel(spans: Sequence[Span], window: tuple[float, float]) -> list[Span]:
    """Return what the time of each pixel goes to, in the order of the key, where spans are many."""
    edges_s = np.linspace(*window, _PARTS + 1)
    at_s, found = edges_s[:-1].copy(), list[Span]()
    for doing in COLOURS:
        own_s = np.array([(a, b) for what, a, b in spans if what == doing]).reshape(-1, 2)
        # How much of it is over, from the start to the end of each span.
        over_s = np.concatenate([[0.0], np.cumsum(own_s[:, 1] - own_s[:, 0])])
        known_s = (
            [window[0], *own_s.ravel()],
            [0.0, *np.stack([over_s[:-1], over_s[1:]], 1).ravel()],
        )
        lasts_s = np.diff(np.interp(edges_s, *known_s))
        pixels = np.flatnonzero(lasts_s)
        found += [(doing, at_s[i], at_s[i] + lasts_s[i]) for i in pixels.tolist()]
        at_s += lasts_s
    return found


def _named(name: str, failures_s: Sequence[float] = ()) -> str:
    """Return a lane's name in lines, with its failures where they are many."""
    many = f"\n{len(failures_s):,} failures" if len(failures_s) > _MANY else ""
    return wrapped(name, 22) + many


def _spans(phases: Iterable[Phase]) -> list[Span]:
    return [span for phase in phases for span in phase.spans()]


def _tasks(rows: Sequence[Sequence[Background]]) -> list[list[Span]]:
    """Return the first rows of background tasks, as spans."""
    return [
        [(each.task.kind, each.start_s, each.end_s) for each in tasks]
        for tasks in rows[:_MOST_ROWS]
    ]


_MOST_JOBS: Final = 30
_LOAD_IN: Final = 1.1  # the panel of the links
_STEPS: Final = 150  # parts of the time over which the use of links is averaged, at most
_LINKS: Final = {
    "write": ("link to the store: saves", CAUSE_COLOURS["save"]),
    "read": ("link to the store: loads", CAUSE_COLOURS["load"]),
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

    A lane a job, at most 30: those that failures of racks and pods strike first, then the earliest.

    `played`: a replication that was watched. `use`: as of
    `cprsim.clusters.result.ClusterResult.use`, of the same replication. `title`: of what: the first
    note below. `window`: the part of the time to draw, s; all of it if not given.
    """
    from_s, to_s = part_s = window or (0.0, played.ends_s)
    end_s = {job.name: job.had[-1][1] if job.had else to_s for job in played.jobs}
    start_s = {job.name: job.had[0][0] if job.had else job.arrives_s for job in played.jobs}
    there = [job for job in played.jobs if job.arrives_s < to_s and end_s[job.name] > from_s]
    shocks = [(s, n) for s, n in played.shocks if s.at_s < to_s and s.at_s + s.lasts_s > from_s]
    struck = {name for _, names in shocks for name in names}
    jobs = sorted(there, key=lambda job: (job.name not in struck, start_s[job.name]))[:_MOST_JOBS]
    jobs.sort(key=lambda job: start_s[job.name])
    rows: list[_Row] = []
    for job in jobs:
        ends_s = (job.arrives_s, min(end_s[job.name], to_s))
        spans: list[Span] = [(WAIT, *ends_s), *(("train", a, b) for a, b in job.had)]
        failures_s: list[float] = []
        background: list[Span] = []
        if job.watch is not None:
            spans += job.watch.spans
            failures_s = [at_s for at_s in job.watch.failures if from_s <= at_s <= to_s]
            background = [("save", a, b) for a, b in job.watch.in_background]
        rows.append(_Row(job.name, spans, ends_s, failures_s, 0.1, 0.02))
        if background:
            rows.append(_Row("", background, ends_s, (), 0.03, 0.04))
    sheet = Sheet(2, 1, sharex=True)
    above, below = sheet.axes
    rows_in = _draw(above, rows, part_s)
    above.get_gridspec().set_height_ratios([rows_in, _LOAD_IN])  # type: ignore[union-attr]
    for number, (shock, _) in enumerate(shocks):
        for axes in sheet.axes:
            until_s = shock.at_s + shock.lasts_s
            axes.axvspan(shock.at_s, until_s, color="#F6D5D0", linewidth=0, zorder=0)
        if number < 6:
            above.text(shock.at_s, 0, f"{shock.what} down", va="bottom", color="#A03020")
    below.set_xlabel(above.get_xlabel())
    above.set_xlabel("")
    _load(below, use, part_s)
    finding = f"{counted(len(there), 'job')} in {duration(to_s - from_s)}"
    if shocks:
        what = f"{len(shocks)} racks or pods fail, with nodes"
        if len(shocks) == 1:
            what = f"{shocks[0][0].what} fails and takes nodes"
        finding += f": {what} of {counted(len(struck), 'job')}"
    notes = ["Triangles: failures. Thin lanes: saves and loads during training"]
    if len(there) > len(jobs):
        notes.append(f"{len(jobs)} of {len(there)} jobs; those that racks or pods strike first")
    return sheet.done(finding, title, notes, (rows_in + _LOAD_IN) / 2, "below")


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
