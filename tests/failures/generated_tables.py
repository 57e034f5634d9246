"""Logs as tables and counts, of the failures that `generated_logs` draws by a known law."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from tests.failures.generated_logs import NODES, Truth, slurm, stepfun, xid
from tests.failures.generated_logs import prometheus as prometheus_up

_START = datetime(2003, 3, 1, 8)
_EPOCH_S = 1_709_280_000
_TICK_S = 60.0


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
    ticks = np.zeros(int(truth.until_s / _TICK_S), int)
    for o in truth.outages:
        ticks[round(o.start_s / _TICK_S) : round(o.end_s / _TICK_S)] += 1
    data = {"metadata": {"gap_seconds": _TICK_S}, "data": (NODES - ticks).tolist()}
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
    return _START + timedelta(seconds=at_s)


def _us(at_s: float) -> str:
    at = _date(at_s)
    return f"{at.month}/{at.day}/{at.year} {at.hour}:{at.minute:02}"


#: By what a log is called: its reader, and who writes it.
EVERY: dict[str, tuple[str, Callable[[Truth, Path, int], None]]] = {
    "own": ("csv", own),
    "incidents": ("csv", incidents),
    "lanl": ("lanl", lanl),
    "fta": ("fta", fta),
    "spot": ("spot", spot),
    "intervals": ("intervals", intervals),
    "stepfun": ("stepfun", stepfun),
    "slurm": ("slurm", slurm),
    "prometheus": ("prometheus", prometheus_up),
    "xid": ("xid", xid),
}
