"""Logs that the tools of a cluster keep: Slurm's events, kernels' Xids, Prometheus' samples.

Each reader takes the path of a file, plain or compressed with a name that ends in `.gz` or `.xz`,
and raises `LogError` if it can't be read or holds no failure.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field

from cprsim.basics.tabular import Cells, LogPath, is_unknown, joined, lines, shown
from cprsim.basics.units import rough_percent
from cprsim.errors import LogError
from cprsim.failures.logs.flags import is_good, outages_of_rows
from cprsim.failures.logs.log import Epoch, FailureLog, unix
from cprsim.failures.logs.options import NEVER, Rules
from cprsim.failures.logs.outages import UNSEEN, outages_log, planned_word
from cprsim.failures.logs.table import read_json, read_table

_NO_RULES = Rules()

# --- Slurm ---------------------------------------------------------------------------------------

#: In this order where the file has no line with their names: what sacctmgr prints by itself.
_COLUMNS: Final = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "Reason", "User")
_NEEDED: Final = ("NodeName", "TimeStart", "TimeEnd", "State", "Reason")
#: States of a node that has failed, as sacctmgr writes them short or long.
FAILED: Final = (
    "DOWN",
    "DRAIN",
    "DRAINED",
    "DRAINING",
    "DRNG",
    "ERROR",
    "FAIL",
    "FAILG",
    "FAILING",
)
#: States that only a fault gives, whatever the reason says.
FAULTS: Final = ("ERROR", "FAIL", "FAILG", "FAILING")
# Flags behind a state: * doesn't respond; others are of power saving, reboots and maintenance.
_STATE = re.compile(rf"({'|'.join(FAILED)})(\+(NOT_RESPONDING|{'|'.join(FAILED)}))*\*?")
_DRAINED = re.compile(r"(IDLE|MIXED|ALLOCATED)\*?\+(?=DRAIN)")
_FAULT = re.compile(rf"\b(?:{'|'.join(FAULTS)})\b")
_FORM, _TIME = "%Y-%m-%dT%H:%M:%S", r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"


def read_slurm(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of the nodes of a Slurm cluster, as `sacctmgr -P list event` prints them.

    Nodes of several clusters are told apart by Cluster. Time 0 is the first failure; nodes are
    watched until the last instant of the file. `rules`: which reasons are of planned outages.

    References
    ----------
    sacctmgr(1) and sinfo(1), "NODE STATE CODES", of Slurm; https://slurm.schedmd.com.
    """
    rows = read_table(path, lambda _: (_NEEDED, ("Cluster",)), _slurm_cells)
    start_s, end_s = (rows.local_s(column, _TIME, _FORM) for column in ("TimeStart", "TimeEnd"))
    for column, each in (("TimeStart", start_s), ("TimeEnd", end_s)):
        wrong = np.isnan(each) & ~rows[column].map(is_unknown)
        rows.refuse(column, wrong, ", not a time like 2024-01-31T12:00:00, or Unknown")
    names = rows["NodeName"]
    states = rows["State"].str.upper().str.replace(_DRAINED, "", regex=True)
    rows.refuse(
        "State",
        (names != "") & (states == ""),
        f"; it needs a state of a node, e.g. {FAILED[0]}",
    )
    why = np.select(
        [names == "", ~states.str.fullmatch(_STATE), np.isnan(start_s)],
        ["rows of whole clusters", "rows of state " + rows["State"], "rows without a start"],
        "",
    )
    reasons, is_fault = rows["Reason"], states.str.contains(_FAULT)
    found = pd.DataFrame(
        {
            "node": rows["Cluster"] + "/" + names if "Cluster" in rows else names,
            "start_s": start_s,
            "end_s": end_s,
            "cause": [None if is_unknown(reason) else reason for reason in reasons],
            "planned": [
                planned_word(reason, rules, by_words=not fault)
                for reason, fault in zip(reasons, is_fault, strict=True)
            ],
        }
    )[why == ""]
    return outages_log(
        path,
        found,
        float(np.nanmax([start_s, end_s], initial=-math.inf)),
        nothing="it has no row",
        touching_are_one=True,
        epoch=Epoch(0.0, zoned=False),
        rows=("rows", len(rows)),
        dropped=Counter(why[why != ""].tolist()),
    )


