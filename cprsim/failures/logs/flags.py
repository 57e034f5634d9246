"""Columns and labels that say whether a node is up: by the user's word, or by words known.

Rows of a table that are no failures show when nodes came and left, and were up again.
"""

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.errors import shown
from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Cell, Rules, plain
from cprsim.failures.logs.outages import REPEATED, UNSEEN, Integers
from cprsim.failures.logs.table import LogTable
from cprsim.failures.logs.words import WORDS
from cprsim.survival.sample import Floats

_FLAGS: Final = {name: frozenset(words) for name, words in WORDS["flags"].items()}
#: Words that say yes or no.
YES, NO = _FLAGS["yes"], _FLAGS["no"]
#: Words of what is bad, and of what is good, as they are parted by anything but letters.
BAD, GOOD = _FLAGS["bad"], _FLAGS["good"] | _FLAGS["back"]
#: Names of columns whose words are states.
_STATES: Final = _FLAGS["lasting_columns"] | _FLAGS["state_columns"]
#: Labels of a metric whose value says what it counts.
_STATE_LABELS: Final = ("state", "phase", "health", "reason")
#: Words of outages that may have been planned: their owner has to say it.
_PLANNED: Final = ("maint", "planned", "drain")
_MOST_VALUES, _FEW_VALUES, _HALF = 8, 4, 0.5

Flags = NDArray[np.bool_]


def meaning(text: str) -> bool | None:
    """Return whether words are of what is good (True) or bad (False); None if they say neither."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)  # NetworkUnavailable
    words = re.split(r"[^a-z]+", parted.lower())
    found = None
    for before, word in zip(["", *words], words, strict=False):
        if word in BAD or word in GOOD:
            good = (word in GOOD) != (before in _FLAGS["not"])
            found = good if found is None else found and good
    return found


def is_good(labels: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether 1 means up in a series with these labels, and the label by which it does not.

    Of conditions of Kubernetes only Ready is good; others are of problems.
    """
    name, status = labels.get("__name__", ""), labels.get("status", "")
    good, by = (False, name) if meaning(name) is False else (True, "")
    for label in ("condition", *_STATE_LABELS, "status"):
        said = meaning(labels.get(label, ""))
        if label == "condition" and label in labels:
            said = said is True
        elif label == "status" and status.lower() in ("true", "false", "unknown"):
            said = {"true": None, "false": not good, "unknown": False}[status.lower()]
        if said is not None:
            good, by = said, "" if said else f'{label}="{labels[label]}"'
    return good, by


class FailingRows(NamedTuple):
    """The rows that are failures, shape (n,).

    `by`: the cells that they have, as COLUMN=VALUE. `lasting`: whether a node stays so for a while.
    `guessed`: whether the column is known by its name, and not named by the user.
    """

    failing: Flags
    by: str
    lasting: bool
    guessed: bool


