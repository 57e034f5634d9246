"""Logs as clusters' own tools write them, of failures that come by a known law."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

SHAPE, MEAN_S = 1.5, 5 * 3600.0  # Weibull times between failures of the whole cluster
REPAIR_S = 1800.0  # mean of the outages, which are exponential, but 10 min at least
SHORTEST_S = 600.0
NODES = 8
START = datetime(2024, 3, 1, 8, 0, 0, tzinfo=UTC)
_STEP_S = 60.0
_DAY_S = 86_400.0


class Outage(NamedTuple):
    """One outage of a node; seconds from the start of the log."""

    node: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Truth:
    """What really happened."""

    outages: list[Outage]
    until_s: float

    @property
    def starts_s(self) -> np.ndarray:
        return np.array([outage.start_s for outage in self.outages])

    @property
    def lasted_s(self) -> np.ndarray:
        return np.array([outage.end_s - outage.start_s for outage in self.outages])


def drawn(failures: int, seed: int) -> Truth:
    """Failures of nodes that are up, one at a time; whole seconds, which every format can hold."""
    rng = np.random.default_rng(seed)
    gaps = MEAN_S / math.gamma(1 + 1 / SHAPE) * rng.weibull(SHAPE, failures)
    repairs = SHORTEST_S + rng.exponential(REPAIR_S - SHORTEST_S, failures)
    up_again, outages = dict.fromkeys((f"gpu{i:03}" for i in range(NODES)), 0.0), []
    for start_s, lasts_s in zip(np.cumsum(gaps).round(), repairs.round(), strict=True):
        up = [node for node, back_s in up_again.items() if back_s + 5 * _STEP_S < start_s]
        node = up[rng.integers(len(up))]
        up_again[node] = start_s + lasts_s
        outages.append(Outage(node, float(start_s), float(start_s + lasts_s)))
    return Truth(outages, max(up_again.values()) + 3600.0)


def stepfun(truth: Truth, path: Path, seed: int) -> None:
    """Events in order, in days with four digits behind the point, as StepFun's are."""
    rng = np.random.default_rng(seed)
    classes, events = ("GPU", "NIC", "Fan", "Power Supply"), []
    for outage in truth.outages:
        kind = classes[rng.integers(len(classes))]
        fault = {"Level": "Hardware Failure", "Class": kind, "Desc": f"{kind} Error"}
        for time_s, what in ((outage.start_s, "fault_start"), (outage.end_s, "fault_end")):
            events.append(
                {
                    "node_id": outage.node,
                    "event_time": round(time_s / _DAY_S, 4),
                    "event_type": what,
                    "fault_type": fault,
                }
            )
    path.write_text(json.dumps(sorted(events, key=lambda event: event["event_time"]), indent=1))


def slurm(truth: Truth, path: Path, seed: int) -> None:
    """Rows by node, some outages as two rows; planned ones and the cluster's own among them."""
    rng = np.random.default_rng(seed)
    rows = [f"c||{_local(0)}|Unknown||Cluster Registered TRES|"]
    for outage in truth.outages:
        reason = ("Not responding", "Node unexpectedly rebooted", "xid 79")[rng.integers(3)]
        halfway = outage.start_s + 300 if rng.random() < 0.3 else outage.end_s
        parts = [("DRAIN", outage.start_s, halfway), ("DOWN*", halfway, outage.end_s)]
        rows += [
            f"c|{outage.node}|{_local(start)}|{_local(end)}|{state}|{reason}|slurm(64030)"
            for state, start, end in parts
            if end > start
        ]
    for reason in ("maintenance of the cooling", "Reboot ASAP", "kernel upgrade"):
        at_s = rng.uniform(0, truth.until_s)
        rows.append(f"c|gpu000|{_local(at_s)}|{_local(at_s + 60)}|DRAIN|{reason}|root(0)")
    rows.append(f"c|gpu000|{_local(truth.until_s)}|Unknown|MAINT|window|root(0)")
    header = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"
    path.write_text("\n".join([header, *sorted(rows)]) + "\n")


def prometheus(truth: Truth, path: Path, seed: int) -> None:
    """One sample a minute; some outages are gaps, and Prometheus itself is away for two hours."""
    rng = np.random.default_rng(seed)
    times_s = np.arange(0, truth.until_s, _STEP_S)
    first_away = next(
        at for at in times_s if all(abs(o.start_s - at) > 10_000 for o in truth.outages)
    )
    there = (times_s <= first_away) | (times_s > first_away + 7200)
    result = []
    for node in sorted({outage.node for outage in truth.outages}):
        up, seen = np.ones(len(times_s), bool), there.copy()
        for outage in truth.outages:
            if outage.node == node:
                down = (times_s >= outage.start_s) & (times_s < outage.end_s)
                up &= ~down
                seen &= ~down | (rng.random() < 0.7)
        stamps = 1.709e9 + times_s[seen]
        values = [[stamp, str(int(each))] for stamp, each in zip(stamps, up[seen], strict=True)]
        metric = {"__name__": "up", "instance": f"{node}:9100", "job": "node"}
        result.append({"metric": metric, "values": values})
    data = {"resultType": "matrix", "result": result}
    path.write_text(json.dumps({"status": "success", "data": data}))


def xid(truth: Truth, path: Path, seed: int) -> None:
    """Journals of the hosts one after the other, with harmless Xids and other lines."""
    rng = np.random.default_rng(seed)
    lines = []
    for node in sorted({outage.node for outage in truth.outages}):
        lines.append(f"{_zoned(0)} {node} kernel: Linux version 5.15.0\n")
        for outage in truth.outages:
            if outage.node != node:
                continue
            code = (48, 74, 79, 95, 119)[rng.integers(5)]
            lines.append(_xid(outage.start_s - 30, node, 13, "Graphics Exception"))
            lines.append(_xid(outage.start_s, node, code, "pid='<unknown>', name=<unknown>"))
            lines.append(f"{_zoned(outage.end_s)} {node} kernel: NVRM: loading NVIDIA UNIX\n")
    path.write_text("".join(lines))


def _xid(at_s: float, node: str, code: int, text: str) -> str:
    return f"{_zoned(at_s)} {node} kernel: NVRM: Xid (PCI:0000:3b:00): {code}, {text}\n"


def _local(at_s: float) -> str:
    return f"{START + timedelta(seconds=at_s):%Y-%m-%dT%H:%M:%S}"


def _zoned(at_s: float) -> str:
    return f"{_local(at_s)}+0000"


WRITERS: dict[str, Callable[[Truth, Path, int], None]] = {
    "stepfun": stepfun,
    "slurm": slurm,
    "prometheus": prometheus,
    "xid": xid,
}
