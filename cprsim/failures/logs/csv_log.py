"""Failure logs as tables of comma-separated values: cprsim's own format, and others'."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
import pandas as pd

from cprsim.basics.tabular import (
    Cells,
    LogPath,
    TableRow,
    csv_cells,
    delimiter_of,
    joined,
    table,
    with_header,
)
from cprsim.errors import LogError
from cprsim.failures.logs.clock import LogClock
from cprsim.failures.logs.columns import FREE_TEXT, Columns
from cprsim.failures.logs.flags import FailingRows, Flagged
from cprsim.failures.logs.log import FailureLog, Rows, forget_early
from cprsim.failures.logs.outages import without_repeats
from cprsim.failures.logs.places import Causes, Integers, Places
from cprsim.failures.logs.plausible import doubtful_mean, repeats
from cprsim.failures.logs.polled import failures_among, watch_of, without_leaving
from cprsim.failures.logs.rules import Rules
from cprsim.job.severity import SEVERITIES, Severity

_KINDS = {"parameter_server": "parameter_server", "ps": "parameter_server", "trainer": "trainer"}
_SEVERITIES: dict[str, Severity] = {severity: severity for severity in SEVERITIES}
_TOLD = {
    "kind": "kinds: parameter_server (or ps), trainer",
    "severity": f"severities: {', '.join(SEVERITIES)}",
}
_Name = TypeVar("_Name", bound=str)
_NO_RULES = Rules()


def read_csv(path: LogPath, columns: Columns | None = None, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of a table with a header: when, which node and, if there are such, five more.

    In cprsim's own format the columns are `time_s`, in seconds, 0 or later, and `node`, an index
    from 0. Optional are `kind`, parameter_server (or ps) or trainer; `end_s`, when the outage was
    over, in seconds, empty or NULL (none, nan, n/a, unknown, -) where that isn't known; `rack`;
    `severity`, process, node or cluster; and `cause`. Others are ignored and named. A table without
    nodes is of one job.

    Columns that are called otherwise are found by their commonest names, `columns.SYNONYMS`, or
    named. Times of a column that isn't called `time_s` are in the unit that `rules` gives, or are
    seconds, or seconds to nanoseconds since 1970 by their size (beyond 1e8, 1e11, 1e14 and 1e17),
    or dates, UTC where without a zone; absolute ones count from the first failure. Nodes and racks
    are indices if all are, or names, which are numbered as they first come by time. Kinds and
    severities that are others' are left out. Rows may stand in any order.

    Rows that are no failures, by `rules` or by a column of flags or states with a known name, are
    left out and counted; they show how long nodes were watched (see `polled`). A failure of a node
    that is down already is none.

    The observation lasts from the first failure to the last, the watch of the nodes until the last
    outage is over. An outage that ends before it starts has no known end and is counted.

    Parameters
    ----------
    path
        The table, its cells between commas, or between semicolons, tabs or bars where its header
        has none; plain, or compressed with a name that ends in `.gz` or `.xz`.
    columns
        What the columns are called, as far as they aren't found by themselves.
    rules
        Which rows are failures, which are planned, and in which unit times are.

    Raises
    ------
    LogError
        If the file can't be read, a value is none of these, or there is no failure.
    """
    rows = _Rows(path, columns or Columns(), rules)
    for row in table(path, choose=rows.choose, split=_cells):
        rows.add(row)
    try:
        return rows.log()
    except LogError as error:
        raise LogError(f"{path}: {error}") from None


