"""Failure logs as tables of comma-separated values: cprsim's own format, and others'."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath
from cprsim.basics.units import format_duration
from cprsim.errors import LogError
from cprsim.failures.logs.clock import DIGITS, LAST_DATE_S, Times, read_times
from cprsim.failures.logs.failing_rows import (
    few_values,
    guessed_rows,
    named_rows,
    rows_with,
    unread_columns,
)
from cprsim.failures.logs.flagged_log import failures_among, rarest_rows, without_leaving
from cprsim.failures.logs.log import FailureLog, forget_early
from cprsim.failures.logs.options import Columns, Rules, day_of
from cprsim.failures.logs.outages import without_repeats
from cprsim.failures.logs.table import cells_of, names_of, read_table, refuse
from cprsim.job.severity import SEVERITIES
from cprsim.survival.sample import Floats, Integers

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
#: Numbers larger than both the first and so many times those that there are are names.
_LARGEST, _SPARSE = 10**6, 10
#: Why a row is left out that is there twice, as where two exports overlap.
_TWINS: Final = "rows that are the same as another"
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
    failures show how long nodes were watched. The observation lasts from the first failure to the
    last, the watch of the nodes until the last outage is over.

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

    table = read_table(path, choose, cells_of)
    rows = len(table)
    if "node" in found:
        table = _without_twins(table, [found["time"], found["node"]])
    known = [name for name in found.values() if name != found.get("kind")]
    free = [name for name in names_of(table) if name not in known]
    few = few_values(table, free)
    flagged = None if rules.failing is None else named_rows(table, few, rules.failing)
    leaving = None if rules.leaving is None else rows_with(table, "left_when", rules.leaving)
    own = found["time"] == "time_s" and rules.time_unit is None
    times = read_times(table, found["time"], found.get("end"), plain=own, unit=rules.time_unit)
    for name in (found[column] for column in ("node", "rack") if column in found):
        neither = table[name].str.fullmatch(_NEITHER)
        refuse(table, name, neither, "; it is an index from 0, or a name")
    for column in (each for each in _WORDS if each in found):
        # A `type` of another's table says what broke, not which group a node is of.
        if column in given.mapping() or (own and found[column] == column):
            unknown = ~table[found[column]].isin(_WORDS[column])
            refuse(table, found[column], unknown, f"; known {_MEANINGS[column]}")
    order = np.argsort(times.starts_s, kind="stable")
    every = _every(table, found, times, order)
    if len(table) < rows:
        every = replace(every, rows=("rows", rows), dropped={_TWINS: rows - len(table)})
    try:
        flagged = flagged or guessed_rows(few) or rarest_rows(every, few, order)
        log = every
        if flagged is not None:
            log = failures_among(every, flagged, flagged.failing[order])
        if leaving is not None:
            log = without_leaving(log, every, leaving[order])
    except LogError as error:
        raise LogError(f"{path}: {error}") from None
    if log is not every:
        named = every.of_nodes and not _are_indices(table[found["node"]])
        log = _from_first_failure(log, named)
    log = without_repeats(log)
    notes = [*_columns_notes(table, every, times.notation, own)]
    if flagged is not None and flagged.guessed:
        notes.append(f"Failures are the rows with {flagged.by}; else give --failure-when.")
    notes += unread_columns([name for name in free if name not in found.values()], few, flagged)
    if not own:
        notes += [*_repeats(log), *_doubtful_mean(log, times.notation)]
    late = int(np.count_nonzero(np.diff(times.starts_s) < 0))
    if late:
        notes.append(f"Sorted by time; rows that stood behind a later one: {late:,}.")
    return replace(log, notes=tuple(notes))


def _without_twins(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return the table without rows that have all cells of an earlier one.

    Only rows alike in the columns `names` are compared. Of those rows that differ elsewhere stay:
    several parts of a node may fail at once.
    """
    alike = table[table.duplicated(names, keep=False)]
    return table.drop(index=alike.index[alike.duplicated()])


