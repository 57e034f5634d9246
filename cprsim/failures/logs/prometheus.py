"""Whether nodes were up, as Prometheus has scraped it: the JSON of a range query."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from cprsim.basics.tabular import LogPath, shown
from cprsim.basics.units import rough_percent
from cprsim.errors import LogError
from cprsim.failures.logs.json_log import parsed
from cprsim.failures.logs.log import Epoch, FailureLog, Rows, unix
from cprsim.failures.logs.outages import UNSEEN, outages_log
from cprsim.failures.logs.polarity import is_good
from cprsim.failures.logs.polled import outages_of_rows
from cprsim.failures.logs.rules import NEVER, Cell, Rules

#: A node that lacks more samples in a row than this is down.
MISSING_STEPS = 3
#: Labels that name a node, the first that a series has: metrics of Kubernetes have their exporter's
#: address in `instance`.
LABELS = (
    *("node", "exported_node", "kubernetes_node", "node_name", "nodename", "hostname", "host"),
    *("Hostname", "machine", "server", "exported_instance", "instance"),
)
#: Of several series of a node: which are taken, by label and value.
CHOSEN = (("condition", "ready"), ("status", "true"), ("job", "node"), ("job", "node-exporter"))
#: Labels of which each value is a series, and a value that is worth asking for.
_STATES = {"status": "true", "condition": "Ready", "state": "down", "phase": "Failed"}
_MOSTLY = 0.5
_NO_RULES = Rules()
_LATEST_S = 1e11  # in the year 5138; a time in milliseconds is later

Floats = NDArray[np.float64]


def read_prometheus(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of nodes by a range query for `up`, or for nodes that are ready.

    The JSON that `/api/v1/query_range` answers: `data.result` is a list of series, one a node, each
    with `metric`, its labels, and `values`, pairs of a time (UNIX seconds) and `"1"` or `"0"`.
    Which of these is up, the labels say (`polarity.is_good`); 1 if they don't. Where a node has a
    series for each value of `condition` or `status`, those of `Ready` and `true` are taken.

    Parameters
    ----------
    path
        The answer; plain, or compressed with a name that ends in `.gz` or `.xz`.
    rules
        `failure_when`: `value=1` or `value=0`, which value is down. `left_when`: `never`, a node
        whose series ends before the others has failed, and has not left.

    Returns
    -------
    FailureLog
        A failure for each run of samples that are down, from its first one to the next that is up.
        Where a series lacks more than `MISSING_STEPS` samples in a row, its node is down from the
        first one missed; but not where none of several series has any, since Prometheus itself was
        down then: such gaps are counted. The step is the commonest time between samples, and a
        sample stands for one. A node comes with its first sample; one whose samples end before
        those of others and never come back has left with its last. A node that is down at its first
        sample has not failed; that is counted, too. The population is the number of series,
        numbered as they stand. Time 0 is the first sample of all; the observation lasts until the
        last.

    Raises
    ------
    LogError
        If the file can't be read, is no such answer, has several series of one node that nothing
        tells apart, or no node fails.

    References
    ----------
    https://prometheus.io/docs/prometheus/latest/querying/api, "Range queries".
    """
    down = None if rules.failing is None else _down_value(rules.failing)
    every = [_Series(path, number, each, down) for number, each in enumerate(_result(path))]
    series, said = _one_a_node(every)
    watch, may_leave = _Watch(path, series), rules.left_when != NEVER
    leaves = [may_leave and watch.ends_early(each) for each in series]
    found = [
        (node, *outage)
        for node, each in enumerate(series)
        for outage in watch.outages(each, may_leave)
    ]
    unseen = sum(not each.up[0] for each in series)
    first_s, last_s = float(watch.instants[0]), float(watch.instants[-1])
    samples, others = (sum(len(each.times_s) for each in some) for some in (series, every))
    others -= samples
    unused = {UNSEEN: unseen, "gaps that all series share": watch.gaps}
    log = outages_log(
        path,
        pd.DataFrame(found, columns=["node", "start_s", "end_s"]).astype({"node": np.int64}),
        "no node goes down",
        last_s,
        zero_s=first_s,
        population=len(series),
        epoch=unix(first_s) and Epoch(0.0, zoned=True),
        rows=Rows("samples", samples + others, samples),
        dropped={"samples of other series": others} if others else None,
        unused={why: count for why, count in unused.items() if count},
    )
    # A node that vanishes without having left is watched until the end: it may come back.
    ends_s = [
        each.times_s[-1] if left else last_s for each, left in zip(series, leaves, strict=True)
    ]
    log = replace(
        log,
        came_s=np.array([each.times_s[0] for each in series]) - first_s,
        left_s=np.array(ends_s) - first_s + watch.step_s,
    )
    return replace(log, notes=(*said, *_notes(series, sum(leaves))))


