"""Failure logs as tables of comma-separated values: cprsim's own format, and others'."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath
from cprsim.basics.units import format_duration
from cprsim.errors import LogError
from cprsim.failures.logs.clock import LogClock
from cprsim.failures.logs.flags import (
    FailingRows,
    Flagged,
    failures_among,
    watch_of,
    without_leaving,
)
from cprsim.failures.logs.log import FailureLog, Rows, forget_early
from cprsim.failures.logs.options import Columns, Rules, day_of
from cprsim.failures.logs.outages import without_repeats
from cprsim.failures.logs.table import LogTable, cells_of, read_table
from cprsim.job.severity import SEVERITIES

#: The words of a column, and what each stands for.
_WORDS: Final[dict[str, dict[str, Any]]] = {
    "kind": {
        "parameter_server": "parameter_server",
        "ps": "parameter_server",
        "trainer": "trainer",
    },
    "severity": {severity: severity for severity in SEVERITIES},
}
_TOLD = {
    "kind": "kinds: parameter_server (or ps), trainer",
    "severity": f"severities: {', '.join(SEVERITIES)}",
}
_INDEX = r"\+?[0-9]{1,18}"  # 18 digits fit in an int64
_NEITHER = r"|-[0-9]+|[+-]?[0-9]*\.[0-9]*"  # numbers of no node; 10.0.0.1 is a name
_NO_RULES = Rules()
#: Mean times between failures of a system beyond which its unit is in doubt, s.
_SHORTEST_S, _LONGEST_S = 60.0, 3.16e7
_FEWEST = 10  # gaps of which the mean says anything
_EARLIEST_S = 788_918_400.0  # 1995: no log is older that counts in numbers since 1970
#: A failure may be told twice within this time, s; from this share of all on that is said.
_AGAIN_S, _MANY = 60.0, 0.2


def read_csv(path: LogPath, columns: Columns | None = None, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of a table with a header: when, which node and, if there are such, five more.

    In cprsim's own format the columns are `time_s` and `node`, and optional ones `kind`, `end_s`,
    `rack`, `severity` and `cause`; what others call them, and how they write times,
    docs/failures.md says. Times that are dates count from the first failure. Nodes and racks are
    indices if all are, or names, which are numbered as they first come by time. Rows that are no
    failures show how long nodes were watched (see `flags`). The observation lasts from the first
    failure to the last, the watch of the nodes until the last outage is over.

    `columns`: what they are called, as far as they aren't found by themselves. `rules`: which rows
    are failures, which are planned, and in which unit times are. Raises `LogError` if the file
    can't be read, a value makes no sense, or there is no failure.
    """
    given, found = columns or Columns(), dict[str, str]()

    def choose(header: list[str]) -> tuple[Sequence[str], Sequence[str]]:
        found.update(given.needed(header, "time"))
        if found["time"] == "time_s" and "cause" not in found:
            given.needed(header, "node")
        needed = dict.fromkeys((found["time"], *sorted(given.mapping().values())))
        return (*needed,), [name for name in found.values() if name not in needed]

    read = _Read(read_table(path, choose=choose, split=cells_of), found, given, rules)
    try:
        return read.log()
    except LogError as error:
        raise LogError(f"{path}: {error}") from None