def _slurm_cells(_path: LogPath, text: Iterator[str]) -> Iterator[Cells]:
    """The names of the columns, then the rows.

    Without the `|` at the end that `-p` writes where no line has the names.
    """
    names, has_end = list[str](), False
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split("|")
        if not names:
            # A row has no cell that is a column's name: these are no names of nodes, nor reasons.
            names = [cell.strip() for cell in cells]
            if not {*names} & {"NodeName", "TimeStart", "State"}:
                names, has_end = list(_COLUMNS), len(cells) > len(_COLUMNS) and not cells[-1]
                yield number, names
        yield number, joined(names, cells[: len(cells) - has_end], "|", ("reason",))


# --- Xids ----------------------------------------------------------------------------------------

#: Codes after which a GPU has to be reset or replaced, or its host restarted. Of NVIDIA, "XID
#: Errors", the Xid catalogue; https://docs.nvidia.com/deploy/xid-errors.
FAILURES: Final = {
    46: "GPU stopped processing",
    48: "double-bit ECC error",
    62: "halt of the power management unit",
    64: "failure to remap a row or to retire a page",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    94: "contained ECC error",
    95: "uncontained ECC error",
    110: "security fault",
    119: "GSP timeout",
    120: "GSP error",
    140: "unrecovered ECC error",
    143: "GPU initialization failure",
}
#: The cause of a GPU that is lost without an Xid.
OFF_THE_BUS: Final = "off the bus"
#: A host is down for a minute at least: what its log has of its GPUs until then tells the same.
_SAME_FAILURE_S: Final = 60.0
_TELL = "write the log with journalctl -k -o short-iso"
_HEAD = re.compile(
    r"(?:<[0-9]+>(?:[0-9] )?)?"  # priority and version, as sent over the network
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:[.,][0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?)"
    r"\s+(?!NVRM:|kernel:|nvidia-nvswitch)(\S+)\s"
)
_NO_YEAR = re.compile(r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}")
_MARK = re.compile(r"\bS?Xid \(|NVRM:.*\b(?:fallen|fell) off the bus|NVRM:.*GPU is lost")
_CODE = re.compile(r"\b(S?Xid) \([^)]*\): ([0-9]{1,5})\b(.*)")
# What a line says of itself wins over its code.
_HARMLESS = re.compile(r"\bnon[- ]?fatal\b", re.IGNORECASE)
_FATAL = re.compile(r"\bfatal\b", re.IGNORECASE)
_ACTION = re.compile(r"recovery action changed from .* to \S+ \(([^)]*)\)", re.IGNORECASE)


