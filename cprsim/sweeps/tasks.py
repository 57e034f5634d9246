"""What a worker does: a block of replications of one point, under all its policies."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import CprsimError, NowhereError, RunError
from cprsim.runs.engines import simulate
from cprsim.runs.hopeless import without_hope
from cprsim.sim.engine import COLUMNS, MODEL_VERSION
from cprsim.sweeps.plans import PointPlan, planned

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
    """What came of a task: plans of all policies, and replications of those that were played.

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


def pack(values: NDArray[np.float64]) -> bytes:
    """Bytes of values of shape (replications, len(COLUMNS)); many columns hold one number only."""
    return zlib.compress(np.ascontiguousarray(values.T, dtype="<f8").tobytes(), level=1)


def unpack(packed: bytes) -> NDArray[np.float64]:
    """Values of shape (len(COLUMNS), replications)."""
    flat = np.frombuffer(zlib.decompress(packed), dtype="<f8")
    return flat.reshape(len(COLUMNS), -1).astype(np.float64, copy=False)