class _Read:
    """A table, of which each cell is sound by itself."""

    def __init__(
        self, table: LogTable, found: dict[str, str], given: Columns, rules: Rules
    ) -> None:
        self.cells, self.found = table.cells, found
        others = [name for name in found.values() if name != found.get("kind")]
        free = [name for name in table.names if name not in others]
        self.flags = Flagged(table, free, rules)
        self.own = found["time"] == "time_s" and rules.unit_s is None
        self.clock = LogClock(plain=self.own, unit_s=rules.unit_s)
        self.times, self.ends = self.clock.read(table, found["time"]), None
        if "end" in found:
            self.ends = self.clock.read(table, found["end"], may_lack=True)
        for name in (found[column] for column in ("node", "rack") if column in found):
            neither = table[name].str.fullmatch(_NEITHER)
            table.refuse(name, neither, "; it is an index from 0, or a name")
        #: Known words of a column; None where some are others'.
        self.words: dict[str, pd.Series[Any] | None] = {}
        for column in ("kind", "severity"):
            if column in found:
                words = table[found[column]].map(_WORDS[column])
                # A `type` of somebody else's table says what broke, not which group a node is of.
                if column in given.mapping() or (self.own and found[column] == column):
                    table.refuse(found[column], words.isna(), f"; known {_TOLD[column]}")
                self.words[column] = None if words.isna().any() else words
        #: How many names of nodes there are; 0 where all are indices.
        self.named = 0
        if "node" in found and not _are_indices(table[found["node"]]):
            self.named = int(table[found["node"]].nunique())

    def log(self) -> FailureLog:
        lasted = np.full(len(self.times), math.nan) if self.ends is None else self.ends
        when, ends, notation, epoch = self.clock.placed(self.times, lasted)
        late, order = int(np.count_nonzero(np.diff(when) < 0)), np.argsort(when, kind="stable")
        when, ends, cells = when[order], ends[order], self.cells.iloc[order]
        kinds, severities = (
            None if words is None else tuple(words.iloc[order])
            for words in (self.words.get("kind"), self.words.get("severity"))
        )
        causes = None
        if "cause" in self.found:
            causes = tuple(text or None for text in cells[self.found["cause"]])
        first_s, last_s = float(when[0]), float(when[-1])
        every = FailureLog(
            times_s=when,
            nodes=self._nodes(cells, kinds),
            start_s=first_s,
            span_s=last_s - first_s,
            kinds=kinds,
            unused=forget_early(ends, when),
            repaired_s=None if self.ends is None else ends,
            racks=_numbers(cells[self.found["rack"]]) if "rack" in self.found else None,
            until_s=float(np.fmax.reduce(ends, initial=last_s)),
            severities=severities,
            causes=causes,
            epoch=epoch,
            rows=Rows("rows", len(when), len(when)),
            columns=self.found,
            of_nodes="node" in self.found,
        )
        flagged, leaving = self._failing(every, order), self.flags.leaving
        log = every if flagged is None else failures_among(every, flagged)
        if leaving is not None:
            log = without_leaving(log, every, leaving[order])
        log = without_repeats(log)
        return replace(log, notes=tuple(self._notes(log, notation, late, flagged)))

    def _failing(self, every: FailureLog, order: NDArray[np.int64]) -> FailingRows | None:
        """Return the rows that are failures; None where no column says it.

        Of a table in which nodes have regular rows, those with the rarer value of its one flag.
        """
        found = self.flags.failing()
        rarest = self.flags.rarest() if found is None and every.of_nodes else None
        if found is None and rarest is not None and watch_of(every, rarest.failing[order]):
            found = rarest
        return None if found is None else found._replace(failing=found.failing[order])

    def _nodes(self, cells: pd.DataFrame, kinds: Sequence[str] | None) -> NDArray[np.int64]:
        if "node" not in self.found:
            return np.zeros(len(cells), np.int64)
        nodes = _numbers(cells[self.found["node"]])
        if kinds is not None and self.named:  # each group has numbers of its own
            trainer = np.array([kind == "trainer" for kind in kinds])
            for group in (trainer, ~trainer):
                nodes[group] = pd.factorize(nodes[group])[0]
        return nodes

    def _notes(
        self, log: FailureLog, notation: str, late: int, flagged: FailingRows | None
    ) -> Iterator[str]:
        """What was taken for what, a sentence each."""
        said = {column: f"{column} {name!r}" for column, name in self.found.items()}
        said["time"] += f" ({notation})"
        if self.named:
            said["node"] += f" ({self.named:,} names, numbered as they first come)"
        for column, words in self.words.items():
            if words is None:
                said[column] += f" (left out: not {_TOLD[column]})"
        if not self.own or self.named:
            yield f"Columns: {', '.join(said.values())}."
        if flagged is not None and flagged.guessed:
            yield f"Failures are the rows with {flagged.by}; else give --failure-when."
        yield from self.flags.unread(flagged, self.found.values())
        if not self.own:
            yield from _repeats(log)
            yield from _doubtful_mean(log, notation)
        if late:
            yield f"Sorted by time; rows that stood behind a later one: {late:,}."


def _are_indices(texts: "pd.Series[Any]") -> bool:
    return bool(texts.str.fullmatch(_INDEX).all())


def _numbers(texts: "pd.Series[Any]") -> NDArray[np.int64]:
    """Indices if all texts are, else numbers of names as they first come."""
    if _are_indices(texts):
        return np.asarray(texts.astype(np.int64))
    return pd.factorize(texts)[0]


def _doubtful_mean(log: FailureLog, notation: str) -> Iterator[str]:
    """Yield a sentence that doubts the unit of times that are numbers, if it can't be right."""
    gaps = np.diff(np.unique(log.times_s))
    if len(gaps) < _FEWEST or notation.startswith("ISO"):
        return
    mean_s, since = float(gaps.mean()), ""
    if log.epoch is not None and log.epoch.unix_s < _EARLIEST_S:
        since = f" and begin on {day_of(max(log.epoch.unix_s, 0.0))}"
    elif _SHORTEST_S <= mean_s <= _LONGEST_S:
        return
    yield (
        f"Mean time between failures of {format_duration(mean_s)}: is the unit right? Times were "
        f"taken for {notation}{since}; --time-unit us, ms, s, min, h or d says what they are."
    )


def _repeats(log: FailureLog) -> Iterator[str]:
    """Yield sentences on failures that may be told twice."""
    if not log.of_nodes:
        same = len(log) - len(np.unique(log.times_s))
        if same > _MANY * len(log):
            yield f"{same:,} rows have the time of another: --node-column names the nodes."
        return
    if log.repaired_s is not None:
        return
    order = np.lexsort((log.times_s, log.machines))
    apart_s = np.diff(log.times_s[order])
    near = (np.diff(log.machines[order]) == 0) & (apart_s > 0) & (apart_s <= _AGAIN_S)
    count = int(np.count_nonzero(near))
    if count > _MANY * len(log):
        yield (
            f"{count:,} failures follow one of the same node within a minute: if several monitors "
            'tell the same failure, give --coalesce "1 min".'
        )