def _down_value(cell: Cell) -> str:
    if cell.column != "value" or cell.value not in ("0", "1"):
        raise LogError(
            f"failure_when is {shown(str(cell))}; of a Prometheus log it is value=0 or value=1"
        )
    return cell.value


def _notes(series: list["_Series"], gone: int) -> Iterator[str]:
    """What was taken for what, a sentence each."""
    if any(each.said for each in series):
        told = ", ".join(dict.fromkeys(each.said for each in series if each.said))
        yield f"1 means down, by {told}; else give --failure-when value=0."
    if gone:
        what, whose = ("1 node", "its") if gone == 1 else (f"{gone:,} nodes", "their")
        yield (
            f"{what} left before the end of the log: {whose} samples end and never come back. If "
            "that is a failure, give --left-when never."
        )
    down_s = sum(float(np.count_nonzero(~each.up)) / len(each.up) for each in series) / len(series)
    if down_s > _MOSTLY:
        value = "1" if series[0].is_good else "0"
        yield (
            f"Nodes are down {rough_percent(down_s)} of the time: if value {value} means down, "
            f"give --failure-when value={value}."
        )


class _Labelled(BaseModel):
    metric: dict[str, str] = {}
    values: Annotated[
        list[tuple[Annotated[float, Field(ge=0, lt=_LATEST_S, strict=True)], Literal["0", "1"]]],
        Field(min_length=1),
    ]


class _Data(BaseModel):
    resultType: Literal["matrix"]  # noqa: N815  (a key of the answer; others are no range query)
    result: list[_Labelled]


class _Answer(BaseModel):
    data: _Data | None = None
    error: str = ""


class _Series:
    """The samples of a node."""

    def __init__(self, path: LogPath, number: int, series: _Labelled, down: str | None) -> None:
        self._place, self.labels = f"{path}: series {number}", series.metric
        named = [label for label in LABELS if self.labels.get(label)]
        if not named:
            raise self.fault(f"has no label {LABELS[0]} or {LABELS[-1]} in its metric")
        self.label, self.node = named[0], self.labels[named[0]]
        self.is_good, self.said = is_good(self.labels)
        if down is not None:
            self.is_good, self.said = down == "0", ""
        self.times_s = np.array([time_s for time_s, _ in series.values])
        self.up = np.array([value == "1" for _, value in series.values]) == self.is_good
        back = np.flatnonzero(np.diff(self.times_s) <= 0)
        if len(back):
            raise self.fault(f"sample {back[0] + 1} is no later than the one before")

    def fault(self, text: str) -> LogError:
        """What is wrong with the series, for the caller to raise."""
        return LogError(f"{self._place} {text}")


def _way_out(series: _Series, keys: list[str]) -> str:
    """What to ask for where series of a node differ in the labels `keys`."""
    differ = f", and they differ in {', '.join(keys)}" if keys else ""
    for key in keys:
        if key in _STATES:
            example = _STATES[key]
            return f'{differ}; ask for one {key}, e.g. {{{key}="{example}"}}'
    return f"{differ}; ask for one series a node, e.g. min by ({series.label}) (up)"


