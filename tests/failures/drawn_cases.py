"""Logs of every kind that people have, drawn at random with what is true of them."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

HOUR_S = 3600
START = datetime(2025, 3, 3, tzinfo=UTC)
UNIX_S = int(START.timestamp())


class Down(NamedTuple):
    """An outage of a node, in whole seconds from the start of the log."""

    node: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Drawn:
    """A log, how it is read, and what is true of it.

    `node_days` is None where the log does not say how long nodes were watched; `repairs_s` where it
    does not say when they were back.
    """

    text: str
    downs: list[Down]
    options: dict[str, object] = field(default_factory=dict)
    repairs_s: list[int] | None = None
    node_days: float | None = None
    planned: int = 0
    nodes: int | None = None


def downs_of(rng: np.random.Generator, step_s: int = 60, nodes: int = 5) -> list[Down]:
    """Outages that do not touch and start at different times, in their order."""
    at, found, free = 0, list[Down](), dict.fromkeys(range(nodes), 0)
    while len(found) < 14:
        at += int(rng.integers(1, 40))
        up = [node for node, since in free.items() if since < at]
        if not up:
            continue
        node, lasts = int(rng.choice(up)), int(rng.integers(1, 30))
        free[node] = at + lasts + 2
        found.append(Down(f"n{node}", at * step_s, (at + lasts) * step_s))
    return found


def one_of(rng: np.random.Generator, *choices: str) -> str:
    return choices[int(rng.integers(len(choices)))]


def iso(at_s: float, form: str = "%Y-%m-%dT%H:%M:%S") -> str:
    return (START + timedelta(seconds=at_s)).strftime(form)


# Slurm

FAULTS = (
    "Static node maintenance: unhealthy node is being replaced",
    "Not responding",
    "xid 79: rebooting for maintenance",
    "Reboot after ECC errors",
    "NHC: /fsx not mounted | gpu 3 lost",
    "Kill task failed",
    "Node unexpectedly rebooted",
    "maint: node crashed | see ticket | update soon",
    "Scheduled_check: gpu hung",
    "gres/gpu count reported lower than configured (7 < 8)",
    "upgrade firmware: link degraded",
)
WORK = ("maintenance window", "Reboot ASAP", "kernel upgrade", "scheduled power test", "OS patch")


def slurm(rng: np.random.Generator, downs: list[Down] | None = None) -> Drawn:
    """Drains whose reason or state changes, planned outages, and bars in the reasons."""
    downs, rows, planned = downs or downs_of(rng), list[list[str]](), 0
    for down in downs:
        cuts = sorted({down.start_s, (down.start_s + down.end_s) // 2, down.end_s})
        state = one_of(rng, "DRAIN", "DOWN", "DOWN*", "FAIL", "IDLE+DRAIN", "DRAINING")
        reason = one_of(rng, *FAULTS) if state != "FAIL" else one_of(rng, *WORK, *FAULTS)
        if rng.random() < 0.5:
            cuts = [down.start_s, down.end_s]
        for first, last in itertools.pairwise(cuts):
            rows.append([down.node, iso(first), iso(last), state, reason])
            state, reason = one_of(rng, "DRAIN", "DOWN*"), one_of(rng, *FAULTS, *WORK)
    last_s = max(down.end_s for down in downs)
    for k in range(int(rng.integers(3))):
        at = last_s + 7200 * (k + 1)
        planned += 1
        rows.append(["n0", iso(at), iso(at + 600), "DRAIN", one_of(rng, *WORK)])
        rows.append(["n0", iso(at + 600), iso(at + 900), "DOWN*", one_of(rng, *WORK, *FAULTS)])
    rng.shuffle(rows)
    order = rng.permutation(4).tolist() if rng.random() < 0.5 else [0, 1, 2, 3]
    names = ["NodeName", "TimeStart", "TimeEnd", "State"]
    head = [names[place] for place in order]
    lines = ["|".join([*(row[place] for place in order), row[4], "root(0)"]) for row in rows]
    header = "|".join([*head, "Reason", "User"])
    end = one_of(rng, "", "|")
    text = "".join(f"{line}{end}\n" for line in (header, *lines))
    return Drawn(
        text, downs, repairs_s=[each.end_s - each.start_s for each in downs], planned=planned
    )


# Kernel logs

FATAL = (
    "NVRM: Xid (PCI:0008:01:00): {nvlink}, RLW_REMAP Fatal XC0 i0 Link 03 (0x0409a0c2 0x00000008)",
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=9, name=python3, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:3b:00): 48, pid=12, DBE (double bit error) ECC error",
    "NVRM: Xid (PCI:0000:3b:00): 95, pid=12, Uncontained ECC error",
    "NVRM: GPU 0000:a1:00.0: GPU has fallen off the bus.",
    "nvidia-nvswitch{switch}: SXid (PCI:0000:84:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
    "nvidia-nvswitch{switch}: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44 sourcetrack timeout",
    "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
    "(Node Reboot Required)",
)
HARMLESS = (
    "NVRM: Xid (PCI:0008:01:00): {nvlink}, NETIR_LINK_EVT Nonfatal XC0 i0 Link 00 (0x025001c6)",
    "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to "
    "0x0 (None)",
    "NVRM: Xid (PCI:0000:3b:00): 13, Graphics Exception",
    "NVRM: Xid (PCI:0000:3b:00): 31, pid=4, MMU Fault",
    "nvidia-nvswitch{switch}: SXid (PCI:0000:84:00.0): 12028, Non-fatal, Link 32 egress error",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
)
BESIDE = (
    "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
    "(GPU Reset Required)",
    "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
)


def xid(rng: np.random.Generator, downs: list[Down] | None = None) -> Drawn:
    """Fatal lines, what the driver says beside them, and lines that harm nobody."""
    rows, hours = list[tuple[float, str]](), itertools.count(HOUR_S, HOUR_S)
    if downs is None:
        downs = [Down(each.node, at, at) for each, at in zip(downs_of(rng), hours, strict=False)]

    def line(at_s: float, node: str, text: str) -> None:
        filled = text.format(nvlink=rng.integers(144, 151), switch=rng.integers(4))
        rows.append((at_s, f"{iso(at_s)}+0000 {node} kernel: {filled}\n"))

    for down in downs:
        line(down.start_s, down.node, one_of(rng, *FATAL))
        for _ in range(int(rng.integers(3))):
            line(down.start_s + int(rng.integers(20)), down.node, one_of(rng, *BESIDE))
        line(down.start_s + 1200, down.node, one_of(rng, *HARMLESS))
        line(down.start_s - 600, one_of(rng, "n0", "n1"), one_of(rng, *HARMLESS))
    text = "".join(text for _, text in sorted(rows, key=lambda row: row[0]))
    return Drawn(text, downs)


# Prometheus

GOOD = ({"__name__": "up"}, {}, {"condition": "Ready", "status": "true"}, {"state": "up"})
BAD = (
    {"__name__": "kube_node_status_condition", "condition": "Ready", "status": "unknown"},
    {"condition": "Ready", "status": "false"},
    {"__name__": "node_down"},
    {"condition": "MemoryPressure", "status": "true"},
    {"state": "drained"},
    {"__name__": "gpu_unhealthy"},
)


def prometheus(rng: np.random.Generator) -> Drawn:
    """Any polarity that labels say; nodes that come late, leave, or have three series."""
    step, many = int(rng.choice([30, 60, 300, HOUR_S])), 2 * 24
    label = one_of(rng, "node", "instance", "host", "hostname", "kubernetes_node")
    is_bad, three = rng.random() < 0.5, rng.random() < 0.3
    labels = BAD[int(rng.integers(len(BAD)))] if is_bad else GOOD[int(rng.integers(len(GOOD)))]
    if three:
        labels, is_bad = {"condition": "Ready", "status": "true"}, False
    result, downs, watched = list[dict[str, object]](), list[Down](), 0
    nodes = int(rng.integers(3, 7))
    for node in range(nodes):
        first = 0 if node < 2 else int(rng.integers(0, 3)) * many // 4
        last = many if node < 2 else many - int(rng.integers(0, 3)) * many // 6
        watched += last - first
        bad = np.zeros(many, bool)
        at = first + 1
        while (at := at + int(rng.integers(2, 9))) + 3 < last:
            lasts = int(rng.integers(1, 3))
            bad[at : at + lasts] = True
            downs.append(Down(f"g{node}", at * step, (at + lasts) * step))
            at += lasts
        kinds = {"true": ~bad, "false": np.zeros(many, bool), "unknown": bad}
        chosen = kinds.items() if three else [(None, bad if is_bad else ~bad)]
        for status, values in chosen:
            metric = {**labels, label: f"g{node}"} | ({"status": status} if status else {})
            samples = [[UNIX_S + step * k, str(int(values[k]))] for k in range(first, last)]
            result.append({"metric": metric, "values": samples})
    downs.sort(key=lambda each: (each.start_s, each.node))
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return Drawn(
        json.dumps(answer),
        downs,
        repairs_s=[each.end_s - each.start_s for each in downs],
        node_days=watched * step / 86400,
        nodes=nodes,
    )


# Tables

FLAGS = {
    "failure": "event",
    "failed": "event",
    "is_failure": "event",
    "Machine failure": "event",
    "outage": "event",
    "down": "state",
    "healthy": "good",
    "up": "good",
    "is_online": "good",
}
TIMES: dict[str, Callable[[int], str]] = {
    "iso": iso,
    "zoned": lambda at: iso(at) + "Z",
    "offset": lambda at: iso(at) + "+00:00",
    "blank": lambda at: iso(at, "%Y-%m-%d %H:%M:%S"),
    "slashes": lambda at: iso(at, "%Y/%m/%d %H:%M:%S"),
    "named": lambda at: iso(at, "%d %b %Y %H:%M:%S"),
    "points": lambda at: iso(at, "%d.%m.%Y %H:%M:%S"),
    "utc": lambda at: iso(at, "%Y-%m-%d %H:%M:%S UTC"),
    "unix": lambda at: str(UNIX_S + at),
    "unix ms": lambda at: str((UNIX_S + at) * 1000),
}
UNITS = {"us": 1_000_000, "ms": 1_000, "s": 1}


def polled(rng: np.random.Generator) -> Drawn:
    """A row per node and step, with a flag; nodes leave before the end."""
    name = one_of(rng, *FLAGS)
    yes, no = [("1", "0"), ("true", "false"), ("yes", "no"), ("True", "False")][rng.integers(4)]
    if FLAGS[name] == "good":
        yes, no = no, yes
    step = int(rng.choice([HOUR_S, 86_400]))
    rows, downs, watched = list[tuple[int, str, str]](), list[Down](), 0
    nodes, steps = int(rng.integers(3, 8)), 30
    for node in range(nodes):
        last = steps if node == 0 else steps - int(rng.integers(0, 8))
        watched += last
        bad = np.zeros(last, bool)
        at = 0
        while (at := at + int(rng.integers(2, 12))) < last - 1:
            bad[at] = True
            downs.append(Down(f"d{node:02}", at * step, (at + 1) * step))
            at += 1
        rows += [(k * step, f"d{node:02}", yes if bad[k] else no) for k in range(last)]
    rows.sort()
    downs.sort(key=lambda each: (each.start_s, each.node))
    time, mark = one_of(rng, *TIMES), one_of(rng, ",", ";", "\t", "|")
    lines = [mark.join((TIMES[time](at), node, said)) for at, node, said in rows]
    said = {"failure_when": f"{name}={yes}"} if rng.random() < 0.3 else {}
    return Drawn(
        "\n".join([mark.join(("date", "node", name)), *lines]) + "\n",
        downs,
        options={"rules": said},
        repairs_s=None if FLAGS[name] == "event" else [step] * len(downs),
        node_days=watched * step / 86400,
        nodes=nodes,
    )


def from_a_start(rng: np.random.Generator) -> Drawn:
    """Times that count in a unit from a start of their own."""
    unit, zero = one_of(rng, *UNITS), int(rng.integers(0, 200_000))
    downs = downs_of(rng)
    rows = [f"{(zero + each.start_s) * UNITS[unit]},{each.node}\n" for each in downs]
    head = one_of(rng, "time,machine", "timestamp,host", "start,node")
    return Drawn(f"{head}\n{''.join(rows)}", downs, {"rules": {"time_unit": unit}})


def monitors(rng: np.random.Generator) -> Drawn:
    """Several monitors that tell each outage, with offsets of their own, in any order."""
    downs, rows, time = downs_of(rng), list[str](), one_of(rng, *TIMES)
    offsets = [0, *rng.integers(1, 50, int(rng.integers(1, 4))).tolist()]
    for down in downs:
        for k, offset in enumerate(offsets):
            end = "" if k and rng.random() < 0.2 else TIMES[time](down.end_s)
            rows.append(f"{TIMES[time](down.start_s + offset)};{down.node};{end}\n")
    rng.shuffle(rows)
    return Drawn(
        "time;host;end\n" + "".join(rows),
        downs,
        repairs_s=[each.end_s - each.start_s for each in downs],
    )


def logbook(rng: np.random.Generator) -> Drawn:
    """Restarts of one job: times and causes, no nodes; a cause may hold what parts cells."""
    time, mark = one_of(rng, *TIMES), one_of(rng, ",", ";")
    name = one_of(rng, "cause", "reason", "Root Cause", "message", "failure_reason")
    downs = [Down("job", each.start_s, each.end_s) for each in downs_of(rng)]
    causes = ("ECC", "NCCL timeout", f"loss spike{mark} rolled back{mark} skipped", "preempted")
    rows = [f"{TIMES[time](each.start_s)}{mark}{one_of(rng, *causes)}\n" for each in downs]
    head = mark.join((one_of(rng, "time", "timestamp", "restarted at", "date"), name))
    options = {"columns": {"time": "restarted at"}} if head.startswith("restarted") else {}
    return Drawn(f"{head}\n{''.join(rows)}", downs, options)


def events(rng: np.random.Generator) -> Drawn:
    """A log of changes of state, with nodes that are taken away for good."""
    downs, rows = downs_of(rng), list[tuple[int, str, str]]()
    bad, good = [("down", "up"), ("failed", "ok"), ("unhealthy", "healthy")][rng.integers(3)]
    for down in downs:
        rows += [(down.start_s, down.node, bad), (down.end_s, down.node, good)]
    last_s = max(at for at, _, _ in rows)
    said = {}
    if rng.random() < 0.5:
        rows.append((last_s + 60, "n0", "retired"))
        said = {"failure_when": f"state={bad}", "left_when": "state=retired"}
    rows.sort()
    text = "".join(f"{iso(at)},{node},{state}\n" for at, node, state in rows)
    return Drawn(
        f"time,host,state\n{text}",
        downs,
        {"rules": said},
        repairs_s=[each.end_s - each.start_s for each in downs],
    )


KINDS: dict[str, tuple[str, Callable[[np.random.Generator], Drawn]]] = {
    "slurm": ("slurm", slurm),
    "xid": ("xid", xid),
    "prometheus": ("prometheus", prometheus),
    "polled": ("csv", polled),
    "from-a-start": ("csv", from_a_start),
    "monitors": ("csv", monitors),
    "logbook": ("csv", logbook),
    "events": ("csv", events),
}


@dataclass(frozen=True)
class Lives:
    """A table of lives, and what is true of them."""

    text: str
    lasted_s: list[float]
    died: list[bool]


FORMS: dict[str, Callable[[int], str]] = {
    "number": str,
    "slurm": lambda s: f"{s // 86400}-{timedelta(seconds=s % 86400)!s:0>8}",
    "pandas": lambda s: f"{s // 86400} days {timedelta(seconds=s % 86400)!s:0>8}",
    "python": lambda s: str(timedelta(seconds=s)),
    "unit": lambda s: f"{s / 60!r} min",
}


def lives(rng: np.random.Generator) -> Lives:
    """Durations and flags, as survival packages and tools write them."""
    form, mark = one_of(rng, *FORMS), one_of(rng, ";", "\t")
    lasted = rng.integers(60, 10_000_000, 20).tolist()
    died = (rng.random(20) < 0.7).tolist()
    died[0], died[1] = True, False
    duration = one_of(rng, "T", "duration", "time", "lifetime", "survival_time")
    flag = one_of(rng, "E", "event", "status", "observed", "dead", "censored", "cens", "failed")
    words = [("1", "0"), ("True", "False"), ("yes", "no")][rng.integers(3)]
    if flag == "status" and rng.random() < 0.5:
        words = ("2", "1")
    if flag in ("censored", "cens"):
        words = words[::-1]
    rows = [
        mark.join((FORMS[form](s), words[0] if ended else words[1], f"part{k}"))
        for k, (s, ended) in enumerate(zip(lasted, died, strict=True))
    ]
    text = "\n".join([mark.join((duration, flag, "id")), *rows]) + "\n"
    return Lives(text, [float(s) for s in lasted], died)
