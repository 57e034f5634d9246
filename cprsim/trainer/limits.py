"""Whether this machine has room for what is to be trained; found out before anything is begun.

Estimates are of what there will be at least: what they let pass may still be too much.
"""

import math
import resource
import shutil
import tempfile
from collections.abc import Iterator
from itertools import chain

from cprsim.basics.machine import cores, memory
from cprsim.basics.units import format_bytes, format_duration
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
#: A row beside its numbers: one of Adagrad's, and where samples are made up, the teacher's effect
#: of it, its latent vector of 4 and its norm, float64.
_STATE, _TEACHER = 4, 48
#: Copies of a shard at least: the rows, and those that a save writes.
_COPIES = 2
#: Vectors of all parameters of the MLPs: weights, squares, gradient, and the initial ones.
_VECTORS = 4
#: A step takes 0.3 ms at least (measured: batches of one sample); nobody waits for longer.
_STEP_S, _LONGEST_S = 0.3e-3, 30 * 86400.0
#: What a failure kills is replaced after 30 ms at least (measured); chosen: most of an hour.
_FAILURE_S, _MOST_FAILURES = 0.03, 100_000
#: Faults of stores that are simulated.
_OF_STORES = ("save_fails", "load_fails", "torn", "outages")
#: Of a test sample while predictions are scored: both of float32, and arrays that rank them.
_TEST_SAMPLE = 40


def check_fits(scenario: Scenario, section: TrainerSection, at_once: int = 1) -> None:
    """Raise `ScenarioError` where so many runs at a time take more than there is.

    So it does where the store is to fail, which the trainer's doesn't at will.
    """
    check_sockets()
    data = section.data(scenario, seed=0)
    members = scenario.cluster.parameter_servers + 1  # the trainer
    checks = (
        _not_trained(scenario),
        _members(members, at_once),
        _durations(scenario, data),
        _room(section, data, members, at_once),
    )
    for fault in chain(*checks):
        raise ScenarioError(fault)  # of one cause there may be others


def _not_trained(scenario: Scenario) -> Iterator[str]:
    storage = scenario.storage
    for key, given in (
        *((f"storage.{key}", getattr(storage, key, None)) for key in _OF_STORES),
        ("failures.silent", scenario.failures.silent is not None),
        ("job.allocation", scenario.job.allocation_s is not None),
    ):
        if given:
            yield f"{key}: can be simulated but not trained yet; leave it out"


def _members(members: int, at_once: int) -> Iterator[str]:
    """Too many processes."""
    usable = cores()
    together = _MEMBERS_PER_CORE * usable
    most, why = together // at_once, f"{usable} cores"
    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    by_handles = (handles - _OTHER_HANDLES) // _HANDLES
    if handles != resource.RLIM_INFINITY and by_handles < most:
        most, why = by_handles, f"{handles} open files (ulimit -n)"
    if together // at_once < members <= together:
        yield (
            f"workers = {at_once:,}: so many runs of {members:,} processes take "
            f"{format_bytes(at_once * members * _MEMBER)} of memory, and {why} are enough for "
            f"{together:,} processes; give fewer"
        )
    elif members > most:
        yield (
            f"cluster.parameter_servers: {members:,} processes take "
            f"{format_bytes(members * _MEMBER)} of memory, and {why} are enough for "
            f"{_runs(at_once)}{most:,}; give fewer"
        )


def _durations(scenario: Scenario, data: Data) -> Iterator[str]:
    """More steps or failures than anybody waits for."""
    takes_s = data.steps * _STEP_S
    if takes_s > _LONGEST_S:
        yield (
            f"job.samples: {data.steps:,} steps take {format_duration(takes_s)} at least; give "
            f"fewer than {int(_LONGEST_S / _STEP_S) * data.batch_size:.2g} samples"
        )
    failures = scenario.job.useful_time_s / scenario.failure_model.mtbf_s
    if failures > _MOST_FAILURES:
        yield (
            f"failures: some {failures:,.0f} are expected, and replacing what they kill takes "
            f"{format_duration(failures * _FAILURE_S)} at least; make them so rare that there are "
            f"{_MOST_FAILURES:,} at most"
        )


def _room(section: TrainerSection, data: Data, members: int, at_once: int) -> Iterator[str]:
    """Too little memory, or room in the folder of temporary files: the last and next checkpoint."""
    rows, dim = sum(table.rows for table in data.tables), data.tables[0].dim
    has, parts = memory(), _parts(section, data, members)
    needed, (most, about) = at_once * sum(part[0] for part in parts), max(parts)
    if needed > has:
        yield (
            f"{about} {'take' if at_once == 1 else 'take, in each run,'} {format_bytes(most)} of "
            f"memory; all together {_runs(at_once)}{format_bytes(needed)}, and this machine has "
            f"{format_bytes(has)}"
        )
    stored = 2 * at_once * rows * (4.0 * dim + _STATE)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if stored > free:
        yield (
            f"model.tables: two checkpoints of {rows:,} rows take {_runs(at_once)}"
            f"{format_bytes(stored)} in {folder}, which has {format_bytes(free)} left; give fewer "
            "rows, or set TMPDIR to a larger place"
        )


def _parts(section: TrainerSection, data: Data, members: int) -> list[tuple[float, str]]:
    """What memory goes to, B, and what each part is about."""
    rows, dim = sum(table.rows for table in data.tables), data.tables[0].dim
    made_up = 0 if section.recorded is not None else _TEACHER * 2
    tables, hidden = len(data.tables), section.hidden
    crossed = dim + math.comb(tables + 1, 2)
    weights = hidden * (data.dense + 1 + dim + crossed + 2)
    # Of one sample: features, rows and their gradients, inner products, and both hidden layers.
    wide = data.dense + 2 * (tables + 1) * dim + 2 * (tables + 1) ** 2 + 2 * hidden
    return [
        (members * _MEMBER, f"cluster: {members:,} processes"),
        (
            rows * ((4 * dim + _STATE) * _COPIES + made_up),
            f"model.tables: {rows:,} rows of {dim:,} numbers",
        ),
        (4 * weights * _VECTORS, f"trainer.hidden: layers that are {hidden:,} wide"),
        (
            4 * wide * data.batch_size,
            f"trainer.batch: {data.batch_size:,} samples at a time with hidden = {hidden:,}, "
            f"{tables:,} tables and {data.dense:,} dense features",
        ),
        (
            section.test_samples * _TEST_SAMPLE,
            f"trainer.test_samples: {section.test_samples:,} of them",
        ),
    ]


def _runs(at_once: int) -> str:
    """What is said before a number that is of several runs."""
    return f"(with {at_once} runs at a time) " if at_once > 1 else ""
