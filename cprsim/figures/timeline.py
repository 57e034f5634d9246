"""One run as lanes along its time, or runs under several policies one above the other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from cprsim.basics.units import counted
from cprsim.contract.ledger import CAUSES
from cprsim.figures.parts import lanes, style, texts
from cprsim.figures.parts.lanes import LaneRow
from cprsim.figures.parts.sheet import Sheet
from cprsim.figures.parts.texts import duration, listed, percent
from cprsim.figures.parts.thinning import BarBlock
from cprsim.history.lanes import background_lanes
from cprsim.history.lanes import lanes as lanes_of
from cprsim.history.phases import WORDS, Phase, seconds_by_cause
from cprsim.history.recorder import Background, History

_NAME_LETTERS: Final = 22  # of a line of a lane's name
_MOST_SERVERS: Final = 12  # with a lane of their own
_MOST_ROWS: Final = 4  # of tasks of one kind that go on at once


def timeline(history: History, title: str = "") -> Figure:
    """Draw one run: the job and its nodes, and background tasks, along its time.

    Parameters
    ----------
    history
        From `cprsim.history.recorder.record`.

    Returns
    -------
    matplotlib.figure.Figure
        Its height grows with the number of lanes. x is the wall clock in seconds, y
        in inches from the top. What is thinner than a pixel is merged, its parts stacked.
    """
    wall_s, useful_s = history.ledger.wall, history.ledger.train
    finding = (
        f"{counted(len(history.failures), 'failure')}: {duration(useful_s)} of training take "
        f"{duration(wall_s)} under {history.policy}"
    )
    seconds = {cause: getattr(history.ledger, cause) for cause in CAUSES}
    shown = lanes_of(history, _MOST_SERVERS)
    found = {cause for cause, spent_s in seconds.items() if spent_s}
    found |= {phase.doing for lane in shown for phase in lane.phases}
    found |= {each.task.kind for each in history.background}
    rows = [
        LaneRow(
            [*_wrapped(each.name), *lanes.counted(each.failures_s, wall_s)],
            _blocks(each.phases),
            wall_s,
            each.failures_s,
        )
        for each in shown
    ]
    for kind, tasks in background_lanes(history).items():
        more = f", {len(tasks) - _MOST_ROWS} more at once" * (len(tasks) > _MOST_ROWS)
        names = [_wrapped(kind + more), *[[]] * len(tasks)]  # the first has the name
        rows += [
            LaneRow(name, _task_blocks(task), wall_s, height_in=0.1, below_in=0.03)
            for name, task in zip(names, tasks[:_MOST_ROWS], strict=False)
        ]
    return _figure(finding, [title, _played(history)], found, rows, wall_s, seconds)


def timelines(histories: Sequence[History], title: str = "") -> Figure:
    """Draw runs of the same replication under several policies: the job's lane of each.

    Parameters
    ----------
    histories
        A run each; from `cprsim.history.recorder.record`.

    Returns
    -------
    matplotlib.figure.Figure
        As `timeline`'s; background tasks are thin lanes beneath each policy's own.
    """
    found = {doing for each in histories for doing in seconds_by_cause(each.phases)}
    found |= {task.task.kind for each in histories for task in each.background}
    end_s = max(each.ledger.wall for each in histories)
    rows = [row for each in histories for row in _policy_rows(each, end_s)]
    about = [title, _played(histories[0])]
    if any(each.background for each in histories):
        about.append("thin lanes: in the background")
    finding = _compared({each.policy: each.ledger.wall for each in histories})
    return _figure(finding, about, found, rows, end_s, {})


def _figure(
    finding: str,
    about: Sequence[str],
    found: Collection[str],
    rows: Sequence[LaneRow],
    end_s: float,
    seconds: Mapping[str, float],
) -> Figure:
    """Draw rows; the key has what is done in them, with its seconds where these are known."""
    with style.styled():
        sheet = Sheet()
        height_in = lanes.draw_lanes(sheet.axes[0], rows, end_s)
        patches, words = [], []
        for doing in (doing for doing in lanes.COLOURS if doing in found):
            colour = lanes.COLOURS[doing]
            edge = style.FAINT_INK if colour == "white" else colour
            patches.append(Patch(facecolor=colour, edgecolor=edge, linewidth=0.4))
            spent = f" {duration(seconds[doing])}" if seconds.get(doing) else ""
            words.append(f"{WORDS[doing]}{spent}")
        sheet.patches(patches, words)
        return sheet.done(finding, "; ".join(filter(None, about)), height_in=height_in)


def _played(history: History) -> str:
    return f"seed {history.seed}, replication {history.replication}"


def _policy_rows(history: History, end_s: float) -> list[LaneRow]:
    """Return the job under one policy, and thin lanes of background tasks.

    `end_s`: of the time of all lanes.
    """
    wall_s = history.ledger.wall
    failures_s = [each.at_s for each in history.failures]
    facts = [f"{percent(wall_s / history.ledger.train - 1)} overhead"]
    facts += lanes.counted(failures_s, end_s)
    beneath = [row for rows in background_lanes(history).values() for row in rows[:_MOST_ROWS]]
    rows = [
        LaneRow(
            [*_wrapped(history.policy), *facts], _blocks(history.phases), wall_s, failures_s, 0.2
        ),
        *(LaneRow([], _task_blocks(tasks), wall_s, height_in=0.06) for tasks in beneath),
    ]
    close = [replace(row, below_in=0.02) for row in rows[:-1]]
    return [*close, replace(rows[-1], below_in=0.12)]


def _wrapped(name: str) -> list[str]:
    return texts.lines(name, _NAME_LETTERS)


def _blocks(phases: Iterable[Phase]) -> list[BarBlock]:
    return [BarBlock(each.start_s, each.end_s, each.seconds()) for each in phases]


def _task_blocks(tasks: Iterable[Background]) -> list[BarBlock]:
    return [
        BarBlock(each.start_s, each.end_s, {each.task.kind: each.end_s - each.start_s})
        for each in tasks
    ]


def _compared(walls: Mapping[str, float]) -> str:
    """Say which of the runs is over first and which last."""
    first, last = min(walls, key=lambda n: walls[n]), max(walls, key=lambda n: walls[n])
    if walls[first] == walls[last]:
        return f"This run takes {duration(walls[first])} under {listed([*walls])}"
    said = f"This run takes {duration(walls[first])} under {first}"
    return f"{said}, {duration(walls[last])} under {last}"