def _one_a_node(every: list[_Series]) -> tuple[list[_Series], list[str]]:
    """Return one series a node, and which they are where nodes have several.

    Raises
    ------
    LogError
        If nothing tells which of a node's series to take.
    """
    series, said = every, list[str]()
    for label, wanted in CHOSEN:
        nodes = {each.node for each in series}
        if len(nodes) == len(series):
            break
        values = {each.labels.get(label, "") for each in series}
        chosen = [each for each in series if each.labels.get(label, "").lower() == wanted]
        if len(values) > 1 and {each.node for each in chosen} == nodes:
            others = ", ".join(sorted(values - {chosen[0].labels[label]}))
            said.append(
                f'Of each node the series with {label}="{chosen[0].labels[label]}"; left out: '
                f"{others}."
            )
            series = chosen
    first = dict[str, _Series]()
    for each in series:
        other = first.setdefault(each.node, each)
        if other is each:
            continue
        keys = sorted(
            key
            for key in {*each.labels, *other.labels}
            if each.labels.get(key) != other.labels.get(key)
        )
        raise each.fault(f"is the second one of {shown(each.node)}{_way_out(each, keys)}")
    return series, said


def _result(path: LogPath) -> list[_Labelled]:
    """The list of series."""
    answer = parsed(path, _Answer, "a range query of Prometheus")
    if answer.error:
        raise LogError(f"{path}: is an error of Prometheus: {shown(answer.error)}")
    if answer.data is None:
        raise LogError(f"{path}: has no data.result, the list of series")
    if not answer.data.result:
        raise LogError(f"{path}: holds no failure: data.result is empty")
    return answer.data.result


class _Watch:
    """When Prometheus was there to see nodes: where several series share a gap, it wasn't."""

    def __init__(self, path: LogPath, series: list[_Series]) -> None:
        # In ms, as Prometheus counts: differences of large numbers aren't equal to the bit.
        between = np.round(np.concatenate([np.diff(each.times_s) for each in series]), 3)
        if not len(between):
            raise LogError(f"{path}: holds no failure: no series has a second sample")
        steps, counts = np.unique(between, return_counts=True)
        self.step_s = float(steps[counts.argmax()])
        self.limit_s = (MISSING_STEPS + 1.5) * self.step_s  # between samples, if no more is missing
        self.instants = np.unique(np.concatenate([each.times_s for each in series]))
        waits = np.diff(self.instants)
        dark = (waits > self.limit_s) & (len(series) > 1)
        self.gaps = int(dark.sum())
        waits = np.where(dark, waits, self.step_s)
        # When the sample after one at each instant was due, and the instants without the gaps.
        self._due_s = self.instants[:-1] + waits
        self._seen_s = self.instants - np.append(0.0, np.cumsum(waits - self.step_s))

    def ends_early(self, series: _Series) -> bool:
        """Return whether a series ends before the others and never comes back."""
        place = int(np.searchsorted(self.instants, series.times_s[-1]))
        seen_s = float(self._seen_s[-1] + self.step_s - self._seen_s[place])
        return seen_s > self.limit_s

    def outages(self, series: _Series, may_leave: bool) -> Iterator[tuple[float, float]]:
        """When a node went down, and when it was up again or nan."""
        places = np.searchsorted(self.instants, series.times_s)
        seen_s = np.append(self._seen_s[places], self._seen_s[-1] + self.step_s)
        missed = np.flatnonzero(np.diff(seen_s) > self.limit_s)  # after these samples, too many are
        if may_leave:
            missed = missed[missed < len(series.times_s) - 1]
        times_s = np.insert(series.times_s, missed + 1, self._due_s[places[missed]])
        down = ~np.insert(series.up, missed + 1, False)
        falls, ends_s = outages_of_rows(times_s, np.zeros(len(down), np.int64), down)
        seen = falls > 0
        yield from zip(times_s[falls[seen]].tolist(), ends_s[seen].tolist(), strict=True)
