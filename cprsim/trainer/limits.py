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
    asked = {f"storage.{key}": getattr(scenario.storage, key, None) for key in _OF_STORES}
    asked["failures.silent"] = scenario.failures.silent is not None
    asked["job.allocation"] = scenario.job.allocation_s is not None
    if unable := [key for key, given in asked.items() if given]:
        raise ScenarioError(f"{unable[0]}: can be simulated but not trained yet; leave it out")
    data = section.data(scenario, seed=0)
    members = at_once * (scenario.cluster.parameter_servers + 1)  # the trainer
    runs = f" in {at_once:,} runs at a time" if at_once > 1 else ""
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = _MEMBERS_PER_CORE * cores()
    if open_files != resource.RLIM_INFINITY:
        most = min(most, (open_files - _OTHER_HANDLES) // _HANDLES)
    if members > most:
        raise ScenarioError(
            f"cluster.parameter_servers: {members:,} processes{runs}, and this machine has room "
            f"for {most:,} ({cores()} cores, as many open files as ulimit -n says); give fewer"
        )
    parts, has = _parts(section, data), memory()
    needed = members * _MEMBER + at_once * sum(parts.values())
    if needed > has:
        raise ScenarioError(
            f"{max(parts, key=parts.__getitem__)}{runs}: training takes {format_bytes(needed)} of "
            f"memory, and this machine has {format_bytes(has)}"
        )


def _parts(section: TrainerSection, data: Data) -> dict[str, float]:
    """Return the parts of the memory of a run, B, by what they follow from."""
    rows, dim = sum(table.rows for table in data.tables), data.tables[0].dim
    made_up = 0 if section.recorded is not None else _TEACHER
    tables, hidden = len(data.tables), section.hidden
    weights = hidden * (data.dense + 1 + 2 * dim + math.comb(tables + 1, 2) + 2)
    # Of one sample: features, rows and their gradients, inner products, and both hidden layers.
    wide = data.dense + 2 * (tables + 1) * dim + 2 * (tables + 1) ** 2 + 2 * hidden
    of_batches = f"{data.batch_size:,} samples at a time with hidden = {hidden:,}"
    return {
        f"model.tables: {rows:,} rows of {dim:,} numbers": (
            rows * ((4 * dim + _STATE) * _COPIES + made_up)
        ),
        f"trainer.batch: {of_batches}": 4 * (weights * _VECTORS + wide * data.batch_size),
        f"trainer.test_samples: {section.test_samples:,} of them": (
            section.test_samples * _TEST_SAMPLE
        ),
    }
