"""What a worker does: a block of replications of one point, under all its policies."""

import zlib
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import CprsimError, RunError
from cprsim.runs.engines import Engine, simulate
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, MODEL_VERSION
from cprsim.sweeps.plans import PlanRow, planned

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
class Block:
    """What came of a task, for each policy: its plan, and its replications packed.

    `errors`: why there are none of a policy, whose replications are not a number then.
    """

    plans: tuple[PlanRow, ...]
    packed: tuple[bytes, ...]
    errors: Mapping[str, str] = field(default_factory=dict)


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
    point = planned(task.scenario, task.policies, task.engine, task.seed)
    engines = {name: engine for name, engine in point.engines.items() if name not in task.given_up}
    numbers = range(task.start, task.stop)
    values, errors = _played(point.scenario, engines, numbers, task.seed)
    nowhere = np.full((len(numbers), len(COLUMNS)), np.nan)
    packed = tuple(pack(values.get(name, nowhere)) for name in task.policies)
    return Block(point.rows, packed, point.errors | errors)


def _played(
    scenario: Scenario, engines: dict[str, Engine], numbers: range, seed: int
) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """Values of shape (replications, len(COLUMNS)) by policy; why there are none of the others."""
    try:
        values = simulate(scenario, engines, numbers, seed)
    except RunError as error:
        if len(engines) == 1:
            return {}, dict.fromkeys(engines, str(error))
    else:
        return dict(zip(engines, values.swapaxes(0, 1), strict=True)), {}
    alone = [_played(scenario, {name: each}, numbers, seed) for name, each in engines.items()]
    found, errors = (dict(ChainMap(*each)) for each in zip(*alone, strict=True))
    return found, errors


def pack(values: NDArray[np.float64]) -> bytes:
    """Bytes of values of shape (replications, len(COLUMNS)); many columns hold one number only."""
    return zlib.compress(np.ascontiguousarray(values.T, dtype="<f8").tobytes(), level=1)


def unpack(packed: bytes) -> NDArray[np.float64]:
    """Values of shape (len(COLUMNS), replications)."""
    flat = np.frombuffer(zlib.decompress(packed), dtype="<f8")
    return flat.reshape(len(COLUMNS), -1).astype(np.float64, copy=False)