class _Rows:
    """What the rows say, in arrays of numbers as far as they go."""

    def __init__(self, path: LogPath, columns: Columns, rules: Rules) -> None:
        self.path, self.columns, self.rules, self.found = path, columns, rules, dict[str, str]()
        self.times, self.ends = array("d"), array("d")

    def choose(self, header: list[str]) -> tuple[Sequence[str], Sequence[str]]:
        """The columns needed and the optional ones of a header."""
        self.found = found = self.columns.needed(header, "time")
        if found["time"] == "time_s" and "cause" not in found:
            self.columns.needed(header, "node")
        self.own = found["time"] == "time_s" and self.rules.unit_s is None
        self.clock = LogClock(plain=self.own, unit_s=self.rules.unit_s)
        self.nodes = Places(found["node"]) if "node" in found else None
        self.racks = Places(found["rack"]) if "rack" in found else None
        self.kinds = self._words("kind", _KINDS)
        self.severities = self._words("severity", _SEVERITIES)
        self.causes = Causes(found["cause"]) if "cause" in found else None
        free = [
            name
            for name in dict.fromkeys(header)
            if name and (name not in found.values() or name == found.get("kind"))
        ]
        self.flags = Flagged(self.path, header, free, self.rules.failing, self.rules.leaving)
        given = set(self.columns.mapping().values())
        needed = dict.fromkeys((found["time"], *sorted(given)))
        return (*needed,), [name for name in found.values() if name not in needed]

    def _words(self, column: str, known: Mapping[str, _Name]) -> "_Words[_Name] | None":
        name = self.found.get(column)
        # A `type` of somebody else's table says what broke, not which group a node is of.
        strict = column in self.columns.mapping() or (self.own and name == column)
        return None if name is None else _Words(name, known, strict, _TOLD[column])

    def add(self, row: TableRow) -> None:
        self.times.append(self.clock.read(row, self.found["time"]))
        if "end" in self.found:
            self.ends.append(self.clock.read_if_known(row, self.found["end"]))
        for column in (self.nodes, self.racks, self.kinds, self.severities, self.causes):
            if column is not None:
                column.add(row)
        self.flags.add(row.cells)

    def log(self) -> FailureLog:
        when, ends, notation, epoch = self.clock.placed(self.times, self.ends)
        late = int(np.count_nonzero(np.diff(when) < 0))
        order = np.argsort(when, kind="stable")
        when, repaired = when[order], ends[order] if len(ends) else ends
        self.times = self.ends = array("d")  # a long log is kept once
        del ends
        kinds = None if self.kinds is None else self.kinds.words(order)
        first_s, last_s = float(when[0]), float(when[-1])
        unused = forget_early(repaired, when) if len(repaired) else {}
        every = FailureLog(
            times_s=when,
            nodes=self._nodes(order, kinds),
            start_s=first_s,
            span_s=last_s - first_s,
            kinds=kinds,
            unused=unused,
            repaired_s=repaired if len(repaired) else None,
            racks=None if self.racks is None else self.racks.numbers(order),
            until_s=float(np.fmax.reduce(repaired, initial=last_s)),
            severities=None if self.severities is None else self.severities.words(order),
            causes=None if self.causes is None else self.causes.texts(order),
            epoch=epoch,
            rows=Rows("rows", len(when), len(when)),
            columns=self.found,
            of_nodes=self.nodes is not None,
        )
        flagged, leaving = self._failing(every, order), self.flags.leaving()
        log = every if flagged is None else failures_among(every, flagged)
        if leaving is not None:
            log = without_leaving(log, every, leaving[order])
        log = without_repeats(log)
        notes = self._notes(log, notation, late, flagged)
        return replace(log, notes=tuple(notes))

    def _failing(self, every: FailureLog, order: Integers) -> FailingRows | None:
        """Return the rows that are failures; None where no column says it.

        Of a table in which nodes have regular rows, those with the rarer value of its one flag.
        """
        found = self.flags.failing()
        if found is not None:
            return found.sorted(order)
        rarest = self.flags.rarest() if every.of_nodes else None
        rarest = None if rarest is None else rarest.sorted(order)
        return None if rarest is None or watch_of(every, rarest.failing) is None else rarest

    def _nodes(self, order: Integers, kinds: Sequence[str] | None) -> Integers:
        if self.nodes is None:
            return np.zeros(len(order), np.int64)
        nodes = self.nodes.numbers(order)
        if kinds is not None and self.nodes.named:  # each group has numbers of its own
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
        named = 0 if self.nodes is None else self.nodes.named
        if named:
            said["node"] += f" ({named:,} names, numbered as they first come)"
        for column, words in (("kind", self.kinds), ("severity", self.severities)):
            if words is not None and words.foreign:
                said[column] += f" (left out: not {_TOLD[column]})"
        if not self.own or named:
            yield f"Columns: {', '.join(said.values())}."
        if flagged is not None and flagged.guessed:
            yield f"Failures are the rows with {flagged.by}; else give --failure-when."
        yield from self.flags.unread(flagged, self.found.values())
        if not self.own:
            yield from repeats(log)
            yield from doubtful_mean(log, notation)
        if late:
            yield f"Sorted by time; rows that stood behind a later one: {late:,}."


class _Words(Generic[_Name]):
    """A column of known words; in one that needn't be such, other words are somebody else's."""

    def __init__(self, column: str, known: Mapping[str, _Name], strict: bool, told: str) -> None:
        self.column, self.known, self.strict, self.told = column, known, strict, told
        self.foreign, self._kept = False, list[_Name]()

    def add(self, row: TableRow) -> None:
        word = self.known.get(row[self.column])
        if word is not None:
            self._kept.append(word)
        elif self.strict:
            raise row.bad(self.column, f"; known {self.told}")
        else:
            self.foreign = True

    def words(self, order: Integers) -> tuple[_Name, ...] | None:
        """The words of the rows in an order; None where some are none."""
        return None if self.foreign else tuple(self._kept[row] for row in order)


def _cells(path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """Rows; what parts their cells is what the first line that isn't blank has."""
    header, text = with_header(text)
    mark = delimiter_of(header)
    rows = csv_cells(path, text, mark)
    names = list[str]()
    for line, cells in rows:
        names = names or cells
        surplus = any(map(str.strip, cells[len(names) :]))
        yield line, joined(names, cells, mark, FREE_TEXT) if surplus else cells
