"""What a worker does: a block of replications of one point, under all its policies."""

import json
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.analytic.expected import loses_nothing
from cprsim.errors import CprsimError, RunError
from cprsim.runs.engines import Engine, chosen, simulate
from cprsim.runs.hopeless import check_hope
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario
from cprsim.scenario.sections import validated
from cprsim.sim.engine import COLUMNS, MODEL_VERSION
from cprsim.sweeps.played import PolicyPlan

#: What workers and the sweep must have in common: the model's numbers, and the shape of a `Block`.
WORKERS_VERSION = f"{MODEL_VERSION}.4"


@dataclass(frozen=True)
class Task:
    """Replications `start` to `stop` of a point; plain values, for workers anywhere."""

    key: str
    scenario: str
    policies: tuple[str, ...]
    start: int
    stop: int
    seed: int
    engine: str = "auto"
    model_version: str = WORKERS_VERSION


@dataclass(frozen=True)
class PlanRow(PolicyPlan):
    """A policy's plan as it is stored, with what measures rest on."""

    basis: Basis


@dataclass(frozen=True)
class Block:
    """What came of a task, for each policy: its plan, and its replications packed."""

    plans: tuple[PlanRow, ...]
    packed: tuple[bytes, ...]


@dataclass(frozen=True)
class Fault:
    """Why nothing came of a task, for people."""

    text: str


def perform(task: Task) -> Block | Fault:
    """Play a block of replications.

    Whatever goes wrong is the point's fault, and returned; but for a worker with another model,
    none of whose numbers must be taken: that is a `RunError`.
    """
    if task.model_version != WORKERS_VERSION:
        raise RunError(
            f"a worker has model version {WORKERS_VERSION}, the sweep {task.model_version}; "
            "install the same cprsim on all workers"
        )
    try:
        scenario, plans, engines = _planned(task.scenario, task.policies, task.engine)
        if task.start == 0:
            check_hope(scenario, engines, task.seed)
        values = simulate(scenario, engines, range(task.start, task.stop), task.seed)
    except CprsimError as error:
        return Fault(str(error))
    except MemoryError:
        return Fault("out of memory")
    except Exception as error:  # a policy of the user's, or a defect: the other points go on
        return Fault(f"{type(error).__name__}: {error}")
    return Block(plans, tuple(map(pack, values.swapaxes(0, 1))))


@lru_cache(maxsize=8)  # blocks of one point come one after the other
def _planned(
    text: str, policies: tuple[str, ...], engine: str
) -> tuple[Scenario, tuple[PlanRow, ...], dict[str, Engine]]:
    mapping = json.loads(text)
    own = mapping.pop("policies")
    parts = {name: _validated(name, table) for name, table in mapping.items()}
    parts["policies"] = {
        name: _validated("policies", {name: table})[name] for name, table in own.items()
    }
    scenario = Scenario(**parts)
    rows = tuple(_row(scenario, name) for name in policies)
    return scenario, rows, chosen(scenario, policies, engine)


@dataclass(frozen=True)
class _Table:
    """A table of a scenario, `text` as it is written in Python, which tells 1 from 1.0."""

    name: str
    text: str
    table: object = field(compare=False)


@lru_cache(maxsize=64)  # most points of a sweep have most of their sections in common
def _section(of: _Table) -> Any:
    return validated({of.name: of.table})[of.name]


def _validated(name: str, table: object) -> Any:
    return _section(_Table(name, repr(table), table))


def _row(scenario: Scenario, policy: str) -> PlanRow:
    plan = scenario.plan(policy)
    return PlanRow(
        policy,
        scenario.policies[policy].system,
        plan.recovery,
        float(plan.interval_s),
        float(plan.unmet_s),
        loses_nothing(plan, scenario.context),
        Basis.of(scenario, policy),
    )


def pack(values: NDArray[np.float64]) -> bytes:
    """Bytes of values of shape (replications, len(COLUMNS)); many columns hold one number only."""
    return zlib.compress(np.ascontiguousarray(values.T, dtype="<f8").tobytes(), level=1)


def unpack(packed: bytes) -> NDArray[np.float64]:
    """Values of shape (len(COLUMNS), replications)."""
    flat = np.frombuffer(zlib.decompress(packed), dtype="<f8")
    return flat.reshape(len(COLUMNS), -1).astype(np.float64, copy=False)
