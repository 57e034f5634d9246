"""How fast the real trainer is, beside a bare loop that does the same by plain sends and receives.

The bare loop is that of a prototype: it looks up and updates the row of every id as often as it
occurs, by plain SGD, and has neither checkpoints nor trackers, deadlines, epochs, locks or a
controller that is told of each step. Samples and the dense part are the same.
"""

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
import torch

from cprsim.job.presets import PRESETS
from cprsim.trainer.coordinator.cluster import LocalCluster, Reply
from cprsim.trainer.data import Planted
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.member import Deadlines
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.server import ServerSpec
from cprsim.trainer.members.trainer import TrainerSpec
from cprsim.trainer.members.wire import Op

_SERVERS, _BATCH, _DIM, _HIDDEN, _RATE = 2, 512, 16, 64, 0.05
_STEPS, _ROUNDS = 30, 9
#: For the largest message, B.
_ROOM = 1 << 24
_KAGGLE = PRESETS["criteo-kaggle"].rows
#: Models: 26 tables as unequal as those of Criteo Kaggle, and the tables of `train-quick.toml`.
MODELS = {
    "26 tables, 1 M rows": Planted(
        _BATCH * 1000,
        _BATCH,
        _BATCH,
        dense=13,
        rows=tuple(max(3, each * 1_000_000 // sum(_KAGGLE)) for each in _KAGGLE),
    ),
    "8 tables, 39 k rows": Planted(_BATCH * 1000, _BATCH, _BATCH),
}
#: Least throughput beside the bare loop.
TARGET = 0.8


class Speed(NamedTuple):
    """Of one model, medians of rounds in turn; `cpu_ms`: of all processes, a step."""

    model: str
    samples_per_s: float
    cpu_ms: float
    bare_samples_per_s: float
    bare_cpu_ms: float

    @property
    def ratio(self) -> float:
        """Of throughputs."""
        return self.samples_per_s / self.bare_samples_per_s

    @property
    def cpu_ratio(self) -> float:
        """Of what steps take of processors, bare over ours: throughput, if processors are short."""
        return self.bare_cpu_ms / self.cpu_ms


def main() -> None:
    """Print the table."""
    print("\nTraining, 1 trainer and 2 servers, beside a bare loop of plain sends and receives")
    print(f"{'':<36}{'samples/s':>10}{'bare':>10}{'ratio':>8}{'CPU ms':>9}{'bare':>8}{'ratio':>8}")
    for each in speeds():
        print(
            f"{each.model + f', batch {_BATCH}':<36}{each.samples_per_s:>10,.0f}"
            f"{each.bare_samples_per_s:>10,.0f}{each.ratio:>8.2f}{each.cpu_ms:>9.2f}"
            f"{each.bare_cpu_ms:>8.2f}{each.cpu_ratio:>8.2f}   >= {TARGET}"
        )


def speeds() -> Iterator[Speed]:
    """Of all models."""
    for name, data in MODELS.items():
        with _ours(data) as ours, _bare(data) as bare:
            rounds = [
                [_timed(pids, train, number) for pids, train in (ours, bare)]
                for number in range(_ROUNDS + 1)
            ]
        (wall_s, cpu_s), (bare_s, bare_cpu_s) = (
            [statistics.median(each) for each in zip(*side, strict=True)]
            for side in zip(*rounds[1:], strict=True)
        )
        samples = _STEPS * _BATCH
        yield Speed(
            name,
            samples / wall_s,
            1e3 * cpu_s / _STEPS,
            samples / bare_s,
            1e3 * bare_cpu_s / _STEPS,
        )


#: Processes, and what has them train from one step to another.
_Side = tuple[list[int], Callable[[int, int], None]]


def _timed(pids: list[int], train: Callable[[int, int], None], number: int) -> tuple[float, float]:
    """Wall and CPU seconds of some steps."""
    used, start = _cpu_s(pids), time.perf_counter()
    train(number * _STEPS, (number + 1) * _STEPS)
    return time.perf_counter() - start, _cpu_s(pids) - used


def _cpu_s(pids: list[int]) -> float:
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(each.user + each.system for each in times)


# --- Ours ---


@contextmanager
def _ours(data: Planted) -> Iterator[_Side]:
    placement = Placement(data.rows, _SERVERS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        servers = [
            ServerSpec(
                each, placement.rows_of(each), _DIM, each, 0.05, _RATE, None, (), folder / str(each)
            )
            for each in range(_SERVERS)
        ]
        trainer = TrainerSpec(data, placement, _DIM, _HIDDEN, 0, _RATE, 60.0, folder / "trainer")
        with LocalCluster(servers, [trainer], Deadlines(60.0, 120.0)) as cluster:
            cluster.connect(0, [[each] for each in range(_SERVERS)], again=False)
            _wait(cluster, Op.CONNECT)

            def train(first: int, end: int) -> None:
                cluster.ask(("trainer", 0), Op.TRAIN, end, first=first, every=1)
                _wait(cluster, Op.TRAINED)

            yield [os.getpid(), *(cluster.pid(name) for name in cluster.names)], train


def _wait(cluster: LocalCluster, op: Op) -> None:
    while True:
        event = cluster.next()
        assert isinstance(event, Reply)
        if event.message.op == op:
            return


# --- Bare ---


@contextmanager
def _bare(data: Planted) -> Iterator[_Side]:
    context = multiprocessing.get_context("forkserver")
    pipes = [context.Pipe() for _ in range(_SERVERS)]
    control, its = context.Pipe()
    rows = -(-sum(data.rows) // _SERVERS)
    processes = [
        *(context.Process(target=_serve, args=(end, rows), daemon=True) for _, end in pipes),
        context.Process(target=_train, args=(its, [end for end, _ in pipes], data), daemon=True),
    ]
    for process in processes:
        process.start()

    def train(first: int, end: int) -> None:
        control.send((first, end))
        control.recv()

    try:
        pids = [process.pid for process in processes if process.pid is not None]
        yield [os.getpid(), *pids], train
    finally:
        for process in processes:
            process.kill()
            process.join()


def _serve(trainer: Connection, rows: int) -> None:
    torch.set_num_threads(1)
    weights = (torch.rand(rows, _DIM) * 2 - 1) * 0.05
    ids_come, gradients_come = bytearray(_ROOM), bytearray(_ROOM)
    while True:
        size = trainer.recv_bytes_into(ids_come)
        ids = torch.from_numpy(np.frombuffer(ids_come, np.int64, size // 8))
        trainer.send_bytes(weights.index_select(0, ids).numpy())
        size = trainer.recv_bytes_into(gradients_come)
        gradients = torch.from_numpy(np.frombuffer(gradients_come, np.float32, size // 4))
        weights.index_add_(0, ids, gradients.view(-1, _DIM) * -_RATE)


def _train(control: Connection, servers: list[Connection], data: Planted) -> None:
    torch.set_num_threads(1)
    model = Dlrm(data.dense, len(data.rows), _DIM, _HIDDEN, 0, _RATE)
    starts = np.cumsum([0, *data.rows[:-1]])
    while True:
        first, end = control.recv()
        for step in range(first, end):
            dense, sparse, labels = data.batch(step)
            ids = (sparse + starts).reshape(-1)
            places = [np.flatnonzero(ids % len(servers) == each) for each in range(len(servers))]
            for server, place in zip(servers, places, strict=True):
                server.send_bytes(ids[place] // len(servers))
            rows = np.empty((ids.size, _DIM), np.float32)
            for server, place in zip(servers, places, strict=True):
                rows[place] = np.frombuffer(server.recv_bytes(), np.float32).reshape(-1, _DIM)
            gradient = model.step(
                torch.from_numpy(dense),
                torch.from_numpy(rows).view(_BATCH, -1, _DIM),
                torch.from_numpy(labels),
            )
            of_ids = gradient.reshape(-1, _DIM).numpy()
            for server, place in zip(servers, places, strict=True):
                server.send_bytes(of_ids[place])
        control.send(None)
