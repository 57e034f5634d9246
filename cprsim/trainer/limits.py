"""Whether this machine has room for what is to be trained; found out before anything is begun.

Estimates are of what there will be at least: what they let pass may still be too much.
"""

import math
import resource
import shutil
import tempfile
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

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
#: Of a test sample while predictions are scored: both of float32, and arrays that rank them.
_TEST_SAMPLE = 40


class _Part(NamedTuple):
    """Something that takes memory, and what it is about."""

    size: float
    about: str


def check_fits(scenario: Scenario, section: TrainerSection, at_once: int = 1) -> None:
    """Raise `ScenarioError` where so many runs at a time take more than there is.

    So it does where the store is to fail, which the trainer's doesn't at will.
    """
    check_sockets()
    data = section.data(scenario, seed=0)
    faults = chain(
        _store(scenario),
        _members(scenario, at_once),
        _durations(scenario, data),
        _memory(scenario, section, data, at_once),
        _disk(data, at_once),
    )
    first = next(faults, None)  # of one cause there may be others
    if first is not None:
        raise ScenarioError(first)


def _store(scenario: Scenario) -> Iterator[str]:
    """Saves and loads that fail."""
    for key in ("save_fails", "load_fails", "torn", "outages"):
        if scenario.storage is not None and getattr(scenario.storage, key):
            yield f"storage.{key}: can be simulated but not trained yet; leave it out"
    if scenario.failures.silent is not None:
        yield "failures.silent: can be simulated but not trained yet; leave it out"
    if scenario.job.allocation_s is not None:
        yield "job.allocation: can be simulated but not trained yet; leave it out"


def _members(scenario: Scenario, at_once: int) -> Iterator[str]:
    """Too many processes."""
    members = scenario.cluster.parameter_servers + 1  # the trainer
    usable = cores()
    together = _MEMBERS_PER_CORE * usable
    most = together // at_once
    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    by_handles = (handles - _OTHER_HANDLES) // _HANDLES
    why = f"{usable} cores"
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


def _memory(scenario: Scenario, section: TrainerSection, data: Data, at_once: int) -> Iterator[str]:
    has = memory()
    parts = _parts(scenario, section, data)
    needed = at_once * sum(part.size for part in parts)
    if needed > has:
        largest = max(parts)
        yield (
            f"{largest.about} {'take' if at_once == 1 else 'take, in each run,'} "
            f"{format_bytes(largest.size)} of memory; all together {_runs(at_once)}"
            f"{format_bytes(needed)}, and this machine has {format_bytes(has)}"
        )


def _parts(scenario: Scenario, section: TrainerSection, data: Data) -> list[_Part]:
    """What memory goes to."""
    members = scenario.cluster.parameter_servers + 1
    rows, dim = sum(table.rows for table in data.tables), data.tables[0].dim
    made_up = 0 if section.recorded is not None else _TEACHER * 2
    tables = len(data.tables)
    crossed = dim + math.comb(tables + 1, 2)
    weights = section.hidden * (data.dense + 1 + dim + crossed + 2)
    # Of one sample: features, rows and their gradients, inner products, and both hidden layers.
    wide = data.dense + 2 * (tables + 1) * dim + 2 * (tables + 1) ** 2 + 2 * section.hidden
    return [
        _Part(members * _MEMBER, f"cluster: {members:,} processes"),
        _Part(
            rows * ((4 * dim + _STATE) * _COPIES + made_up),
            f"model.tables: {rows:,} rows of {dim:,} numbers",
        ),
        _Part(
            4 * weights * _VECTORS,
            f"trainer.hidden: layers that are {section.hidden:,} wide",
        ),
        _Part(
            4 * wide * data.batch_size,
            f"trainer.batch: {data.batch_size:,} samples at a time with hidden = "
            f"{section.hidden:,}, {tables:,} tables and {data.dense:,} dense features",
        ),
        _Part(
            section.test_samples * _TEST_SAMPLE,
            f"trainer.test_samples: {section.test_samples:,} of them",
        ),
    ]


def _disk(data: Data, at_once: int) -> Iterator[str]:
    """Checkpoints that the folder of temporary files has no room for: the last and the next."""
    rows, dim = sum(table.rows for table in data.tables), data.tables[0].dim
    needed = 2 * at_once * rows * (4.0 * dim + _STATE)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if needed > free:
        yield (
            f"model.tables: two checkpoints of {rows:,} rows take {_runs(at_once)}"
            f"{format_bytes(needed)} in {folder}, which has {format_bytes(free)} left; give fewer "
            "rows, or set TMPDIR to a larger place"
        )


def _runs(at_once: int) -> str:
    """What is said before a number that is of several runs."""
    return f"(with {at_once} runs at a time) " if at_once > 1 else ""