class Flagged:
    """Columns of a table that may say which rows are failures, and which by which nodes leave.

    `free`: columns that hold nothing else that is known. `rules`: what the log's owner says.
    """

    def __init__(self, table: LogTable, free: Sequence[str], rules: Rules) -> None:
        self._table, self._free, self._rules = table, free, rules
        #: Those with but few values, in small letters.
        self._few = {
            name: cells
            for name in free
            if (cells := table[name].str.lower()).nunique() <= _MOST_VALUES
        }
        self._said = self._holds("failure_when", rules.failing)
        self.leaving = self._holds("left_when", rules.leaving)

    def _holds(self, key: str, cell: Cell | None) -> Flags | None:
        """Which rows have a cell that is named; None where none is."""
        if cell is None:
            return None
        names = self._table.names
        name = next((name for name in names if plain(name) == plain(cell.column)), None)
        if name is None:
            raise LogError(
                f"{self._table.path}: {key} names column {shown(cell.column)}, which the table "
                f"lacks; its columns are {shown(', '.join(names))}"
            )
        return self._table[name].map(cell.holds).to_numpy(np.bool_)

    def _values(self, name: str) -> list[str]:
        """The values of a column, as they first come; none if they aren't few."""
        return self._few[name].unique().tolist() if name in self._few else []

    def failing(self) -> FailingRows | None:
        """Return which rows are failures; None where no column says it."""
        cell = self._rules.failing
        if cell is not None and self._said is not None:
            same = (name for name in self._few if plain(name) == plain(cell.column))
            others = self._values(next(same, ""))
            lasts = _lasts(cell.column, (cell.value.lower(),), others)
            return FailingRows(self._said, str(cell), lasts, guessed=False)
        guesses = list[FailingRows]()
        for name, cells in self._few.items():
            bad = _bad_values(name, self._values(name))
            if bad:
                by = f"{name}={' or '.join(value or 'nothing' for value in bad)}"
                lasts = _lasts(name, bad, self._values(name))
                guesses.append(FailingRows(cells.isin(bad).to_numpy(), by, lasts, guessed=True))
        for each in guesses[1:]:
            if not np.array_equal(each.failing, guesses[0].failing):
                raise LogError(
                    f"{guesses[0].by} and {each.by} name different rows as failures; choose with "
                    "--failure-when"
                )
        return guesses[0] if guesses else None

    def rarest(self) -> FailingRows | None:
        """Return the rows with the rarer value of the one column of flags; None without one."""
        names = [name for name in self._few if _is_flag(self._values(name))]
        if len(names) != 1:
            return None
        yes = self._few[names[0]].isin(YES).to_numpy()
        failing, said = (yes, YES) if yes.mean() < _HALF else (~yes, NO)
        by = f"{names[0]}={min({*self._values(names[0])} & said)}"
        return FailingRows(failing, by, lasting=False, guessed=True)

    def unread(self, used: FailingRows | None, others: Container[str]) -> Iterator[str]:
        """Yield sentences on columns that nothing reads: neither `used` nor among `others`."""
        names = []
        for name in self._free:
            if name in others or (used is not None and used.by.startswith(f"{name}=")):
                continue
            kinds = sorted(filter(None, self._values(name)))
            several = 1 < len(kinds) <= _FEW_VALUES and not {*kinds} <= YES | NO
            names.append(f"{name!r} ({', '.join(kinds)})" if several else repr(name))
            if used is None and _is_flag(kinds):
                yield (
                    f"Column {name!r} holds only {' and '.join(kinds)} and was not used: "
                    f"if it says which rows are failures, give --failure-when {name}=1."
                )
        if names:
            yield f"Columns not used: {', '.join(names)}."


def _is_flag(values: Collection[str]) -> bool:
    """Whether values say yes and no, and nothing else."""
    kinds = {*values}
    return kinds <= YES | NO and bool(kinds & YES and kinds & NO)


def _words(name: str) -> str:
    """The word of a name without what may stand around it."""
    return "_".join(
        word for word in plain(name).split("_") if word not in _FLAGS["around"]
    ) or plain(name)


def _lasts(column: str, values: Sequence[str], every: Sequence[str]) -> bool:
    """Whether values of a column are of a state, and not of a moment."""
    word = _words(column)
    if {*every} & _FLAGS["back"]:
        return True
    if {*values} <= YES | NO:
        return word in _FLAGS["lasting"]
    return word in _FLAGS["lasting_columns"] or {*values} <= _FLAGS["lasting"]


