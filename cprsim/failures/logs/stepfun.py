"""Faults of GPU servers in the form of StepFun's InfiniteHBD trace."""

import json
from collections import defaultdict, deque
from typing import Any, NamedTuple

import pandas as pd

from cprsim.basics.tabular import LogPath, shown
from cprsim.errors import LogError
from cprsim.failures.logs.json_log import parsed, told
from cprsim.failures.logs.log import FailureLog, Rows
from cprsim.failures.logs.outages import Outage, outages_log

_DAY_S = 86_400.0
_MOST_DAYS = 100_000  # centuries: a time in seconds is none in days
_STARTS = {"fault_start": True, "fault_end": False}


def read_stepfun(path: LogPath) -> FailureLog:
    """Faults of a JSON list of events: `node_id`, `event_time`, `event_type`, `fault_type`.

    `event_time` is in days from the start of the trace. A `fault_end` closes the fault of its node
    with the same `fault_type` that has been open longest; a node may have several open at once.
    Other keys are ignored.

    Parameters
    ----------
    path
        The trace; plain, or compressed with a name that ends in `.gz` or `.xz`.

    Returns
    -------
    FailureLog
        A failure for each `fault_start`, repaired at its `fault_end`, if there is one. The cause is
        the `Class` of the fault type. Nodes are numbered as they first fail. The observation lasts
        from second 0 to the last event. How many nodes there are, the trace doesn't tell. Ends of
        faults that aren't open are counted in `dropped`.

    Raises
    ------
    LogError
        If the file can't be read, is no such list, or has no fault.

    References
    ----------
    C. Shou et al., "InfiniteHBD: building datacenter-scale high-bandwidth domain for LLM with
    optical circuit switching transceivers", SIGCOMM 2025;
    https://github.com/stepfun-ai/InfiniteHBD-Trace.
    """
    found = parsed(path, list, "StepFun faults", "a list of events")
    events = [_event(f"{path}: event {number}", each) for number, each in enumerate(found)]
    events.sort(key=lambda event: event.time_s)  # stable: those at one instant stay in order
    outages, opened, early = list[Outage](), defaultdict[tuple[str, str], deque[int]](deque), 0
    for event in events:
        faults = opened[event.node, event.fault]
        if event.starts:
            faults.append(len(outages))
            outages.append(Outage(event.node, event.time_s, cause=event.cause))
        elif faults:
            outage = faults.popleft()
            outages[outage] = outages[outage]._replace(end_s=event.time_s)
        else:
            early += 1
    return outages_log(
        path,
        pd.DataFrame(outages, columns=Outage._fields),
        "no event is a fault_start",
        events[-1].time_s if events else 0.0,
        zero_s=0.0,
        rows=Rows("events", len(events), len(events) - early),
        dropped={"ends of faults that are not open": early} if early else None,
    )


class _Event(NamedTuple):
    """What is kept of an event."""

    node: str
    time_s: float
    starts: bool
    cause: str
    fault: str


def _event(place: str, event: Any) -> _Event:
    """An event as it stands in the file, checked; raise `LogError` if it is none."""
    if not isinstance(event, dict):
        raise LogError(f"{place} is {told(event)}; it needs node_id, event_time, ...")
    node, days = _text(place, event, "node_id"), _member(place, event, "event_time")
    number = isinstance(days, int | float) and not isinstance(days, bool)
    if not (number and 0 <= days <= _MOST_DAYS):
        needed = f"it needs days, 0 to {_MOST_DAYS}"
        raise LogError(f"{place}: event_time is {told(days)}; {needed}")
    kind = _text(place, event, "event_type")
    if kind not in _STARTS:
        known = ", ".join(_STARTS)
        raise LogError(f"{place}: event_type is {shown(kind)}; known types: {known}")
    fault = _member(place, event, "fault_type")
    if not isinstance(fault, dict):
        raise LogError(f"{place}: fault_type is {told(fault)}; it needs a Class")
    cause, whole = _text(place, fault, "Class"), json.dumps(fault, sort_keys=True)
    return _Event(node, float(days) * _DAY_S, _STARTS[kind], cause, whole)


def _member(place: str, members: dict[str, Any], key: str) -> Any:
    if key not in members:
        raise LogError(f"{place}: has no {key}")
    return members[key]


def _text(place: str, members: dict[str, Any], key: str) -> str:
    text = _member(place, members, key)
    if not isinstance(text, str) or not text:
        raise LogError(f"{place}: {key} is {told(text)}; it needs a text")
    return text