def _every(table: pd.DataFrame, found: dict[str, str], times: Times, order: Integers) -> FailureLog:
    """Return the log of all rows of a table, by time; kinds and severities where all are known."""
    cells, times_s, ends_s = table.iloc[order], times.starts_s[order], times.ends_s[order]
    texts = {column: cells[name] for column, name in found.items()}
    words = {
        column: tuple(texts[column].map(known))
        for column, known in _WORDS.items()
        if column in texts and texts[column].isin(known).all()
    }
    kinds, nodes = words.get("kind"), np.zeros(len(cells), np.int64)
    if "node" in texts:
        nodes = _numbers(texts["node"])
        if not _are_indices(texts["node"]):
            nodes = _as_they_come(nodes, kinds)
    unused = _forget_far(ends_s, times) | forget_early(ends_s, times_s)
    first_s, last_s = float(times_s[0]), float(times_s[-1])
    return FailureLog(
        times_s=times_s,
        nodes=nodes,
        start_s=first_s,
        span_s=last_s - first_s,
        kinds=kinds,
        unused=unused,
        repaired_s=None if np.isnan(ends_s).all() else ends_s,
        racks=_numbers(texts["rack"]) if "rack" in found else None,
        until_s=float(np.fmax.reduce(ends_s, initial=last_s)),
        severities=words.get("severity"),
        causes=tuple(text or None for text in texts["cause"]) if "cause" in texts else None,
        unix_s=times.unix_s,
        rows=("rows", len(cells)),
        columns=found,
        of_nodes="node" in found,
    )


def _forget_far(ends_s: Floats, times: Times) -> dict[str, int]:
    """Make ends that mean none, such as one in 9999, nan, in place; how many, if any."""
    if times.unix_s is None or times.unix_s > LAST_DATE_S:
        return {}
    far = times.unix_s + ends_s > LAST_DATE_S
    ends_s[far] = np.nan
    return {"repairs that end after 2099": int(far.sum())} if far.any() else {}


def _from_first_failure(log: FailureLog, named: bool) -> FailureLog:
    """Return the log as it would be of a table of its failures alone, but for the time watched.

    Nodes that are `named` are numbered as they first fail, those that never do come last. Dates
    count from the first failure, unless the observation starts before it.
    """
    if named and log.came_s is None:
        log = replace(log, nodes=_as_they_come(log.nodes, log.kinds))
    elif named and log.came_s is not None and log.left_s is not None and log.kinds is None:
        numbers, failing = pd.factorize(log.nodes)
        order = np.append(failing, np.setdiff1d(np.arange(len(log.left_s)), failing))
        log = replace(log, nodes=numbers, came_s=log.came_s[order], left_s=log.left_s[order])
    zero_s = float(log.times_s[0])
    if log.unix_s is None or log.start_s != zero_s:
        return log
    return replace(
        log,
        times_s=log.times_s - zero_s,
        start_s=0.0,
        until_s=log.until_s - zero_s,
        unix_s=log.unix_s + zero_s,
        **{
            name: getattr(log, name) - zero_s
            for name in ("repaired_s", "came_s", "left_s")
            if getattr(log, name) is not None
        },
    )


def _columns_notes(
    table: pd.DataFrame, every: FailureLog, notation: str, own: bool
) -> Iterator[str]:
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
    """Return whether names are numbers from 0; serial numbers are far larger than these."""
    if not texts.str.fullmatch(_INDEX).all():
        return False
    return int(texts.astype(np.int64).max()) <= max(_LARGEST, _SPARSE * texts.nunique())


def _numbers(texts: "pd.Series[Any]") -> NDArray[np.int64]:
    """Indices if all texts are, else numbers of names as they first come."""
    if _are_indices(texts):
        return np.asarray(texts.astype(np.int64))
    return pd.factorize(texts)[0]


def _as_they_come(nodes: Integers, kinds: Sequence[str] | None) -> Integers:
    """Return numbers of nodes from 0 as they first come, of each kind apart."""
    if kinds is None:
        return pd.factorize(nodes)[0]
    numbers, trainer = np.empty_like(nodes), np.array([kind == "trainer" for kind in kinds])
    for group in (trainer, ~trainer):
        numbers[group] = pd.factorize(nodes[group])[0]
    return numbers


def _doubtful_mean(log: FailureLog, notation: str) -> Iterator[str]:
    """Yield a sentence that doubts the unit of times that are numbers, if it can't be right."""
    gaps = np.diff(np.unique(log.times_s))
    if len(gaps) < _FEWEST or notation.startswith(("ISO", DIGITS)):
        return
    mean_s, since = float(gaps.mean()), ""
    if log.unix_s is not None and log.unix_s < _EARLIEST_S:
        since = f" and begin on {day_of(max(log.unix_s, 0.0))}"
    elif log.unix_s is not None and log.unix_s > LAST_DATE_S:
        since = " and begin after 2099"
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