def _bad_values(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Which values of a column are of failures, if it says that of some rows and not of others."""
    word = _words(name)
    if _is_flag(values):
        bad = None if "_" in word else meaning(word)
        if bad is None and word in _FLAGS["events"]:
            bad = False
        if bad is None:
            return ()
        return tuple(value for value in values if value in (NO if bad else YES))
    if word in _STATES or plain(name) in _STATES:
        means = {value: meaning(value) for value in values}
        doubtful = any(word in value for value in values for word in _PLANNED)
        if {*means.values()} == {True, False} and not doubtful:
            return tuple(value for value in values if means[value] is False)
    return ()


#: Share of the times between rows of a node that are alike in a table of regular rows, and of rows
#: that say the same as the one before: a log of changes has none.
_REGULAR, _SAME = 0.8, 0.5


class Watch(NamedTuple):
    """When each node came and left, by its number, shape (nodes,)."""

    came_s: Floats
    left_s: Floats


def failures_among(every: FailureLog, flagged: FailingRows) -> FailureLog:
    """Return those of all rows of a table, `every`, that are failures.

    Of a table in which nodes have rows at regular times, from the first to the last of each node
    it was watched. Where a row is of a state that lasts, rows in a row are one outage, and a node
    that is down in the first of the table's regular rows has not failed.
    """
    failing = flagged.failing
    if not failing.any():
        raise LogError(f"holds no failure: no row has {flagged.by}")
    watch = watch_of(every, failing) if every.kinds is None and every.of_nodes else None
    rows, repaired_s = np.flatnonzero(failing), every.repaired_s
    out, unused = {f"rows without {flagged.by}": len(failing) - len(rows)}, dict(every.unused)
    if flagged.lasting and every.of_nodes:
        count = len(rows)
        rows, ends_s = outages_of_rows(every.times_s, every.machines, failing)
        out[REPEATED] = count - len(rows)
        if watch is not None:
            unseen = every.times_s[rows] == watch.came_s[every.machines[rows]]
            if unseen.any():
                unused[UNSEEN] = int(unseen.sum())
            rows, ends_s = rows[~unseen], ends_s[~unseen]
        if repaired_s is None:
            repaired_s = np.full(len(every), np.nan)
            repaired_s[rows] = ends_s
    if not len(rows):
        raise LogError("holds no failure: nodes are down from their first row on")
    log = replace(every, repaired_s=repaired_s, unused=unused).leaving_out(rows, out)
    if watch is None:  # rows of changes: watched from the first failure to the last
        first_s, last_s = float(log.times_s[0]), float(log.times_s[-1])
        return replace(log, start_s=first_s, span_s=last_s - first_s)
    return replace(log, **watch._asdict(), population=len(watch.came_s))


def without_leaving(log: FailureLog, every: FailureLog, leaving: Flags) -> FailureLog:
    """Return the log with nodes that left by some rows of its table, which are no failures.

    `every`: all rows of the table. `leaving`: by which of them nodes leave, shape (n,).
    """
    count = int(every.machines.max()) + 1
    came_s = np.full(count, every.start_s) if log.came_s is None else log.came_s
    left_s = np.full(count, every.until_s) if log.left_s is None else np.array(log.left_s)
    seen = np.bincount(every.machines, minlength=count) > 0
    left_s[every.machines[leaving]] = every.times_s[leaving]
    gone_s = left_s[log.machines]
    kept = (log.times_s < gone_s) | ((log.times_s == gone_s) & (gone_s == every.until_s))
    rows = np.flatnonzero(kept)
    if not len(rows):
        raise LogError("holds no failure: all nodes have left before")
    why = {"rows of nodes that leave or have left": len(log) - len(rows)}
    left_s = np.where(seen, left_s, came_s)
    return replace(log.leaving_out(rows, why), came_s=came_s, left_s=left_s)


def outages_of_rows(times_s: Floats, nodes: Integers, failing: Flags) -> tuple[Integers, Floats]:
    """Return the rows that begin outages, by time, and when the node is up again, nan if unknown.

    Rows of a node that fail one after the other are one outage, which ends with the next that
    doesn't.
    """
    rows = pd.DataFrame({"node": nodes, "time_s": times_s, "bad": failing})
    rows = rows.sort_values(["node", "time_s"])
    good_s = rows.time_s.where(~rows.bad).groupby(rows.node).bfill()
    begins = rows.bad & ~rows.groupby("node").bad.shift(fill_value=False)
    found = good_s[begins].sort_index()
    return found.index.to_numpy(), found.to_numpy()


def watch_of(every: FailureLog, failing: Flags) -> Watch | None:
    """Return the watch of nodes that have rows at regular times; None where they have not.

    A row stands for the time until the next one is due.
    """
    rows = pd.DataFrame({"node": every.machines, "time_s": every.times_s, "bad": failing})
    rows = rows.sort_values(["node", "time_s"])
    by_node = rows.groupby("node")
    steps = by_node.time_s.diff().dropna().round(3)
    if steps.empty or (by_node.bad.shift() == rows.bad)[steps.index].mean() < _SAME:
        return None
    counts = steps.value_counts()
    step_s = float(counts.index[counts == counts.max()].min())
    if not step_s or counts.max() < _REGULAR * len(steps):
        return None
    ends = by_node.time_s.agg(["first", "last"]).reindex(range(int(every.machines.max()) + 1))
    ends = ends.fillna({"first": 0.0, "last": -step_s})
    return Watch(ends["first"].to_numpy(), ends["last"].to_numpy() + step_s)
