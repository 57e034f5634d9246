"""Failure logs as tables of comma-separated values: cprsim's own format, and others'.

Which rows are failures, their columns say: by the user's word, or by words that are known.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath
from cprsim.basics.units import format_duration
from cprsim.errors import LogError
from cprsim.failures.logs.clock import DIGITS, LAST_DATE_S, Times, read_times
from cprsim.failures.logs.log import FailureLog, forget_early
from cprsim.failures.logs.options import Cell, Columns, Rules, day_of
from cprsim.failures.logs.outages import (
    REPEATED,
    UNSEEN,
    Integers,
    merged,
    outages_of_rows,
)
from cprsim.failures.logs.table import cells_of, name_of, names_of, read_table, refuse
from cprsim.failures.logs.words import FLAGS, NO, YES, meaning, plain
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
#: Share of the times between rows of a node that are alike in a table of regular rows, and of rows
#: that say the same as the one before: a log of changes has none.
_REGULAR, _SAME = 0.8, 0.5
#: Names of columns whose words are states.
_STATES: Final = FLAGS["lasting_columns"] | FLAGS["state_columns"]
#: Words of outages that may have been planned: their owner has to say it.
_PLANNED: Final = ("maint", "planned", "drain")
_MOST_VALUES, _FEW_VALUES, _HALF = 8, 4, 0.5

_Flags = NDArray[np.bool_]
#: Columns with but few values, in small letters.
_Few = Mapping[str, "pd.Series[Any]"]


class _FailingRows(NamedTuple):
    """The rows that are failures, shape (n,).

    `by`: the cells that they have, as COLUMN=VALUE. `lasting`: whether a node stays so for a while.
    `guessed`: whether the column is known by its name, and not named by the user.
    """

    failing: _Flags
    by: str
    lasting: bool
    guessed: bool


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
    few = _few_values(table, free)
    flagged = None if rules.failing is None else _named_rows(table, few, rules.failing)
    leaving = None if rules.leaving is None else _rows_with(table, "left_when", rules.leaving)
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
        flagged = flagged or _guessed_rows(few) or _rarest(every, few, order)
        log = every
        if flagged is not None:
            log = _failures_among(every, flagged, flagged.failing[order])
        if leaving is not None:
            log = _without_leaving(log, every, leaving[order])
    except LogError as error:
        raise LogError(f"{path}: {error}") from None
    if log is not every:
        named = every.of_nodes and not _are_indices(table[found["node"]])
        log = _from_first_failure(log, named)
    log = _without_repeats(log)
    notes = [*_columns_notes(table, every, times.notation, own)]
    if flagged is not None and flagged.guessed:
        notes.append(f"Failures are the rows with {flagged.by}; else give --failure-when.")
    notes += _unread([name for name in free if name not in found.values()], few, flagged)
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


def _rarest(every: FailureLog, few: _Few, order: Integers) -> _FailingRows | None:
    """Return the rows with the rarer value of the one flag of a table of regular rows."""
    names = [name for name in few if _is_flag(_values(few, name))]
    if len(names) != 1 or not every.of_nodes:
        return None
    yes = few[names[0]].isin(YES).to_numpy()
    failing, said = (yes, YES) if yes.mean() < _HALF else (~yes, NO)
    if _watch_of(every, failing[order]) is None:
        return None
    by = f"{names[0]}={min({*_values(few, names[0])} & said)}"
    return _FailingRows(failing, by, lasting=False, guessed=True)


def _failures_among(every: FailureLog, flagged: _FailingRows, failing: _Flags) -> FailureLog:
    """Return those of all rows of a table, `every`, that are failures.

    Of a table in which nodes have rows at regular times, from the first to the last of each node
    it was watched. Where a row is of a state that lasts, rows in a row are one outage, and a node
    that is down in the first of the table's regular rows has not failed.
    """
    if not failing.any():
        raise LogError(f"holds no failure: no row has {flagged.by}")
    watch = _watch_of(every, failing) if every.kinds is None and every.of_nodes else None
    rows, repaired_s = np.flatnonzero(failing), every.repaired_s
    out, unused = {f"rows without {flagged.by}": len(failing) - len(rows)}, dict(every.unused)
    if flagged.lasting and every.of_nodes:
        count = len(rows)
        rows, ends_s = outages_of_rows(every.times_s, every.machines, failing)
        out[REPEATED] = count - len(rows)
        if watch is not None:
            unseen = every.times_s[rows] == watch.came_s.to_numpy()[every.machines[rows]]
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
    came_s, left_s = watch.came_s.to_numpy(), watch.left_s.to_numpy()
    return replace(log, came_s=came_s, left_s=left_s, population=len(watch))


def _without_leaving(log: FailureLog, every: FailureLog, leaving: _Flags) -> FailureLog:
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


def _without_repeats(log: FailureLog) -> FailureLog:
    """Return the log without failures of nodes that were down already: what touches an outage.

    An outage ends with the last of its records that has an end. Without any, nothing is down.
    """
    if log.repaired_s is None:
        return log
    known = np.fmax(log.times_s, log.repaired_s)
    rows, ends_s = merged(log.machines, log.times_s, known)
    repeats, order = len(log) - len(rows), np.argsort(rows, kind="stable")
    if not repeats:
        return log
    rows, ends_s = rows[order], ends_s[order]
    untold = np.isnan(log.repaired_s[rows]) & (ends_s == log.times_s[rows])
    ends_with_one = log.times_s[-1] == log.start_s + log.span_s
    return replace(
        log.leaving_out(rows, {REPEATED: repeats}),
        span_s=float(log.times_s[rows[-1]]) - log.start_s if ends_with_one else log.span_s,
        repaired_s=np.where(untold, np.nan, ends_s),
    )


def _watch_of(every: FailureLog, failing: _Flags) -> pd.DataFrame | None:
    """Return when nodes that have rows at regular times came and left; None where they have not.

    A row a node, by its number. A row is valid until the next one is due.
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
    ends = pd.DataFrame({"came_s": by_node.time_s.first(), "left_s": by_node.time_s.last()})
    ends = ends.reindex(range(int(every.machines.max()) + 1))
    ends = ends.fillna({"came_s": 0.0, "left_s": -step_s})
    ends["left_s"] += step_s
    return ends


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


