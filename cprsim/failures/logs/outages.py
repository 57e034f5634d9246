"""Outages of nodes as a file has them, in any order and by name, made into a log."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath
from cprsim.errors import LogError
from cprsim.failures.logs.log import Epoch, FailureLog, Rows, forget_early

#: Why an outage is none of a log's failures: nobody saw it start.
UNSEEN = "outages under way when the record of their node begins"
#: Or its node had failed already.
REPEATED = "failures of nodes that were down already"

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Outage(NamedTuple):
    """An outage of a node; times in seconds, on any clock, the end nan where it isn't known.

    `planned`: the words by which it was planned; None of a failure.
    """

    node: str
    start_s: float
    end_s: float = math.nan
    cause: str | None = None
    planned: str | None = None


def outages_log(
    path: LogPath,
    found: pd.DataFrame,
    nothing: str,
    until_s: float,
    *,
    zero_s: float | None = None,
    population: int | None = None,
    ends: bool = True,
    touching_are_one: bool = False,
    epoch: Epoch | None = None,
    rows: Rows | None = None,
    dropped: Mapping[str, int] | None = None,
    unused: Mapping[str, int] | None = None,
) -> FailureLog:
    """The log of all outages of a file; planned ones apart from the failures.

    Parameters
    ----------
    path, nothing
        The file, and what it lacks where nothing was found or left out, for the fault.
    found
        A row an outage, with the columns of `Outage`; `cause` and `planned` may be missing, and
        nodes may be numbers instead of names.
    until_s
        When one stopped watching, on the clock of the outages.
    zero_s
        What is second 0 of the log, and where its observation starts, which then lasts until
        `until_s`. If not given, from the first failure to the last.
    population
        How many nodes the system has, if the file tells.
    ends
        Whether the file tells when outages end.
    touching_are_one
        Whether outages of a node that touch or overlap are one, with the cause of the first, and
        planned if that was.
    epoch
        What second 0 of the outages' clock is, if the file tells.
    rows
        Of how many rows of the file the log is made, those of planned outages among them.
    dropped, unused
        As those of a `FailureLog`.

    Raises
    ------
    LogError
        If there is no failure.
    """
    dropped, unused = dict(dropped or {}), dict(unused or {})
    starts, stops = found.start_s.to_numpy(np.float64), found.end_s.to_numpy(np.float64, copy=True)
    names = found.node
    nodes = names.to_numpy() if names.dtype == np.int64 else pd.factorize(names)[0]
    planned, causes = _texts(found, "planned"), _texts(found, "cause")
    unused |= forget_early(stops, starts)
    each = np.arange(len(found))
    if touching_are_one:
        each, stops = merged(nodes, starts, stops)
    words = _planned_rows(planned, nodes, starts, each)
    dropped = {**Counter(f"rows of planned outages ({word})" for word in words), **dropped}
    if rows is not None:
        rows = rows._replace(kept=rows.kept - len(words))
    order = np.lexsort((nodes[each], starts[each]))
    each, stops = each[order], stops[order]
    was_planned = np.array([planned[row] is not None for row in each], np.bool_)
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
        causes=tuple(causes[row] for row in each) if any(causes) else None,
        epoch=None if epoch is None else epoch._replace(unix_s=epoch.unix_s + float(first_s)),
        rows=rows,
        unused=unused,
    )
    if not was_planned.any():
        return log
    apart = replace(log.only(np.flatnonzero(was_planned)), span_s=log.until_s)
    return replace(log.only(np.flatnonzero(~was_planned)), planned=apart)


def _texts(found: pd.DataFrame, column: str) -> list[str | None]:
    """The texts of a column, None where there is none."""
    texts = found.get(column, [None] * len(found))
    return [text if isinstance(text, str) else None for text in texts]


def _planned_rows(
    planned: list[str | None], nodes: Integers, starts: Floats, begins: Integers
) -> list[str]:
    """Return why each row of a planned outage was, of which `begins` are the first rows each."""
    order = np.lexsort((starts, nodes))
    is_first = np.isin(order, begins)
    words = (planned[row] for row in order[is_first][np.cumsum(is_first) - 1])
    return [word for word in words if word is not None]


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


def ends_before(nodes: Integers, starts: Floats, stops: Floats) -> tuple[Integers, Floats, Floats]:
    """Return down intervals by node, then start, and when the latest end up to each is.

    Parameters
    ----------
    nodes, starts, stops
        Of each interval, in any order, shape (n,); a stop may be nan: it is at the start.

    Returns
    -------
    tuple
        The intervals, by number; the latest end of their node up to each; the same up to the one
        before, -inf of a node's first. A start up to then continues an outage.
    """
    order = np.lexsort((starts, nodes))
    until_s, by_node = pd.Series(np.fmax(starts, stops)[order]), nodes[order]
    until_s = until_s.groupby(by_node).cummax()
    before_s = until_s.groupby(by_node).shift(fill_value=-np.inf)
    return order, np.asarray(until_s), np.asarray(before_s)


def merged(nodes: Integers, starts: Floats, stops: Floats) -> tuple[Integers, Floats]:
    """Down intervals of a node that touch or overlap made one.

    Parameters
    ----------
    nodes, starts, stops
        Of each interval, in any order, shape (n,); a stop may be nan.

    Returns
    -------
    tuple
        Which interval begins each outage, and when that ends or nan; by node, then start.
    """
    order, until_s, before_s = ends_before(nodes, starts, stops)
    begins = starts[order] > before_s
    ends_s = np.where(np.isnan(stops[order]), np.nan, until_s)
    return order[begins], ends_s[np.roll(begins, -1)]
