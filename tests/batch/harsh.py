"""Scenarios in which failures come all the time: while saving, loading, and rebuilding.

Unlike those of `cprsim.testing` most of them do get somewhere, but none in any comfort.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Keys = dict[str, Any]

#: All systems of which the batch engine plays at least some policies.
COVERED = (
    *("full", "partial", "cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar"),
    *("replication", "ecrm", "partial-experts", "async", "accepted-loss"),
)
#: Those that save in the background; a last save there is not covered.
IN_BACKGROUND = ("async", "accepted-loss")
_SPREADS: dict[str, Keys] = {
    "exponential": {},
    "gamma": {"shape": 0.6},
    "weibull": {"shape": 0.7},
    "lognormal": {"cv": 1.5},
    "uniform": {},
    "deterministic": {},
}
#: Under these no two things happen at one instant.
CONTINUOUS = ("exponential", "gamma", "weibull", "lognormal", "uniform")
_SHARES = st.floats(0.0, 1.0)
_YES = st.booleans()
_MEASURED = ("save", "load_full", "load_partial", "detect")
_MOST = {"save": 0.3, "load_full": 0.7, "load_partial": 0.7, "detect": 0.05}
_SEVERITY = {"process": 0.5, "node": 0.4, "cluster": 0.1}
_NODES = st.sets(st.integers(0, 9), min_size=1, max_size=4)
_LOGS = st.lists(
    st.tuples(_SHARES, _NODES, st.sampled_from(["process", "node", "cluster"])),
    min_size=8,
    max_size=30,
)


def seconds(value: float) -> str:
    """A duration as scenario files write it."""
    return f"{value!r} s"


@st.composite
def by_law(draw: st.DrawFn, laws: Sequence[str], systems: Sequence[str] = COVERED) -> Keys:
    """Failures of the job or of nodes by one of the laws, mean time between them 100 s."""
    per, ages = draw(st.sampled_from([("job", "new"), ("job", "stationary"), ("node", "")]))
    tables = _tables(draw, systems)
    cluster = tables["cluster"]
    nodes = cluster["parameter_servers"] + cluster["trainers"]
    name = draw(st.sampled_from(laws))
    law = {"distribution": name, "per": per} | _SPREADS[name]
    if per == "node":
        law |= {
            "mean": seconds(100.0 * nodes),
            "ages": draw(st.sampled_from(["new", "stationary"])),
        }
    else:
        law |= {"mean": seconds(100.0), "ages": ages} | _hits(draw, cluster)
    tables["failures"] |= law
    return tables


@st.composite
def exactly(draw: st.DrawFn) -> Keys:
    """So many failures, over the useful time."""
    tables = _tables(draw)
    tables["failures"] |= {"exactly": draw(st.integers(0, 20))} | _hits(draw, tables["cluster"])
    return tables


@st.composite
def replayed(draw: st.DrawFn, log: Path) -> Keys:
    """Failures of a log that is written to `log`, some of several nodes at once."""
    tables = _tables(draw)
    until_s, count = (
        1000.0,
        sum(tables["cluster"][each] for each in ("parameter_servers", "trainers")),
    )
    whole, told = draw(_YES), draw(_YES)
    lines = ["time_s,node,severity" if told else "time_s,node"]
    # A log in which all strike at second 0 tells no mean time between them.
    struck = [*draw(_LOGS), (1.0, {0}, "process")]
    for share, nodes, severity in sorted(struck, key=lambda line: line[0]):
        at_s = float(round(until_s * share)) if whole else until_s * share
        end = f",{severity}" if told else ""
        lines += [f"{at_s!r},{node}{end}" for node in {node % count for node in nodes}]
    log.write_text("\n".join(lines), encoding="utf-8")
    tables["failures"] |= {"trace": str(log)}
    if not told and draw(_YES):
        tables["failures"]["severity"] = _SEVERITY
    return tables


@st.composite
def of_a_system(draw: st.DrawFn, log: Path) -> Keys:
    """Failures of a log of a whole system, written to `log`, that comes again and again."""
    tables = _tables(draw)
    days = draw(st.lists(st.integers(1, 25), min_size=20, max_size=60))
    rows = [
        f"8,16,{(7 * i) % 16},{1 + i % 2}/{day}/2004 {(5 * i) % 24}:{(13 * i) % 60:02},"
        for i, day in enumerate(sorted(days))
    ]
    header = "System,nodes,nodenumz,Prob Started,Prob Fixed"
    log.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    tables["failures"] |= {"trace": str(log), "reader": "lanl", "system": 8}
    return _slower(tables, 3600.0)


def waiting(tables: Keys) -> Keys:
    """The same with nodes that can fail while others are waited for, under each other rollback."""
    cluster = tables["cluster"]
    return tables | {
        "cluster": cluster | {"holds_nodes": cluster["parameter_servers"] % 2 == 0},
        "failures": tables["failures"] | {"while_waiting": True},
    }


def _tables(draw: st.DrawFn, systems: Sequence[str] = COVERED) -> Keys:
    """All but when failures come; times are of the order of 100 s."""
    cluster = {"parameter_servers": draw(st.integers(2, 6)), "trainers": draw(st.integers(0, 4))}
    nodes = sum(cluster.values())
    if draw(_YES):
        cluster["spares"] = draw(st.integers(0, min(3, nodes)))
    costs: Keys = {
        key: seconds(_least(key) + 100 * _MOST[key] * draw(_SHARES)) for key in _MEASURED
    }
    kind = draw(st.sampled_from(["none", "fixed", "law"]))
    if kind == "fixed":
        costs["reschedule"] = seconds(30 * draw(_SHARES))
    elif kind == "law":
        costs["reschedule"] = {"distribution": "lognormal", "mean": "20 s", "cv": 1.5}
    system = draw(st.sampled_from(systems))
    final_save = system not in IN_BACKGROUND and draw(_YES)
    return {
        "job": {
            "useful_time": seconds(100 * draw(st.floats(1.0, 8.0))),
            "samples": 10**7,
            "final_save": final_save,
        },
        "model": {"tables": [{"rows": 10**5, "dim": 16, "skew": {"zipf": 1.0}}]},
        "cluster": cluster,
        "costs": costs,
        "failures": {"during_recovery": draw(_YES), "while_waiting": False},
        "policies": {"it": _policy(draw, system, cluster)},
    }


def _least(key: str) -> float:
    return 0.5 if key == "save" else 0.0


def _policy(draw: st.DrawFn, system: str, cluster: Keys) -> Keys:
    interval = {"interval": seconds(10 + 120 * draw(_SHARES))}
    keys = _KEYS.get(system, _nothing)(draw, cluster)
    return {"system": system} | interval | keys


def _nothing(draw: st.DrawFn, cluster: Keys) -> Keys:
    return {}


def _priority(draw: st.DrawFn, cluster: Keys) -> Keys:
    # Portions that make up rounds exactly, and others that don't.
    return {"fraction": draw(st.sampled_from([1.0, 0.5, 0.4, 0.3, 0.125]))} | _slowdown(draw)


def _replication(draw: st.DrawFn, cluster: Keys) -> Keys:
    copies = draw(st.integers(1, min(3, cluster["parameter_servers"])))
    takeover = {"takeover": seconds(3 * draw(_SHARES))} if draw(_YES) else {}
    return {"copies": copies} | takeover | _slowdown(draw)


def _ecrm(draw: st.DrawFn, cluster: Keys) -> Keys:
    most = cluster["parameter_servers"] - 1
    keys: Keys = {
        "parity": draw(st.integers(0, min(3, most))),
        "resume": seconds(5 * draw(_SHARES)),
    }
    if draw(_YES):
        keys |= {"degraded": 0.3 * draw(_SHARES)}
    return keys


def _experts(draw: st.DrawFn, cluster: Keys) -> Keys:
    return {"experts": 4, "per_save": draw(st.integers(1, 4)), "blocking": True}


def _background(draw: st.DrawFn, cluster: Keys) -> Keys:
    return {"snapshot": seconds(3 * draw(_SHARES))}


def _slowdown(draw: st.DrawFn) -> Keys:
    return {"slowdown": 0.2 * draw(_SHARES)} if draw(_YES) else {}


_KEYS: dict[str, Callable[[st.DrawFn, Keys], Keys]] = {
    "cpr-mfu": _priority,
    "cpr-ssu": _priority,
    "cpr-scar": _priority,
    "replication": _replication,
    "ecrm": _ecrm,
    "partial-experts": _experts,
    "async": _background,
    "accepted-loss": _background,
}


def _hits(draw: st.DrawFn, cluster: Keys) -> Keys:
    keys: Keys = {"severity": _SEVERITY} if draw(_YES) and draw(_YES) else {}
    hits: Keys = {}
    if draw(_YES):
        hits["parameter_servers"] = draw(st.integers(1, cluster["parameter_servers"]))
    if cluster["trainers"] and draw(_YES):
        hits |= {"weights": {"parameter_servers": 2, "trainers": 1}}
    return keys | ({"hits": hits} if hits else {})


def _slower(tables: Keys, factor: float) -> Keys:
    """All times of the scenario that many times as long."""

    def longer(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: longer(each) for key, each in value.items()}
        if isinstance(value, str) and value.endswith(" s"):
            return seconds(float(value.removesuffix(" s")) * factor)
        return value

    return {key: longer(each) for key, each in tables.items()}
