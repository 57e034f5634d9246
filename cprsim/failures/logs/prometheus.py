"""Prometheus' samples of whether nodes are up, by a range query."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field

from cprsim.basics.tabular import LogPath
from cprsim.basics.units import rough_percent
from cprsim.errors import LogError, shown
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import NEVER, Rules
from cprsim.failures.logs.outages import UNSEEN, outages_log, outages_of_rows
from cprsim.failures.logs.table import read_json
from cprsim.failures.logs.words import WORDS, meaning

_NO_RULES = Rules()

#: A node that lacks more samples in a row than this is down.
_MISSING_STEPS: Final = 3
#: Labels that name a node, the first that a series has.
_LABELS: Final[list[str]] = WORDS["prometheus"]["labels"]
#: Labels of a metric whose value says what it counts.
_STATE_LABELS: Final = ("state", "phase", "health", "reason")
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

    Which value is up, the labels say (`_is_good`), or `failure_when` of `rules`. The step is
    the commonest time between samples, and a sample counts for one. A node comes with its first
    sample; one whose samples end before those of others and never come back has left with its last,
    or failed if `left_when` of `rules` is `never`. The population is the number of series, in the
    order of the file. Time 0 is the first sample of all; the observation lasts until the last.
    Raises `LogError` if it can't be read or holds no failure.

    References
    ----------
    https://prometheus.io/docs/prometheus/latest/querying/api, "Range queries".
    """
    every = _all_series(path, rules)
    series, notes = _one_a_node(every)
    samples = pd.concat([each.samples.assign(node=i) for i, each in enumerate(series)])
    samples = samples.reset_index(drop=True)
    by_node = samples.groupby("node")
    # In ms, as Prometheus counts: differences of large numbers aren't equal to the bit.
    steps = by_node.time_s.diff().round(3).mode()
    if steps.empty:
        raise LogError(f"{path}: holds no failure: no series has a second sample")
    step_s, instants = float(steps[0]), np.unique(samples.time_s)
    limit_s = (_MISSING_STEPS + 1.5) * step_s  # between samples, if no more is missing
    waits = np.diff(instants)
    # Where several series share a gap, Prometheus was not there to see nodes.
    dark = (waits > limit_s) & (len(series) > 1)
    waits = np.where(dark, waits, step_s)
    # When the sample after one at each instant was due, and the instants without the gaps.
    due_s = np.append(instants[:-1] + waits, math.inf)
    seen_s = instants - np.append(0.0, np.cumsum(waits - step_s))
    places = np.searchsorted(instants, samples.time_s)
    then_s = pd.Series(seen_s[places]).groupby(samples.node).shift(-1)
    missed = then_s.fillna(seen_s[-1] + step_s) - seen_s[places] > limit_s
    # A node that vanishes without having left is watched until the end: it may come back.
    leaves = missed & then_s.isna() & (rules.left_when != NEVER)
    missed &= ~leaves
    rows = pd.concat([samples, samples[missed].assign(time_s=due_s[places[missed]], up=False)])
    falls, ends_s = outages_of_rows(
        rows.time_s.to_numpy(), rows.node.to_numpy(), ~rows.up.to_numpy(np.bool_)
    )
    found = rows.iloc[falls][["node", "time_s"]].rename(columns={"time_s": "start_s"})
    came_s = by_node.time_s.min().to_numpy()
    seen = (found.start_s > came_s[found.node]).to_numpy()
    first_s, last_s = float(instants[0]), float(instants[-1])
    read = sum(len(each.samples) for each in every)
    log = outages_log(
        path,
        found.assign(end_s=ends_s)[seen],
        last_s,
        nothing="no node goes down",
        zero_s=first_s,
        population=len(series),
        rows=("samples", read),
        dropped={"samples of other series": read - len(samples)},
        unused={
            UNSEEN: int((~by_node.up.first()).sum()),
            "gaps that all series share": int(dark.sum()),
        },
    )
    ends_s = np.where(leaves.groupby(samples.node).any(), by_node.time_s.max(), last_s)
    down_share = float(1 - by_node.up.mean().mean())
    return replace(
        log,
        came_s=came_s - first_s,
        left_s=ends_s - first_s + step_s,
        notes=(*notes, *_notes(series, int(leaves.sum()), down_share)),
    )


