"""Logs of every format, of failures that come by a known law."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from tests.failures.drawn_cases import Down, Drawn, slurm, xid

SHAPE, MEAN_S = 1.5, 5 * 3600.0  # Weibull times between failures of the whole cluster
REPAIR_S = 1800.0  # mean of the outages, which are exponential, but 10 min at least
SHORTEST_S = 600.0
NODES = 8
_STEP_S = 60.0
_DAY_S = 86_400.0
_EPOCH_S = 1_709_280_000


@dataclass(frozen=True)
class Truth:
    """What really happened."""

    outages: list[Down]
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
        outages.append(Down(node, float(start_s), float(start_s + lasts_s)))
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


# Tables and counts


def own(truth: Truth, path: Path, _seed: int) -> None:
    """cprsim's own columns."""
    nodes = _numbers(truth)
    rows = [f"{o.start_s},{nodes[o.node]},{o.end_s}\n" for o in truth.outages]
    path.write_text("time_s,node,end_s\n" + "".join(rows))


def incidents(truth: Truth, path: Path, seed: int) -> None:
    """Somebody's table: dates with a zone, host names, rows in any order."""
    rows = [
        f'{_date(o.start_s).isoformat()}Z;{o.node};"rack, slot";{_date(o.end_s).isoformat()}Z\n'
        for o in truth.outages
    ]
    np.random.default_rng(seed).shuffle(rows)
    path.write_text("Started at;Host name;Place;Resolved\n" + "".join(rows))


def lanl(truth: Truth, path: Path, _seed: int) -> None:
    """Raw LANL data, to the minute, node by node, with a second system."""
    nodes = _numbers(truth)
    head = "LA-UR-05-7318\nSystem,nodes,nodenumz,node decom,Prob Started,Prob Fixed,Hardware\n"
    rows = [
        f"8,{NODES},{nodes[o.node]},current,{_us(o.start_s)},{_us(o.end_s)},CPU\n"
        for o in sorted(truth.outages)
    ]
    path.write_text(head + "".join(rows))


def fta(truth: Truth, path: Path, _seed: int) -> None:
    """Intervals of nodes that are up, and down, in turn."""
    lines = ["# event_id component_id node_id platform_id node_name event_type "]
    lines[0] += "event_start_time event_stop_time event_end_reason\n"
    for node, number in _numbers(truth).items():
        since_s = 0.0
        for o in truth.outages:
            if o.node == node:
                lines.append(_interval(number, node, 1, since_s, o.start_s))
                lines.append(_interval(number, node, 0, o.start_s, o.end_s))
                since_s = o.end_s
        lines.append(_interval(number, node, 1, since_s, truth.until_s))
    path.write_text("".join(lines))


def spot(truth: Truth, path: Path, _seed: int) -> None:
    """How many nodes are up at each tick."""
    ticks = np.zeros(int(truth.until_s / _STEP_S), int)
    for o in truth.outages:
        ticks[round(o.start_s / _STEP_S) : round(o.end_s / _STEP_S)] += 1
    data = {"metadata": {"gap_seconds": _STEP_S}, "data": (NODES - ticks).tolist()}
    path.write_text(json.dumps(data))


def intervals(truth: Truth, path: Path, _seed: int) -> None:
    """Times between failures, with a unit, the last one cut off by the end."""
    gaps = np.diff(truth.starts_s, append=truth.until_s).tolist()
    rows = [f"{gap / 3600!r} h,{int(i == len(gaps) - 1)}\n" for i, gap in enumerate(gaps)]
    path.write_text("# gpu cluster\n" + "".join(rows))


def _numbers(truth: Truth) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted({o.node for o in truth.outages}))}


def _interval(number: int, node: str, up: int, start_s: float, stop_s: float) -> str:
    times = f"{_EPOCH_S + start_s:.0f}\t{_EPOCH_S + stop_s:.0f}"
    return f"0\t0\t{number}\t5\t{node}\t{up}\t{times}\tNULL\n"


def _date(at_s: float) -> datetime:
    return datetime(2003, 3, 1, 8) + timedelta(seconds=at_s)


def _us(at_s: float) -> str:
    at = _date(at_s)
    return f"{at.month}/{at.day}/{at.year} {at.hour}:{at.minute:02}"


def drawn_of(draw: Callable[..., Drawn]) -> Callable[[Truth, Path, int], None]:
    """A writer of logs of the kinds that people have."""
    return lambda truth, path, seed: path.write_text(
        draw(np.random.default_rng(seed), truth.outages).text
    )


#: Writers of logs of clusters' own tools, by their reader.
WRITERS: dict[str, Callable[[Truth, Path, int], None]] = {
    "stepfun": stepfun,
    "slurm": drawn_of(slurm),
    "prometheus": prometheus,
    "xid": drawn_of(xid),
}
#: The readers and writers of all logs, by name.
EVERY: dict[str, tuple[str, Callable[[Truth, Path, int], None]]] = {
    "own": ("csv", own),
    "incidents": ("csv", incidents),
    "lanl": ("lanl", lanl),
    "fta": ("fta", fta),
    "spot": ("spot", spot),
    "intervals": ("intervals", intervals),
    **{reader: (reader, write) for reader, write in WRITERS.items()},
}
