"""The work of a worker: all replications of one point, under all its policies."""

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.streams import COHORT
from cprsim.contract.expected import loses_nothing
from cprsim.contract.ledger import overhead
from cprsim.errors import (
    CprsimError,
    LogError,
    NowhereError,
    PlanError,
    PolicyError,
    RunError,
    UsageError,
)
from cprsim.runs.engines import Engine, chosen, simulate
from cprsim.runs.hopeless import without_hope
from cprsim.runs.measures import Basis
from cprsim.runs.summaries import half_width
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, MODEL_VERSION
from cprsim.sweeps.points import to_json

#: What workers and the sweep must have in common: the model's numbers, and a `PointResult`.
WORKERS_VERSION = f"{MODEL_VERSION}.8"
_WALL = COLUMNS.index("wall")


@dataclass(frozen=True)
class Task:
    """A point to be played.

    `scenario`: as JSON where the task goes to another process, with the modules that register its
    policies. `replications`: their number; with
    `half_width` the most. `half_width`: the share of the mean overhead that half the 95 % interval
    of every policy must reach, checked every `COHORT` replications.
    """

    point: int
    scenario: Scenario | str
    policies: tuple[str, ...]
    replications: int
    half_width: float | None
    seed: int
    engine: str = "auto"
    version: str = WORKERS_VERSION
    modules: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        # Any version of cprsim reads JSON, so a worker of another one can say so.
        if isinstance(self.scenario, str):
            return vars(self)
        modules = sorted({type(each).__module__ for each in self.scenario.policies.values()})
        as_json = to_json(self.scenario.mapping())
        return vars(self) | {"scenario": as_json, "modules": tuple(modules)}


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

    @classmethod
    def of(cls, scenario: Scenario, policy: str, is_planned: bool) -> "PointPlan":
        """Return that of a scenario's policy; of one that has none, its system alone."""
        system = scenario.policies[policy].system
        if not is_planned:
            unknown = Basis.filled(math.nan)
            return cls(policy, system, "", math.nan, math.nan, lossless=False, basis=unknown)
        plan = scenario.plan(policy)
        numbers = float(plan.interval_s), float(plan.unmet_s)
        lossless = bool(loses_nothing(plan, scenario.context))
        return cls(policy, system, plan.recovery, *numbers, lossless, Basis.of(scenario, policy))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as `from_dict` reads it."""
        numbers = {name: float(value) for name, value in self.basis._asdict().items()}
        return vars(self) | {"basis": numbers}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> "PointPlan":
        """Return the plan of a dictionary."""
        return cls(**found | {"basis": Basis(**found["basis"])})


@dataclass(frozen=True)
class PointResult:
    """The result of a task.

    `plans`: of all policies. `packed`: replications by policy (`unpack`), of those that were played
    to the end. `errors`: why the others failed, by policy. `replications`: of each in `packed`.
    `error`: why the point failed as a whole; empty if a policy has results.
    """

    plans: tuple[PointPlan, ...] = ()
    packed: Mapping[str, bytes] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    replications: int = 0
    error: str = ""


def perform(task: Task) -> PointResult:
    """Play a point.

    A policy that has no plan here, or makes no progress, fails alone. Any other error is the
    point's.

    Raises
    ------
    RunError
        If this worker has another model: none of its numbers may be taken.
    """
    if task.version != WORKERS_VERSION:
        raise RunError(
            f"a worker has model version {WORKERS_VERSION}, the sweep {task.version}; "
            "install the same cprsim on all workers"
        )
    try:
        return _played(task)
    except CprsimError as error:
        return PointResult(error=str(error))
    except MemoryError:
        return PointResult(error="out of memory")
    except Exception as error:  # a policy of the user's, or a defect: the other points go on
        return PointResult(error=f"{type(error).__name__}: {error}")


def all_failed(errors: Iterable[str]) -> str:
    """Return why a point failed at which all policies did, from the error of each."""
    return "\n".join(dict.fromkeys(errors))


def _played(task: Task) -> PointResult:
    for module in task.modules:  # registers policies
        import_module(module)
    scenario = task.scenario
    if isinstance(scenario, str):
        scenario = Scenario.read(json.loads(scenario))
    errors = _unplanned(scenario)
    plans = tuple(PointPlan.of(scenario, name, name not in errors) for name in task.policies)
    engines: dict[str, Engine] = {}
    for name in task.policies:
        try:
            engines |= {} if name in errors else chosen(scenario, [name], task.engine)
        except UsageError as error:
            errors[name] = str(error)
    for hopeless in without_hope(scenario, dict(engines), task.seed):
        errors[hopeless.policy] = str(hopeless)
        del engines[hopeless.policy]
    blocks: dict[str, list[NDArray[np.float64]]] = {name: [] for name in engines}
    count = 0
    while engines and not _enough(task, count, blocks, scenario.job.useful_time_s):
        numbers = range(count, min(count + COHORT, task.replications))
        try:
            values = simulate(scenario, engines, numbers, task.seed)
        except NowhereError as error:
            errors[error.policy] = str(error)
            del engines[error.policy], blocks[error.policy]
            continue
        for name, own in zip(engines, values.swapaxes(0, 1), strict=True):
            blocks[name].append(own)
        count = numbers.stop
    in_order = {name: errors[name] for name in task.policies if name in errors}
    packed = {name: pack(np.concatenate(own)) for name, own in blocks.items()}
    why = "" if packed else all_failed(in_order.values())
    return PointResult(plans, packed, in_order, count, why)


def _enough(
    task: Task, count: int, blocks: Mapping[str, list[NDArray[np.float64]]], useful_s: float
) -> bool:
    """Return whether `count` replications, of shape (replications, COLUMNS), are enough."""
    if count == task.replications:
        return True
    if task.half_width is None or not count:
        return False
    walls_s = np.stack(
        [np.concatenate([each[:, _WALL] for each in own]) for own in blocks.values()]
    )
    overheads = overhead(walls_s, useful_s)
    width = task.half_width * np.abs(overheads.mean(axis=1))
    return bool(np.all(half_width(overheads) <= width))


def _unplanned(scenario: Scenario) -> dict[str, str]:
    """Return why policies have no plan.

    An error that may pass (a file that can't be read, an error in code of the user's) is raised.
    """
    faults = scenario.plan_faults()
    for fault in faults.values():
        error = fault.error
        raised = error.__cause__ if isinstance(error, PolicyError) else error
        is_answer = raised is None or isinstance(raised, (CprsimError, ValueError))
        if error is not None and (isinstance(raised, LogError) or not is_answer):
            raise error
    return {name: str(PlanError(*fault.texts)) for name, fault in faults.items()}


def pack(values: NDArray[np.float64]) -> bytes:
    """Pack values of shape (replications, len(COLUMNS)); many columns hold one number only."""
    return zlib.compress(np.ascontiguousarray(values.T, dtype="<f8").tobytes(), level=1)


def unpack(packed: bytes) -> NDArray[np.float64]:
    """Unpack values of shape (len(COLUMNS), replications)."""
    flat = np.frombuffer(zlib.decompress(packed), dtype="<f8")
    return flat.reshape(len(COLUMNS), -1).astype(np.float64, copy=False)
