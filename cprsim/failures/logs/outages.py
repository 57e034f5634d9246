"""Outages of nodes as a file has them, made into a log: which touch, and which were planned."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath
from cprsim.errors import LogError
from cprsim.failures.logs.log import EARLIEST_S, FailureLog, forget_early
from cprsim.failures.logs.options import Rules
from cprsim.failures.logs.words import planned_word
from cprsim.survival.sample import Floats, Integers, Sample

#: Why an outage is none of a log's failures: nobody saw it start.
UNSEEN: Final = "outages under way when the record of their node begins"
#: Or its node had failed already.
REPEATED: Final = "failures of nodes that were down already"


def outages_log(
    path: LogPath,
    found: pd.DataFrame,
    until_s: float,
    *,
    nothing: str = "",
    zero_s: float | None = None,
    population: int | None = None,
    ends: bool = True,
    touching_are_one: bool = False,
    rows: tuple[str, int],
    dropped: Mapping[str, int],
    unused: Mapping[str, int] | None = None,
) -> FailureLog:
    """The log of all outages of a file; planned ones apart from the failures.

    Raises `LogError` if there is no failure.

    Parameters
    ----------
    found
        A row an outage: `node`, a name or a number; `start_s` and `end_s`, on any clock, which
        counts from 1970 if its times are that late, the end nan where it isn't known; `cause` and
        `planned`, the words by which it was planned, None of a failure; these two may be missing.
    until_s
        When one stopped watching, on the clock of the outages.
    nothing
        What the file lacks where nothing was found or left out, for the fault.
    zero_s
        What is second 0 of the log, and where its observation starts, which then lasts until
        `until_s`. If not given, from the first failure to the last.
    ends
        Whether the file has ends of outages.
    touching_are_one
        Whether outages of a node that touch or overlap are one, with the cause of the first, and
        planned if that was.
    population, rows, dropped, unused
        As those of a `FailureLog`; reasons that count none are left out.
    """
    dropped, unused = (
        {why: n for why, n in (each or {}).items() if n} for each in (dropped, unused)
    )
    starts, stops = found.start_s.to_numpy(np.float64), found.end_s.to_numpy(np.float64, copy=True)
    names = found.node
    nodes = names.to_numpy() if names.dtype == np.int64 else pd.factorize(names)[0]
    planned, causes = _texts(found, "planned"), _texts(found, "cause")
    unused |= forget_early(stops, starts)
    each = np.arange(len(found))
    if touching_are_one:
        each, stops = merged(nodes, starts, stops)
    in_order = np.lexsort((starts, nodes))
    begins = np.isin(in_order, each)
    first = in_order[begins][np.cumsum(begins) - 1]  # of the outage of each row
    words = (f"rows of planned outages ({word})" for word in planned[first] if word is not None)
    dropped = {**Counter(words), **dropped}
    order = np.lexsort((nodes[each], starts[each]))
    each, stops = each[order], stops[order]
    was_planned = np.asarray(pd.notna(planned[each]))
    failed = starts[each[~was_planned]]
    if not len(failed):
        every = ", ".join(f"{count} {why}" for why, count in {**dropped, **unused}.items())
        raise LogError(f"{path}: holds no failure: {f'left out are {every}' if every else nothing}")
    first_s, last_s = (failed[0], failed[-1]) if zero_s is None else (zero_s, until_s)
    log = FailureLog(
        times_s=starts[each] - first_s,
        nodes=nodes[each],
        start_s=0.0,
        span_s=float(last_s - first_s),
        population=population,
        dropped=dropped,
        repaired_s=stops - first_s if ends else None,
        until_s=float(until_s - first_s),
        causes=tuple(causes[each]) if any(causes) else None,
        unix_s=float(first_s) if first_s > EARLIEST_S else None,
        rows=rows,
        unused=unused,
    )
    if not was_planned.any():
        return log
    apart = replace(log.only(np.flatnonzero(was_planned)), span_s=log.until_s)
    return replace(log.only(np.flatnonzero(~was_planned)), planned=apart)


def _texts(found: pd.DataFrame, column: str) -> NDArray[np.object_]:
    """The texts of a column, None where there is none."""
    texts = found.get(column, pd.Series(None, found.index, dtype=object))
    return np.array([text if isinstance(text, str) else None for text in texts], object)


def ends_before(nodes: Integers, starts: Floats, stops: Floats) -> tuple[Integers, Floats, Floats]:
    """Return down intervals by node, then start, and when the latest end up to each is.

    They come in any order; a stop that is nan is at the start. Returned are the intervals, by
    number; the latest end of their node up to each; the same up to the one before, -inf of a node's
    first. A start up to then continues an outage. All of shape (n,).
    """
    order = np.lexsort((starts, nodes))
    until_s, by_node = pd.Series(np.fmax(starts, stops)[order]), nodes[order]
    until_s = until_s.groupby(by_node).cummax()
    before_s = until_s.groupby(by_node).shift(fill_value=-np.inf)
    return order, np.asarray(until_s), np.asarray(before_s)


def merged(nodes: Integers, starts: Floats, stops: Floats) -> tuple[Integers, Floats]:
    """Return which interval begins each outage, and when that ends or nan; by node, then start.

    Down intervals of a node that touch or overlap are one; parameters as of `ends_before`.
    """
    order, until_s, before_s = ends_before(nodes, starts, stops)
    begins = starts[order] > before_s
    ends_s = np.where(np.isnan(stops[order]), np.nan, until_s)
    return order[begins], ends_s[np.roll(begins, -1)]


def outages_of_rows(
    times_s: Floats, nodes: Integers, failing: NDArray[np.bool_]
) -> tuple[Integers, Floats]:
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


def without_planned(path: LogPath, log: FailureLog, rules: Rules) -> FailureLog:
    """Return the log with the outages that `rules.planned` names apart from the failures.

    Raises
    ------
    LogError
        If none of its outages is a failure, or it has no causes.
    """
    if log.causes is None:
        raise LogError(
            f"{path}: tells no causes for planned to go by; name their column with --cause-column, "
            "or leave it out"
        )
    regexes = rules.planned, rules.not_planned
    words = [planned_word(cause or "", *regexes, by_words=False) for cause in log.causes]
    planned = np.array([word is not None for word in words], np.bool_)
    if not planned.any():
        return log
    if planned.all():
        raise LogError(
            f"{path}: holds no failure: all {len(log):,} outages are planned ({rules.planned})"
        )
    why = Counter(f"rows of planned outages ({word})" for word in words if word is not None)
    failures = log.leaving_out(np.flatnonzero(~planned), why)
    return replace(failures, planned=log.only(np.flatnonzero(planned)))


class RepairTimes(NamedTuple):
    """Outages of nodes, each once, however many failures fell into it.

    `sample`: how long they lasted, right-censored where one is still going on when the watch ends.
    `unknown`: outages left out, as the log doesn't say when they ended. `at_once`: left out, as
    they lasted 0 s. `began_s`: when each of the sample began, shape (n,). `causes`: why, as the
    first failure of each has it; None where the log has no causes.
    """

    sample: Sample
    unknown: int
    at_once: int
    began_s: Floats
    causes: tuple[str | None, ...] | None


def repair_times(log: FailureLog) -> RepairTimes | None:
    """Outages of a log; None where it has no repairs, or none that took any time."""
    if log.repaired_s is None:
        return None
    rows, ends_s = merged(log.machines, log.times_s, log.repaired_s)
    until_s = log.left(log.machines[rows])
    began_s, untold = log.times_s[rows], np.isnan(ends_s)
    # Of a log that lacks ends in its midst those at its end are no more known.
    is_last = np.diff(log.machines[rows], append=-1) != 0
    is_complete = not (untold & ~is_last).any()
    at_once = ends_s <= began_s
    # Without an end, the outage is not over yet.
    kept = (until_s > began_s) & ~at_once & (is_complete | ~untold)
    lasted_s = np.fmin(ends_s, until_s)[kept] - began_s[kept]
    observed = ends_s[kept] <= until_s[kept]
    if not observed.any():
        return None
    return RepairTimes(
        sample=Sample(lasted_s, observed),
        unknown=0 if is_complete else int(untold.sum()),
        at_once=int(at_once.sum()),
        began_s=began_s[kept],
        causes=None if log.causes is None else tuple(log.causes[row] for row in rows[kept]),
    )


def without_repeats(log: FailureLog) -> FailureLog:
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
