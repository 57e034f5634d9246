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
from cprsim.failures.logs.log import Epoch, FailureLog, Rows, forget_early
from cprsim.failures.logs.options import Columns, Rules, day_of
from cprsim.failures.logs.outages import Integers, without_repeats
from cprsim.failures.logs.table import LogTable, cells_of, read_table
from cprsim.job.severity import SEVERITIES
from cprsim.survival.sample import Floats

#: The words of a column, and their meanings.
_WORDS: Final[dict[str, dict[str, Any]]] = {
    "kind": {
        "parameter_server": "parameter_server",
        "ps": "parameter_server",
        "trainer": "trainer",
    },
    "severity": {severity: severity for severity in SEVERITIES},
}
_MEANINGS = {
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
#: A failure may be reported twice within this time, s; from this share of all on a note says so.
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

    table = read_table(path, choose=choose, split=cells_of)
    known = [name for name in found.values() if name != found.get("kind")]
    flags = Flagged(table, [name for name in table.names if name not in known], rules)
    own = found["time"] == "time_s" and rules.unit_s is None
    clock = LogClock(plain=own, unit_s=rules.unit_s)
    times_s, ends_s = clock.read(table, found["time"]), np.full(len(table), math.nan)
    if "end" in found:
        ends_s = clock.read(table, found["end"], may_lack=True)
    for name in (found[column] for column in ("node", "rack") if column in found):
        neither = table[name].str.fullmatch(_NEITHER)
        table.refuse(name, neither, "; it is an index from 0, or a name")
    for column in (each for each in _WORDS if each in found):
        # A `type` of another's table says what broke, not which group a node is of.
        if column in given.mapping() or (own and found[column] == column):
            unknown = ~table[found[column]].isin(_WORDS[column])
            table.refuse(found[column], unknown, f"; known {_MEANINGS[column]}")
    try:
        when, ends, notation, epoch = clock.placed(times_s, ends_s)
        order = np.argsort(when, kind="stable")
        every = _every(table.cells.iloc[order], found, when[order], ends[order], epoch)
        flagged, log = _failing(every, flags, order), every
        if flagged is not None:
            log = failures_among(log, flagged)
        if flags.leaving is not None:
            log = without_leaving(log, every, flags.leaving[order])
        log = without_repeats(log)
    except LogError as error:
        raise LogError(f"{path}: {error}") from None
    notes = [*_columns_notes(table, every, notation, own)]
    if flagged is not None and flagged.guessed:
        notes.append(f"Failures are the rows with {flagged.by}; else give --failure-when.")
    notes += flags.unread(flagged, found.values())
    if not own:
        notes += [*_repeats(log), *_doubtful_mean(log, notation)]
    late = int(np.count_nonzero(np.diff(when) < 0))
    if late:
        notes.append(f"Sorted by time; rows that stood behind a later one: {late:,}.")
    return replace(log, notes=tuple(notes))


def _every(
    cells: pd.DataFrame, found: dict[str, str], times_s: Floats, ends_s: Floats, epoch: Epoch | None
) -> FailureLog:
    """Return the log of all rows of a table; kinds and severities only where all are known."""
    texts = {column: cells[name] for column, name in found.items()}
    words = {
        column: tuple(texts[column].map(known))
        for column, known in _WORDS.items()
        if column in texts and texts[column].isin(known).all()
    }
    kinds, nodes = words.get("kind"), np.zeros(len(cells), np.int64)
    if "node" in texts:
        nodes = _numbers(texts["node"])
        if kinds is not None and not _are_indices(texts["node"]):  # numbered by group
            trainer = np.array([kind == "trainer" for kind in kinds])
            for group in (trainer, ~trainer):
                nodes[group] = pd.factorize(nodes[group])[0]
    first_s, last_s = float(times_s[0]), float(times_s[-1])
    return FailureLog(
        times_s=times_s,
        nodes=nodes,
        start_s=first_s,
        span_s=last_s - first_s,
        kinds=kinds,
        unused=forget_early(ends_s, times_s),
        repaired_s=ends_s if "end" in found else None,
        racks=_numbers(texts["rack"]) if "rack" in found else None,
        until_s=float(np.fmax.reduce(ends_s, initial=last_s)),
        severities=words.get("severity"),
        causes=tuple(text or None for text in texts["cause"]) if "cause" in texts else None,
        epoch=epoch,
        rows=Rows("rows", len(cells), len(cells)),
        columns=found,
        of_nodes="node" in found,
    )


def _failing(every: FailureLog, flags: Flagged, order: Integers) -> FailingRows | None:
    """Return the rows that are failures, by time; None where no column says it.

    Of a table in which nodes have regular rows, those with the rarer value of its one flag.
    """
    found = flags.failing()
    rarest = flags.rarest() if found is None and every.of_nodes else None
    if found is None and rarest is not None and watch_of(every, rarest.failing[order]):
        found = rarest
    return None if found is None else found._replace(failing=found.failing[order])


def _columns_notes(table: LogTable, every: FailureLog, notation: str, own: bool) -> Iterator[str]:
    """Yield a sentence on the columns, where they are not cprsim's own."""
    said = {column: f"{column} {name!r}" for column, name in every.columns.items()}
    said["time"] += f" ({notation})"
    is_named = every.of_nodes and not _are_indices(table[every.columns["node"]])
    if is_named:
        names = table[every.columns["node"]].nunique()
        said["node"] += f" ({names:,} names, numbered as they first come)"
    for column, known in (("kind", every.kinds), ("severity", every.severities)):
        if column in said and known is None:
            said[column] += f" (left out: not {_MEANINGS[column]})"
    if not own or is_named:
        yield f"Columns: {', '.join(said.values())}."


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
    """Yield sentences on failures that may be reported twice."""
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