def _notes(series: "Sequence[_Series]", gone: int, down: float) -> Iterator[str]:
    """Yield sentences on how the log was read; `down`: the share of time that nodes are down."""
    if any(each.said for each in series):
        told = ", ".join(dict.fromkeys(each.said for each in series if each.said))
        yield f"1 means down, by {told}; else give --failure-when value=0."
    if gone:
        what, whose = ("1 node", "its") if gone == 1 else (f"{gone:,} nodes", "their")
        yield (
            f"{what} left before the end of the log: {whose} samples end and never come back. If "
            "that is a failure, give --left-when never."
        )
    if down > _MOSTLY:
        value = "1" if series[0].is_good else "0"
        yield (
            f"Nodes are down {rough_percent(down)} of the time: if value {value} means down, "
            f"give --failure-when value={value}."
        )


def _is_good(labels: Mapping[str, str]) -> tuple[bool, str]:
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


class _Series(NamedTuple):
    """The samples of a node, `time_s` and whether it is `up`, and the place of the file.

    `label`: the label that names the node. `is_good`: whether 1 means up. `said`: the label by
    which it does not.
    """

    place: str
    labels: dict[str, str]
    label: str
    node: str
    is_good: bool
    said: str
    samples: pd.DataFrame


def _all_series(path: LogPath, rules: Rules) -> list[_Series]:
    """Return all series of a file."""
    said, answer = rules.failing, read_json(path, _Answer, "a range query of Prometheus")
    if said is not None and (said.column != "value" or said.value not in ("0", "1")):
        raise LogError(
            f"failure_when is {shown(str(said))}; of a Prometheus log it is value=0 or value=1"
        )
    if answer.error:
        raise LogError(f"{path}: is an error of Prometheus: {shown(answer.error)}")
    if answer.data is None:
        raise LogError(f"{path}: has no data.result, the list of series")
    if not answer.data.result:
        raise LogError(f"{path}: holds no failure: data.result is empty")
    every = list[_Series]()
    for number, series in enumerate(answer.data.result):
        place, labels = f"{path}: series {number}", series.metric
        label = next((each for each in _LABELS if labels.get(each)), None)
        if label is None:
            raise LogError(f"{place} has no label {_LABELS[0]} or {_LABELS[-1]} in its metric")
        good, by = _is_good(labels) if said is None else (said.value == "0", "")
        samples = pd.DataFrame(series.values, columns=["time_s", "up"])
        back = np.flatnonzero(np.diff(samples.time_s) <= 0)
        if len(back):
            raise LogError(f"{place} sample {back[0] + 1} is no later than the one before")
        samples["up"] = (samples.up == "1") == good
        every.append(_Series(place, labels, label, labels[label], good, by, samples))
    return every


def _one_a_node(every: list[_Series]) -> tuple[list[_Series], list[str]]:
    """Return one series a node, and which they are where nodes have several.

    Raises
    ------
    LogError
        If it is unclear which of a node's series to take.
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
        other = first.setdefault(each.node, each)
        if other is not each:
            mine, theirs = each.labels, other.labels
            keys = sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))
            ask = [f'one {key}, e.g. {{{key}="{_STATES[key]}"}}' for key in keys if key in _STATES]
            way_out = [*ask, f"one series a node, e.g. min by ({each.label}) (up)"][0]
            differ = f", and they differ in {', '.join(keys)}" if keys else ""
            raise LogError(
                f"{each.place} is the second one of {shown(each.node)}{differ}; ask for {way_out}"
            )
    return series, said