def _few_values(table: pd.DataFrame, names: Sequence[str]) -> _Few:
    """Return those of the columns that have but few values."""
    small = {name: table[name].str.lower() for name in names}
    return {name: cells for name, cells in small.items() if cells.nunique() <= _MOST_VALUES}


def _rows_with(table: pd.DataFrame, rule: str, cell: Cell) -> _Flags:
    """Return whether each row has the cell that a rule of the user names."""
    return table[name_of(table, cell.column, rule)].map(cell.holds).to_numpy(np.bool_)


def _named_rows(table: pd.DataFrame, few: _Few, cell: Cell) -> _FailingRows:
    """Return the rows that are failures by the user's word: those with a cell."""
    same = [name for name in few if plain(name) == plain(cell.column)]
    lasts = _lasts(cell.column, (cell.value.lower(),), _values(few, *same[:1]))
    return _FailingRows(_rows_with(table, "failure_when", cell), str(cell), lasts, guessed=False)


def _guessed_rows(few: _Few) -> _FailingRows | None:
    """Return the rows that are failures by the words of a column; None where no column says it."""
    guesses = list[_FailingRows]()
    for name, cells in few.items():
        bad = _bad_values(name, _values(few, name))
        if bad:
            by = f"{name}={' or '.join(value or 'nothing' for value in bad)}"
            lasts = _lasts(name, bad, _values(few, name))
            guesses.append(_FailingRows(cells.isin(bad).to_numpy(), by, lasts, guessed=True))
    for each in guesses[1:]:
        if not np.array_equal(each.failing, guesses[0].failing):
            raise LogError(
                f"{guesses[0].by} and {each.by} name different rows as failures; choose with "
                "--failure-when"
            )
    return guesses[0] if guesses else None


def _unread(names: Sequence[str], few: _Few, used: _FailingRows | None) -> Iterator[str]:
    """Yield sentences on columns that nothing reads, but for the one that is `used`."""
    told = []
    for name in names:
        if used is not None and used.by.startswith(f"{name}="):
            continue
        kinds = sorted(filter(None, _values(few, name)))
        several = 1 < len(kinds) <= _FEW_VALUES and not {*kinds} <= YES | NO
        told.append(f"{name!r} ({', '.join(kinds)})" if several else repr(name))
        if used is None and _is_flag(kinds):
            yield (
                f"Column {name!r} holds only {' and '.join(kinds)} and was not used: "
                f"if it says which rows are failures, give --failure-when {name}=1."
            )
    if told:
        yield f"Columns not used: {', '.join(told)}."


def _values(few: _Few, name: str = "") -> list[str]:
    """The values of a column, as they first come; none if they aren't few."""
    return few[name].unique().tolist() if name in few else []


def _is_flag(values: Collection[str]) -> bool:
    """Return whether values say yes and no, and nothing else."""
    kinds = {*values}
    return kinds <= YES | NO and bool(kinds & YES and kinds & NO)


def _word(name: str) -> str:
    """Return the word of a name without its common prefixes and suffixes."""
    words = [word for word in plain(name).split("_") if word not in FLAGS["around"]]
    return "_".join(words) or plain(name)


def _lasts(column: str, values: Sequence[str], every: Sequence[str]) -> bool:
    """Return whether values of a column are of a state, and not of a moment."""
    if {*every} & FLAGS["back"]:
        return True
    if {*values} <= YES | NO:
        return _word(column) in FLAGS["lasting"]
    return _word(column) in FLAGS["lasting_columns"] or {*values} <= FLAGS["lasting"]


def _bad_values(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a column that are of failures, if others are not."""
    word = _word(name)
    if _is_flag(values):
        bad = False if word in FLAGS["events"] else None
        bad = (None if "_" in word else meaning(word)) if bad is None else bad
        return () if bad is None else tuple(each for each in values if each in (NO if bad else YES))
    if not {word, plain(name)} & _STATES:
        return ()
    means = {value: meaning(value) for value in values}
    doubtful = any(word in value for value in values for word in _PLANNED)
    if doubtful or {*means.values()} != {True, False}:
        return ()
    return tuple(value for value in values if means[value] is False)