def read_xid(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of hosts by the lines `NVRM: Xid (PCI:0000:3b:00): 79, ...` of their kernel logs.

    And by those of a GPU that falls off the bus without an Xid, and of NVSwitches (SXid). The cause
    is the code. Time 0 is the first failure; hosts are watched until the last of these lines, or
    the last of the file. Times have a zone all, or none, and then count as they stand. When a host
    is back, such a log doesn't tell. `rules`: codes that are failures beside those of `FAILURES`.
    """
    found, left_out, others = list[tuple[str, float, str]](), Counter[str](), False
    until_s, zoned, last = -math.inf, None, ""
    for number, line in enumerate(lines(path), 1):
        if not _MARK.search(line):
            last = line
            continue
        head, code, last = _HEAD.match(line), _CODE.search(line), ""
        time_s = _time_s(head) if head else math.nan
        if head is None or math.isnan(time_s) or (code is None and "Xid (" in line):
            raise LogError(f"{path}:{number}: {_line_fault(line, head, time_s)}")
        if zoned not in (None, bool(head[2])):
            zone = "with a zone, unlike" if head[2] else "without a zone, unlike"
            told = f"time is {shown(head[1])}, {zone} those before; {_TELL}"
            raise LogError(f"{path}:{number}: {told}")
        zoned, until_s = bool(head[2]), max(until_s, time_s)
        others |= code is None or code[1] == "SXid"
        cause = OFF_THE_BUS if code is None else f"{code[1]} {int(code[2])}"
        if code is None or _is_failure(code[1], int(code[2]), code[3], rules.xids or ()):
            found.append((head[3], time_s, cause))
        else:
            left_out[f"lines of {cause}"] += 1
    end = _HEAD.match(last)
    if end and bool(end[2]) == zoned:
        until_s = max(until_s, _time_s(end))
    what = f"lines with an Xid{' or SXid, or of a lost GPU' * others}"
    log = outages_log(
        path,
        pd.DataFrame(found, columns=["node", "start_s", "cause"]).assign(end_s=math.nan),
        until_s,
        nothing="no line has an NVRM: Xid",
        ends=False,
        epoch=Epoch(0.0, bool(zoned)),
        rows=(what, len(found) + left_out.total()),
        dropped=left_out,
    )
    return _once_a_failure(log)


def _is_failure(kind: str, code: int, text: str, extra: Sequence[int]) -> bool:
    """Return whether a line is of a failure: by what it says itself, else by its code."""
    if kind == "Xid" and code in extra:
        return True
    if _HARMLESS.search(text):
        return False
    action = _ACTION.search(text)
    if action is not None:
        return action[1].lower() != "none"
    return bool(_FATAL.search(text)) or (kind == "Xid" and code in FAILURES)


def _once_a_failure(log: FailureLog) -> FailureLog:
    """Return the log with one failure for lines of a host that tell the same."""
    order = np.lexsort((log.times_s, log.nodes))
    apart_s = np.diff(log.times_s[order], prepend=-np.inf)
    is_new = (np.diff(log.nodes[order], prepend=-1) != 0) | (apart_s > _SAME_FAILURE_S)
    repeats = int(np.count_nonzero(~is_new))
    if not repeats:
        return log
    kept = np.sort(order[is_new])
    span_s = float(log.times_s[kept[-1]]) - log.start_s
    why = {"lines that continue a failure of their host": repeats}
    return replace(log.leaving_out(kept, why), span_s=span_s)


def _time_s(head: re.Match[str]) -> float:
    """Seconds on a clock of the log's own; nan where there is no such time."""
    try:
        time = datetime.fromisoformat(head[1].replace(",", "."))
    except ValueError:  # 2024-02-30
        return math.nan
    return (time if head[2] else time.replace(tzinfo=UTC)).timestamp()


def _line_fault(line: str, head: re.Match[str] | None, time_s: float) -> str:
    """What is wrong with a line that has an Xid."""
    if head is None:
        no_year = _NO_YEAR.match(line)
        if no_year:
            return f"time is {shown(no_year[0])}, without a year; {_TELL}"
        return f"no ISO time and host in front of the Xid: {shown(line.strip())}; {_TELL}"
    if math.isnan(time_s):
        return f"time is {shown(head[1])}, not a time like 2024-03-01T12:00:00+00:00"
    return f"no code behind NVRM: Xid: {shown(line.strip())}"


# --- Prometheus ----------------------------------------------------------------------------------

#: A node that lacks more samples in a row than this is down.
_MISSING_STEPS: Final = 3
#: Labels that name a node, the first that a series has: metrics of Kubernetes have their exporter's
#: address in `instance`.
_LABELS: Final = (
    *("node", "exported_node", "kubernetes_node", "node_name", "nodename", "hostname", "host"),
    *("Hostname", "machine", "server", "exported_instance", "instance"),
)
#: Of several series of a node: which are taken, by label and value.
_CHOSEN: Final = (
    *(("condition", "ready"), ("status", "true"), ("job", "node"), ("job", "node-exporter")),
)
#: Labels of which each value is a series, and a value that is worth asking for.
_STATES: Final = {"status": "true", "condition": "Ready", "state": "down", "phase": "Failed"}
_MOSTLY: Final = 0.5
_LATEST_S: Final = 1e11  # in the year 5138; a time in milliseconds is later


def read_prometheus(path: LogPath, rules: Rules = _NO_RULES) -> FailureLog:
    """Failures of nodes by a range query for `up`, or for nodes that are ready.

    Which value is up, the labels say (`flags.is_good`), or `failure_when` of `rules`. The step is
    the commonest time between samples, and a sample stands for one. A node comes with its first
    sample; one whose samples end before those of others and never come back has left with its last,
    or failed if `left_when` of `rules` is `never`. The population is the number of series, numbered
    as they stand. Time 0 is the first sample of all; the observation lasts until the last.

    References
    ----------
    https://prometheus.io/docs/prometheus/latest/querying/api, "Range queries".
    """
    said, down = rules.failing, None
    if said is not None:
        down = said.value
        if said.column != "value" or down not in ("0", "1"):
            raise LogError(
                f"failure_when is {shown(str(said))}; of a Prometheus log it is value=0 or value=1"
            )
    every = [_Series(path, number, each, down) for number, each in enumerate(_result(path))]
    series, notes = _one_a_node(every)
    watch, may_leave = _Watch(path, series), rules.left_when != NEVER
    leaves = [may_leave and watch.ends_early(each) for each in series]
    found = [
        (node, *outage)
        for node, each in enumerate(series)
        for outage in watch.outages(each, may_leave)
    ]
    first_s, last_s = float(watch.instants[0]), float(watch.instants[-1])
    samples, taken = (sum(len(each.times_s) for each in some) for some in (every, series))
    log = outages_log(
        path,
        pd.DataFrame(found, columns=["node", "start_s", "end_s"]).astype({"node": np.int64}),
        last_s,
        nothing="no node goes down",
        zero_s=first_s,
        population=len(series),
        epoch=unix(first_s) and Epoch(0.0, zoned=True),
        rows=("samples", samples),
        dropped={"samples of other series": samples - taken},
        unused={
            UNSEEN: sum(not each.up[0] for each in series),
            "gaps that all series share": watch.gaps,
        },
    )
    # A node that vanishes without having left is watched until the end: it may come back.
    ends_s = [
        each.times_s[-1] if left else last_s for each, left in zip(series, leaves, strict=True)
    ]
    return replace(
        log,
        came_s=np.array([each.times_s[0] for each in series]) - first_s,
        left_s=np.array(ends_s) - first_s + watch.step_s,
        notes=(*notes, *_notes(series, sum(leaves))),
    )


def _notes(series: "Sequence[_Series]", gone: int) -> Iterator[str]:
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


def _result(path: LogPath) -> list[_Labelled]:
    """The list of series."""
    answer = read_json(path, _Answer, "a range query of Prometheus")
    if answer.error:
        raise LogError(f"{path}: is an error of Prometheus: {shown(answer.error)}")
    if answer.data is None:
        raise LogError(f"{path}: has no data.result, the list of series")
    if not answer.data.result:
        raise LogError(f"{path}: holds no failure: data.result is empty")
    return answer.data.result


class _Series:
    """The samples of a node."""

    def __init__(self, path: LogPath, number: int, series: _Labelled, down: str | None) -> None:
        self._place, self.labels = f"{path}: series {number}", series.metric
        named = [label for label in _LABELS if self.labels.get(label)]
        if not named:
            raise self.fault(f"has no label {_LABELS[0]} or {_LABELS[-1]} in its metric")
        self.label, self.node = named[0], self.labels[named[0]]
        self.is_good, self.said = is_good(self.labels) if down is None else (down == "0", "")
        self.times_s = np.array([time_s for time_s, _ in series.values])
        self.up = np.array([value == "1" for _, value in series.values]) == self.is_good
        back = np.flatnonzero(np.diff(self.times_s) <= 0)
        if len(back):
            raise self.fault(f"sample {back[0] + 1} is no later than the one before")

    def fault(self, text: str) -> LogError:
        """What is wrong with the series, for the caller to raise."""
        return LogError(f"{self._place} {text}")

    def second_of(self, other: "_Series") -> LogError:
        """That both are of one node, and what to ask for instead; for the caller to raise."""
        mine, others = self.labels, other.labels
        keys = sorted(key for key in {*mine, *others} if mine.get(key) != others.get(key))
        way_out = f"one series a node, e.g. min by ({self.label}) (up)"
        for key in keys:
            if key in _STATES:
                way_out = f'one {key}, e.g. {{{key}="{_STATES[key]}"}}'
                break
        differ = f", and they differ in {', '.join(keys)}" if keys else ""
        return self.fault(f"is the second one of {shown(self.node)}{differ}; ask for {way_out}")


def _one_a_node(every: list[_Series]) -> tuple[list[_Series], list[str]]:
    """Return one series a node, and which they are where nodes have several.

    Raises
    ------
    LogError
        If nothing tells which of a node's series to take.
    """
    series, said = every, list[str]()
    for label, wanted in _CHOSEN:
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
        if first.setdefault(each.node, each) is not each:
            raise each.second_of(first[each.node])
    return series, said


class _Watch:
    """When Prometheus was there to see nodes: where several series share a gap, it wasn't."""

    def __init__(self, path: LogPath, series: Sequence[_Series]) -> None:
        # In ms, as Prometheus counts: differences of large numbers aren't equal to the bit.
        between = np.round(np.concatenate([np.diff(each.times_s) for each in series]), 3)
        if not len(between):
            raise LogError(f"{path}: holds no failure: no series has a second sample")
        steps, counts = np.unique(between, return_counts=True)
        self.step_s = float(steps[counts.argmax()])
        # Between samples, if no more is missing.
        self._limit_s = (_MISSING_STEPS + 1.5) * self.step_s
        self.instants = np.unique(np.concatenate([each.times_s for each in series]))
        waits = np.diff(self.instants)
        dark = (waits > self._limit_s) & (len(series) > 1)
        self.gaps = int(dark.sum())
        waits = np.where(dark, waits, self.step_s)
        # When the sample after one at each instant was due, and the instants without the gaps.
        self._due_s = self.instants[:-1] + waits
        self._seen_s = self.instants - np.append(0.0, np.cumsum(waits - self.step_s))

    def ends_early(self, series: _Series) -> bool:
        """Return whether a series ends before the others and never comes back."""
        place = int(np.searchsorted(self.instants, series.times_s[-1]))
        seen_s = float(self._seen_s[-1] + self.step_s - self._seen_s[place])
        return seen_s > self._limit_s

    def outages(self, series: _Series, may_leave: bool) -> Iterator[tuple[float, float]]:
        """When a node went down, and when it was up again or nan."""
        places = np.searchsorted(self.instants, series.times_s)
        seen_s = np.append(self._seen_s[places], self._seen_s[-1] + self.step_s)
        # After these samples too many are missing.
        missed = np.flatnonzero(np.diff(seen_s) > self._limit_s)
        if may_leave:
            missed = missed[missed < len(series.times_s) - 1]
        times_s = np.insert(series.times_s, missed + 1, self._due_s[places[missed]])
        down = ~np.insert(series.up, missed + 1, False)
        falls, ends_s = outages_of_rows(times_s, np.zeros(len(down), np.int64), down)
        seen = falls > 0
        yield from zip(times_s[falls[seen]].tolist(), ends_s[seen].tolist(), strict=True)
