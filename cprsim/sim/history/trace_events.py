"""A run as Chrome's trace events, which Perfetto and chrome://tracing open.

The format is Catapult's "Trace Event Format": complete events ("X"), instant events ("i") and
metadata ("M"). A process is a group of lanes, a thread is a lane. Times are in microseconds of the
job's wall clock, rounded to the nanosecond (in runs of months, to what a float holds of that), so
that spans that follow each other touch and never overlap.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final

from cprsim.basics.version import __version__
from cprsim.sim.history.lanes import Lane, background_lanes, lanes
from cprsim.sim.history.phases import WORDS
from cprsim.sim.history.recorder import Background, Failure, History

#: Servers with a lane of their own.
MOST_LANES: Final = 64
_JOB: Final = 1
_NODES: Final = 2
_BACKGROUND: Final = 3

Event = dict[str, Any]


def trace_json(history: History, title: str) -> bytes:
    """The run as a `.json.gz` file; the same run gives the same bytes."""
    document = {
        "traceEvents": list(events(history)),
        "displayTimeUnit": "ms",
        "otherData": {
            "scenario": title,
            "policy": history.policy,
            "seed": history.seed,
            "replication": history.replication,
            "ledger": asdict(history.ledger),
            "cprsim": __version__,
        },
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def events(history: History) -> Iterator[Event]:
    """All events of a run: lanes of the job and its nodes, failures, and the background."""
    job, *nodes = lanes(history, MOST_LANES)
    yield from _group(_JOB, f"job under {history.policy}", [job.name])
    yield from _spans(_JOB, 1, job)
    for failure in history.failures:
        yield _failure(failure)
    yield from _group(_NODES, "nodes", [lane.name for lane in nodes])
    for thread, lane in enumerate(nodes, 1):
        yield from _spans(_NODES, thread, lane)
    beneath = [(kind, row) for kind, rows in background_lanes(history).items() for row in rows]
    if beneath:
        yield from _group(_BACKGROUND, "in the background", [kind for kind, _ in beneath])
    for thread, (_, row) in enumerate(beneath, 1):
        for task in row:
            yield _task(thread, task)


def _group(process: int, name: str, lane_names: Iterable[str]) -> Iterator[Event]:
    """Names and order of a process and its threads, which count from 1."""
    yield _metadata("process_name", process, 0, name=name)
    yield _metadata("process_sort_index", process, 0, sort_index=process)
    for thread, lane in enumerate(lane_names, 1):
        yield _metadata("thread_name", process, thread, name=lane)
        yield _metadata("thread_sort_index", process, thread, sort_index=thread)


def _metadata(kind: str, process: int, thread: int, **arguments: Any) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": arguments}


def _spans(process: int, thread: int, lane: Lane) -> Iterator[Event]:
    for phase in lane.phases:
        for doing, start_s, end_s in phase.spans():
            yield _span(process, thread, WORDS[doing], doing, start_s, end_s)


def _task(thread: int, each: Background) -> Event:
    task = each.task
    arguments: dict[str, Any] = {"completed": each.completed, "tier": task.tier}
    if task.kind != "save":
        arguments |= {"servers": sorted(task.servers), "trainers": sorted(task.trainers)}
    span = _span(_BACKGROUND, thread, WORDS[task.kind], task.kind, each.start_s, each.end_s)
    return span | {"args": arguments}


def _span(
    process: int, thread: int, name: str, category: str, start_s: float, end_s: float
) -> Event:
    start_ns, end_ns = round(start_s * 1e9), round(end_s * 1e9)
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": process,
        "tid": thread,
        "ts": start_ns / 1e3,
        "dur": (end_ns - start_ns) / 1e3,
    }


def _failure(failure: Failure) -> Event:
    hit, answer = failure.hit, failure.answer
    return {
        "ph": "i",
        "s": "g",  # across all lanes
        "name": "failure",
        "cat": "failure",
        "pid": _JOB,
        "tid": 1,
        "ts": round(failure.at_s * 1e9) / 1e3,
        "args": {
            "servers": list(hit.servers),
            "trainers": list(hit.trainers),
            "severity": hit.severity,
            "rolls_back": answer.rollback,
            "source": answer.source,
        },
    }
