"""Jobs that `advise` is tried on: a Latin hypercube over what is usual in production."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from cprsim.contract.registry import systems
from cprsim.scenario import Scenario

JOBS: Final = 200
_SEED: Final = 20260
_DAY_S, _HOUR_S = 86400.0, 3600.0


def _log(least: float, most: float) -> Callable[[float], float]:
    return lambda share: float(f"{least * (most / least) ** share:.4g}")


_SAVING: Final = (
    *("full", "partial", "cpr-vanilla", "cpr-mfu", "async", "check-n-run", "tiered"),
    "partial-experts",
)
#: Ranges; what is spread by its ratios is so.
_RANGES: Final[dict[str, Callable[[float], float]]] = {
    "days": _log(1, 20),
    "mtbf_h": _log(2, 200),
    "law": lambda share: share,
    "shape": lambda share: 0.6 + 0.4 * share,
    "servers": _log(4, 64.49),
    "trainers": _log(8, 128.49),
    "model_gb": _log(50, 5000),
    "tables": lambda share: share,
    "write_gb": _log(1, 20),
    "nic_gbit": _log(25, 100),
    "reschedule_min": _log(1, 60),
    "detect_s": lambda share: 120 * share,
    "hits": lambda share: share,
    "severity": lambda share: share,
    "network": lambda share: share,
    "snapshot_s": _log(1, 20),
    "iteration_s": _log(1, 120),
    "async": lambda share: share,
    "peer-memory": lambda share: share,
    "hot-swap": lambda share: share,
    "partial-experts": lambda share: share,
    "objective": lambda share: share,
    "bound": lambda share: share,
    "most": _log(0.002, 0.1),
    "systems": lambda share: share,
    "memory": lambda share: share,
}


@dataclass(frozen=True)
class Question:
    """A job, and keywords of `advise`."""

    number: int
    values: dict[str, float]
    scenario: Scenario
    objective: str
    bounds: dict[str, float]
    systems: tuple[str, ...] | None


@cache
def _points() -> list[list[float]]:
    from scipy.stats import qmc  # noqa: PLC0415  (slow to import)

    points: list[list[float]] = qmc.LatinHypercube(len(_RANGES), rng=_SEED).random(JOBS).tolist()
    return points


def question(number: int) -> Question:
    """That of one number, from 0 to `JOBS` - 1."""
    shares = _points()[number]
    values = {name: of(share) for (name, of), share in zip(_RANGES.items(), shares, strict=True)}
    return Question(
        number,
        values,
        Scenario(**_tables(number, values)),
        _first(values["objective"], ((0.7, "time"), (0.85, "retrained"), (1, "machine-time"))),
        _bounds(values),
        _systems(values),
    )


def _systems(values: dict[str, float]) -> tuple[str, ...] | None:
    """Return all; all that restore lost shards; or those that restore checkpoints."""
    chosen = _first(values["systems"], ((0.4, "all"), (0.7, "restoring"), (1, "saving")))
    if chosen == "saving":
        return _SAVING
    restoring = tuple(each for each in systems() if each != "accepted-loss")
    return restoring if chosen == "restoring" else None


def _bounds(values: dict[str, float]) -> dict[str, float]:
    """Return no limit for some; else one on learning, samples or updates lost, which may be 0."""
    limits = (0.6, "max_learning_lost"), (0.75, "max_pls"), (0.87, "max_updates_lost")
    parts = (0.4, ""), *limits, (1, "nothing")
    name = _first(values["bound"], parts)
    if name == "nothing":
        return {"max_updates_lost": 0.0}
    return {name: values["most"]} if name else {}


def _tables(number: int, values: dict[str, float]) -> dict[str, Any]:
    servers, trainers = round(values["servers"]), round(values["trainers"])
    nic = values["nic_gbit"] / 8 * 1e9
    has_rows = values["tables"] > 0.5
    job: dict[str, Any] = {"useful_time": f"{values['days']} d"}
    if has_rows:  # as many as pass at 100,000 a second
        job["samples"] = round(1e5 * values["days"] * _DAY_S)
    if values["network"] > 0.4:
        demand = (values["network"] - 0.4) * nic * min(servers, trainers)
        job["network"] = f"{demand / 1e9:.4g} GB/s"
    return {
        "title": f"job {number} of the study of advise",
        "job": job,
        "model": _rows(values["model_gb"]) if has_rows else _sizes(values["model_gb"]),
        "cluster": {
            "trainers": trainers,
            "parameter_servers": servers,
            "nic": f"{values['nic_gbit']} Gbit/s",
            **_memory(values, servers),
        },
        "storage": {
            "write": f"{values['write_gb']} GB/s",
            "read": f"{2 * values['write_gb']:.5g} GB/s",
        },
        "costs": {
            "detect": f"{values['detect_s']:.3g} s",
            "reschedule": {
                "distribution": "lognormal",
                "mean": f"{values['reschedule_min']} min",
                "cv": 1.0,
            },
        },
        "failures": _failures(values, servers, trainers),
        "policies": _policies(values),
    }


def _memory(values: dict[str, float], servers: int) -> dict[str, Any]:
    """Memory of a server in half of the jobs: 1.2 to 8 times what the model takes of it."""
    share = 2 * values["memory"] - 1
    if share < 0:
        return {}
    room_gb = _log(1.2, 8.0)(share) * values["model_gb"] / servers
    return {"memory": f"{room_gb:.4g} GB"}


def _sizes(model_gb: float) -> dict[str, Any]:
    return {"embedding": f"{model_gb / 2} GB", "optimizer": f"{model_gb / 2} GB"}


def _rows(model_gb: float) -> dict[str, Any]:
    """Two tables, of 128 numbers and as much optimizer state a row, accessed as in production."""
    rows = model_gb * 1e9 / (2 * 4 * 128)
    return {
        "dense": "20 MB",
        "tables": [
            {
                "name": name,
                "rows": max(1, round(share * rows)),
                "dim": 128,
                "optimizer_slots": 1,
                "skew": "dlrm-production",
                "pooling": pooling,
            }
            for name, share, pooling in (("users", 0.6, 1), ("items", 0.4, 20))
        ],
    }


def _failures(values: dict[str, float], servers: int, trainers: int) -> dict[str, Any]:
    law = _first(values["law"], ((0.4, "exponential"), (0.7, "gamma"), (1, "weibull")))
    table: dict[str, Any] = {"distribution": law, "mean": f"{values['mtbf_h']} h"}
    if law != "exponential":
        table["shape"] = round(values["shape"], 3)
    if values["hits"] > 0.3:  # else each takes a server
        weights = {"parameter_servers": servers, "trainers": trainers}
        table["hits"] = {"weights": weights}
    if values["hits"] > 0.9:  # the same failures, but of each node
        del table["hits"]
        table |= {"mean": f"{values['mtbf_h'] * (servers + trainers):.5g} h", "per": "node"}
    if values["severity"] > 0.5:
        whole = 0.1 * (values["severity"] - 0.5)
        table["severity"] = {"process": 0.5, "node": 0.5 - whole, "cluster": whole}
    return table


def _policies(values: dict[str, float]) -> dict[str, Any]:
    """Return full recovery, and for some jobs systems that need further keys."""
    snapshot, iteration = f"{values['snapshot_s']} s", f"{values['iteration_s']} s"
    tables: dict[str, dict[str, Any]] = {
        "async": {"snapshot": snapshot},
        "peer-memory": {"iteration": iteration, "stall": f"{values['snapshot_s'] / 10:.3g} s"},
        "hot-swap": {"iteration": iteration, "takeover": "1 min"},
        "partial-experts": {"experts": 8, "snapshot": snapshot},
    }
    given = {name: {"system": name, **keys} for name, keys in tables.items() if values[name] > 0.6}
    return {"full": {"system": "full"}, **given}


def _first(share: float, choices: Sequence[tuple[float, str]]) -> str:
    """The one whose part of 0 to 1 the share lies in."""
    return next(name for end, name in choices if share <= end or math.isclose(end, 1))
