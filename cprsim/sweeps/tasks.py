"""The work of a worker: a block of replications of one point, under all its policies."""

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import (
    CprsimError,
    LogError,
    NowhereError,
    PlanError,
    PolicyError,
    RunError,
    UsageError,
)
from cprsim.formulas.expected import loses_nothing
from cprsim.runs.engines import Engine, chosen, simulate
from cprsim.runs.hopeless import without_hope
from cprsim.runs.measures import Basis
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, MODEL_VERSION

#: What workers and the sweep must have in common: the model's numbers, and the shape of a `Block`.
WORKERS_VERSION = f"{MODEL_VERSION}.5"


@dataclass(frozen=True)
class Task:
    """Replications `start` to `stop` of a point; plain values, for workers anywhere.

    `given_up`: of the policies those that failed at this point already.
    """

    key: str
    scenario: str
    policies: tuple[str, ...]
    start: int
    stop: int
    seed: int
    engine: str = "auto"
    given_up: tuple[str, ...] = ()
    model_version: str = WORKERS_VERSION


@dataclass(frozen=True)
class PointPlan:
    """A policy's plan at a point, as it is stored.

    `unmet_s`: as in `Plan`. `lossless`: whether no failure takes any learning for good. `basis`:
    what measures rest on.
    """

    policy: str
    system: str
    recovery: str
    interval_s: float
    unmet_s: float
    lossless: bool
    basis: Basis


@dataclass(frozen=True)
class Planned:
    """The scenario of a point: the plans of its policies, and which engine plays which.

    `rows`: of all policies. `errors`: why those without an engine are not played.
    """

    scenario: Scenario
    rows: tuple[PointPlan, ...]
    engines: dict[str, Engine]
    errors: dict[str, str]


@dataclass(frozen=True)
class Block:
    """The result of a task: plans of all policies, and replications of those that were played.

    `packed`: the replications. `errors`: why there are none, but for those given up before.
    """

    plans: tuple[PointPlan, ...]
    packed: Mapping[str, bytes]
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """Why nothing came of a task, for people."""

    text: str


def perform(task: Task) -> Block | Fault:
    """Play a block of replications.

    A policy that has no plan here, or gets nowhere, is at fault alone. Whatever else goes wrong is
    the point's fault, and returned; but for a worker with another model, none of whose numbers must
    be taken: that is a `RunError`.
    """
    if task.model_version != WORKERS_VERSION:
        raise RunError(
            f"a worker has model version {WORKERS_VERSION}, the sweep {task.model_version}; "
            "install the same cprsim on all workers"
        )
    try:
        return _block(task)
    except CprsimError as error:
        return Fault(str(error))
    except MemoryError:
        return Fault("out of memory")
    except Exception as error:  # a policy of the user's, or a defect: the other points go on
        return Fault(f"{type(error).__name__}: {error}")


def _block(task: Task) -> Block:
    point = planned(task.scenario, task.policies, task.engine)
    errors = dict(point.errors)
    engines = {name: each for name, each in point.engines.items() if name not in task.given_up}
    if task.start == 0:
        hopeless = without_hope(point.scenario, engines, task.seed)
        errors |= {error.policy: str(error) for error in hopeless}
        engines = {name: each for name, each in engines.items() if name not in errors}
    numbers = range(task.start, task.stop)
    while True:
        try:
            values = simulate(point.scenario, engines, numbers, task.seed)
        except NowhereError as error:
            errors[error.policy] = str(error)
            del engines[error.policy]
        else:
            packed = map(pack, values.swapaxes(0, 1))
            return Block(point.rows, dict(zip(engines, packed, strict=True)), errors)


@lru_cache(maxsize=8)  # blocks of one point come one after the other
def planned(text: str, policies: tuple[str, ...], engine: str) -> Planned:
    """Plan the scenario of a point, which is JSON.

    What may pass (a file that can't be read, an error in code of the user's) is raised.
    """
    scenario = Scenario.read(json.loads(text))
    errors = _unplanned(scenario)
    rows = tuple(_row(scenario, name, is_planned=name not in errors) for name in policies)
    engines: dict[str, Engine] = {}
    for name in policies:
        try:
            engines |= {} if name in errors else chosen(scenario, [name], engine)
        except UsageError as error:
            errors[name] = str(error)
    return Planned(scenario, rows, engines, errors)


def _unplanned(scenario: Scenario) -> dict[str, str]:
    """Return why policies have no plan."""
    faults = scenario.plan_faults()
    for fault in faults.values():
        error = fault.error
        raised = error.__cause__ if isinstance(error, PolicyError) else error
        is_answer = raised is None or isinstance(raised, (CprsimError, ValueError))
        # A file is at fault, or code of the user's has raised what is no answer.
        if error is not None and (isinstance(raised, LogError) or not is_answer):
            raise error
    return {name: str(PlanError(*fault.texts)) for name, fault in faults.items()}


def _row(scenario: Scenario, policy: str, *, is_planned: bool) -> PointPlan:
    system = scenario.policies[policy].system
    if not is_planned:
        unknown = Basis(*[math.nan] * 6)
        return PointPlan(policy, system, "", math.nan, math.nan, lossless=False, basis=unknown)
    plan = scenario.plan(policy)
    return PointPlan(
        policy,
        system,
        plan.recovery,
        float(plan.interval_s),
        float(plan.unmet_s),
        loses_nothing(plan, scenario.context),
        Basis.of(scenario, policy),
    )


def pack(values: NDArray[np.float64]) -> bytes:
    """Pack values of shape (replications, len(COLUMNS)); many columns hold one number only."""
    return zlib.compress(np.ascontiguousarray(values.T, dtype="<f8").tobytes(), level=1)


def unpack(packed: bytes) -> NDArray[np.float64]:
    """Unpack values of shape (len(COLUMNS), replications)."""
    flat = np.frombuffer(zlib.decompress(packed), dtype="<f8")
    return flat.reshape(len(COLUMNS), -1).astype(np.float64, copy=False)
