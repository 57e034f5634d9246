"""A check that this machine has room for a job, before anything is begun.

Estimates are of what there will be at least: what they let pass may still be too much. Whether
checkpoints fit on the disk is found out by the hooks, at their first one.
"""

import math
import resource

from cprsim.basics.machine import cores, memory
from cprsim.basics.units import format_bytes
from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.trainer.data import Data
from cprsim.trainer.lab.forking import check_sockets
from cprsim.trainer.section import TrainerSection

#: Private memory of a member, B: measured 9 MB of servers, 15 MB of trainers with torch 2.13, which
#: all share; rows and the rest come on top.
_MEMBER = 9e6
#: Members that a core can start and serve. Chosen: 400 on two cores train, and a second passes
#: before 11 of them have started (measured); many more would not answer in time.
_MEMBERS_PER_CORE = 256
#: Open files of the controller for each member: a socket and two ends of pipes. Others: some 60.
_HANDLES, _OTHER_HANDLES = 3, 60
#: Bytes of a row on top of its numbers: one number of Adagrad's, and where samples are made up, the
#: teacher's effect of it, its latent vector of 4 and its norm, float64, in two processes.
_STATE, _TEACHER = 4, 2 * 48
#: Copies of a shard at least: the rows, and those that a save writes.
_COPIES = 2
#: Vectors of all parameters of the MLPs: weights, squares, gradient, and the initial ones.
_VECTORS = 4
#: Faults of stores that are simulated.
_OF_STORES = ("save_fails", "load_fails", "torn", "outages")
#: Of a test sample while predictions are scored: both of float32, and arrays that rank them.
_TEST_SAMPLE = 40


def check_fits(scenario: Scenario, section: TrainerSection, at_once: int = 1) -> None:
    """Raise `ScenarioError` where so many runs at a time take more than there is.

    So it does where the store is to fail, which the trainer's doesn't at will.
    """
    check_sockets()
    _check_trained(scenario)
    data = section.data(scenario, seed=0)
    members = at_once * (scenario.cluster.parameter_servers + 1)  # the trainer
    runs = f" in {at_once:,} runs at a time" if at_once > 1 else ""
    most = min(_MEMBERS_PER_CORE * cores(), _open_at_most())
    if members > most:
        raise ScenarioError(
            f"cluster.parameter_servers: {members:,} processes{runs}, and this machine has room "
            f"for {most:,} ({cores()} cores, as many open files as ulimit -n says); give fewer"
        )
    parts, has = _parts(section, data), memory()
    needed = members * _MEMBER + at_once * sum(taken for taken, _ in parts)
    if needed > has:
        raise ScenarioError(
            f"{max(parts)[1]}{runs}: training takes {format_bytes(needed)} of memory, and this "
            f"machine has {format_bytes(has)}"
        )


def _check_trained(scenario: Scenario) -> None:
    storage = scenario.storage
    for key, given in (
        *((f"storage.{key}", getattr(storage, key, None)) for key in _OF_STORES),
        ("failures.silent", scenario.failures.silent is not None),
        ("job.allocation", scenario.job.allocation_s is not None),
    ):
        if given:
            raise ScenarioError(f"{key}: can be simulated but not trained yet; leave it out")


def _open_at_most() -> float:
    """Return the members that the limit of open files allows."""
    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    unlimited = handles == resource.RLIM_INFINITY
    return math.inf if unlimited else (handles - _OTHER_HANDLES) // _HANDLES


def _parts(section: TrainerSection, data: Data) -> list[tuple[float, str]]:
    """Return the parts of the memory, B, with their names."""
    rows, dim = sum(table.rows for table in data.tables), data.tables[0].dim
    made_up = 0 if section.recorded is not None else _TEACHER
    tables, hidden = len(data.tables), section.hidden
    weights = hidden * (data.dense + 1 + 2 * dim + math.comb(tables + 1, 2) + 2)
    # Of one sample: features, rows and their gradients, inner products, and both hidden layers.
    wide = data.dense + 2 * (tables + 1) * dim + 2 * (tables + 1) ** 2 + 2 * hidden
    return [
        (
            rows * ((4 * dim + _STATE) * _COPIES + made_up),
            f"model.tables: {rows:,} rows of {dim:,} numbers",
        ),
        (
            4 * (weights * _VECTORS + wide * data.batch_size),
            f"trainer.batch: {data.batch_size:,} samples at a time with hidden = {hidden:,}",
        ),
        (
            section.test_samples * _TEST_SAMPLE,
            f"trainer.test_samples: {section.test_samples:,} of them",
        ),
    ]
