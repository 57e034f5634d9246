"""One run as lanes along its time, or runs under several policies one above the other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
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
from cprsim.sim.history.phases import WAIT, WORDS, Phase, seconds_by_cause
from cprsim.sim.history.recorder import Background, History

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
    """A lane: its name in lines of text, what is done in it up to `end_s`, when failures hit it.

    `height_in`, `below_in`: of the lane and below it, inches.
    """

    name: Sequence[str]
    spans: Sequence[Span]
    end_s: float
    failures_s: Sequence[float] = ()
    height_in: float = 0.15
    below_in: float = 0.07


def timeline(history: History, title: str = "") -> Figure:
    """Draw one run: the job and its nodes, and background tasks, along its time.

    Its height grows with the number of lanes. x is the wall clock in seconds, y in inches from the
    top.

    Parameters
    ----------
    history
        From `cprsim.sim.history.recorder.record`.
    """
    wall_s, useful_s = history.ledger.wall, history.ledger.train
    finding = (
        f"{counted(len(history.failures), 'failure')}: {duration(useful_s)} of training take "
        f"{duration(wall_s)} under {history.policy}"
    )
    seconds = {cause: getattr(history.ledger, cause) for cause in CAUSES}
    shown = lanes(history, _MOST_SERVERS)
    found = {cause for cause, spent_s in seconds.items() if spent_s}
    found |= {phase.doing for lane in shown for phase in lane.phases}
    found |= {each.task.kind for each in history.background}
    rows = [
        _Row(_named(each.name, each.failures_s), _spans(each.phases), wall_s, each.failures_s)
        for each in shown
    ]
    for kind, tasks in background_lanes(history).items():
        more = f", {len(tasks) - _MOST_ROWS} more at once" * (len(tasks) > _MOST_ROWS)
        for i, task in enumerate(tasks[:_MOST_ROWS]):
            name = _named(kind + more) if i == 0 else []
            rows.append(_Row(name, _tasks(task), wall_s, height_in=0.1, below_in=0.03))
    return _figure(
        finding,
        [title, f"seed {history.seed}, replication {history.replication}"],
        found,
        rows,
        wall_s,
        seconds,
    )


def timelines(histories: Sequence[History], title: str = "") -> Figure:
    """Draw runs of the same replication under several policies: the job's lane of each.

    As `timeline`'s; background tasks are thin lanes beneath each policy's own.

    Parameters
    ----------
    histories
        A run each; from `cprsim.sim.history.recorder.record`.
    """
    found = {doing for each in histories for doing in seconds_by_cause(each.phases)}
    found |= {task.task.kind for each in histories for task in each.background}
    end_s = max(each.ledger.wall for each in histories)
    rows = [row for each in histories for row in _policy_rows(each)]
    played = histories[0]
    about = [title, f"seed {played.seed}, replication {played.replication}"]
    if any(each.background for each in histories):
        about.append("thin lanes: in the background")
    walls = {each.policy: each.ledger.wall for each in histories}
    first, last = min(walls, key=lambda n: walls[n]), max(walls, key=lambda n: walls[n])
    if walls[first] == walls[last]:
        finding = f"This run takes {duration(walls[first])} under {listed([*walls])}"
    else:
        finding = f"This run takes {duration(walls[first])} under {first}, "
        finding += f"{duration(walls[last])} under {last}"
    return _figure(finding, about, found, rows, end_s, {})


@style.styled()
def _figure(
    finding: str,
    about: Sequence[str],
    found: Collection[str],
    rows: Sequence[_Row],
    end_s: float,
    seconds: Mapping[str, float],
) -> Figure:
    """Draw rows; the key has what is done in them, with its seconds where these are known."""
    sheet = Sheet()
    (axes,) = sheet.axes
    height_in = _draw(axes, rows, end_s)
    for doing, colour in COLOURS.items():
        if doing in found:
            spent = f" {duration(seconds[doing])}" if seconds.get(doing) else ""
            edge = style.FAINT_INK if colour == "white" else colour
            look: dict[str, Any] = {"facecolor": colour, "edgecolor": edge, "linewidth": 0.4}
            axes.fill_between([], [], label=f"{WORDS[doing]}{spent}", **look)
    sheet.key("above")
    return sheet.done(finding, "; ".join(filter(None, about)), height_in=height_in)


def _draw(axes: Axes, rows: Sequence[_Row], end_s: float) -> float:
    """Draw rows downwards; return their height, inches."""
    at_in, names = 0.0, {}
    for row in rows:
        name_in = len(row.name) * _LINE * style.small_pt() / 72
        marks_in = _MARKS_IN if row.failures_s else 0.0
        bottom_in = at_in + max(row.height_in + marks_in, name_in)
        lane_in = bottom_in - row.height_in
        # An outline, so that a lane in which nothing is done is seen, too.
        frame = Rectangle((0, lane_in), row.end_s, row.height_in, linewidth=0.5)
        frame.set(fill=False, edgecolor=style.RULE)
        axes.add_artist(frame)
        for doing, colour in COLOURS.items():
            spans = [(a, b - a) for what, a, b in row.spans if what == doing and doing != WAIT]
            if spans:
                look: dict[str, Any] = {"facecolor": colour, "linewidth": 0, "snap": False}
                axes.broken_barh(spans, (lane_in, row.height_in), **look)
        if row.failures_s:
            # One mark for all failures that fall on a pixel.
            pixel_s = end_s / _PARTS
            at_s = pixel_s * np.unique(np.round(np.asarray(row.failures_s) / pixel_s))
            marker, edge = ("v", 0.0) if len(at_s) <= _MOST_ARROWS else ("|", 0.5)
            look = {"markersize": 3.5, "markeredgewidth": edge, "color": style.INK}
            mark_in = np.full(len(at_s), lane_in - 0.6 * _MARKS_IN)
            axes.plot(at_s, mark_in, marker, clip_on=False, **look)
        # At the middle of the lane; a name that is higher than that has its room above.
        middle_in = min((lane_in + bottom_in) / 2, bottom_in - name_in / 2)
        names[middle_in] = "\n".join(row.name)
        at_in = bottom_in + row.below_in
    axes.set(xlim=(0, end_s), ylim=(at_in, 0))
    axes.set_yticks([*names], [*names.values()])
    axes.tick_params(axis="y", length=0, labelcolor=style.INK)
    axes.spines["left"].set_visible(False)
    unit, factor = unit_of(end_s)
    ticks.numbers(axes.xaxis, factor)
    axes.set_xlabel(f"wall-clock time, {unit}")
    return at_in


def _policy_rows(history: History) -> list[_Row]:
    """Return the job under one policy, and thin lanes of background tasks."""
    wall_s = history.ledger.wall
    failures_s = [each.at_s for each in history.failures]
    overhead = percent(wall_s / history.ledger.train - 1)
    name = [*_named(history.policy, failures_s), f"{overhead} overhead"]
    rows = [_Row(name, _spans(history.phases), wall_s, failures_s, 0.2, 0.02)]
    for tasks in background_lanes(history).values():
        rows += [
            _Row([], _tasks(each), wall_s, height_in=0.06, below_in=0.02)
            for each in tasks[:_MOST_ROWS]
        ]
    return [*rows[:-1], rows[-1]._replace(below_in=0.12)]


def _named(name: str, failures_s: Sequence[float] = ()) -> list[str]:
    """Return the lines of a lane's name, with its failures where they are many."""
    many = [f"{len(failures_s):,} failures"] if len(failures_s) > _MANY else []
    return [*wrapped(name, 22).split("\n"), *many]


def _spans(phases: Iterable[Phase]) -> list[Span]:
    return [span for phase in phases for span in phase.spans()]


def _tasks(tasks: Iterable[Background]) -> list[Span]:
    return [(each.task.kind, each.start_s, each.end_s) for each in tasks]
