"""How fast the real trainer is, beside a bare loop that does the same by plain sends and receives.

The bare loop is that of a prototype: it looks up and updates the row of every id as often as it
occurs, by plain SGD, and has neither checkpoints nor trackers, deadlines, epochs, locks or a
controller that is told of each step. Samples and the dense part are the same.
"""

import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import psutil
import torch

from benchmarks.batch import Spread
from cprsim.job.presets import PRESETS
from cprsim.trainer.coordinator import roster
from cprsim.trainer.coordinator.cluster import LocalCluster, Reply
from cprsim.trainer.data import Planted
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.around import Around, run_member
from cprsim.trainer.members.dlrm import Dlrm
from cprsim.trainer.members.placement import Placement, Uses
from cprsim.trainer.members.server import ServerSpec
from cprsim.trainer.members.trainer import MadeBatch, Trainer, TrainerSpec, run_trainer
from cprsim.trainer.members.wire import Op

_SERVERS, _BATCH, _DIM, _HIDDEN, _RATE = 2, 512, 16, 64, 0.05
#: Steps of a round, and rounds that are measured.
STEPS, ROUNDS = 30, 15
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
#: Ways to train, as they are named.
OURS, UNPREFETCHED, STALE, BARE = (
    "ids prefetched",
    "nothing prefetched",
    "rows prefetched, stale by a step",
    "bare loop",
)
#: Least throughput beside the bare loop.
TARGET = 0.9


class Speed(NamedTuple):
    """Of one way to train a model, medians of rounds in turn.

    `cpu_ms`: of all processes, a step. `waits`: how often the trainer gives its processor up to
    wait for something, a step. `beside`: its throughput in shares of what other ways have.
    """

    model: str
    way: str
    samples_per_s: float
    cpu_ms: float
    waits: float
    beside: Mapping[str, Spread]


def main() -> None:
    """Print the table."""
    print("\nTraining, 1 trainer and 2 servers, beside a bare loop of plain sends and receives")
    print(f"{'':<44}{'samples/s':>10}{'/ bare':>8}{'CPU ms':>9}{'waits':>8}")
    for each in speeds():
        print(
            f"{f'{each.model}, {each.way}':<44}{each.samples_per_s:>10,.0f}"
            f"{each.beside[BARE].median:>8.2f}{each.cpu_ms:>9.2f}{each.waits:>8.2f}   >= {TARGET}"
        )


def speeds() -> Iterator[Speed]:
    """Of all models, in all ways."""
    for name, data in MODELS.items():
        with ExitStack() as stack:
            ways = {way: stack.enter_context(begin(data)) for way, begin in _WAYS.items()}
            rounds = [
                {way: _timed(loop, number) for way, loop in ways.items()}
                for number in range(ROUNDS + 1)
            ][1:]
        for way in ways:
            spent = [each[way] for each in rounds]
            yield Speed(
                name,
                way,
                STEPS * _BATCH / statistics.median(each.wall_s for each in spent),
                1e3 * statistics.median(each.cpu_s for each in spent) / STEPS,
                statistics.median(each.waits for each in spent) / STEPS,
                {other: _share(rounds, way, other) for other in ways},
            )


def _share(rounds: "Sequence[Mapping[str, _Spent]]", way: str, other: str) -> Spread:
    return Spread.of([each[other].wall_s / each[way].wall_s for each in rounds])


class _Loop(NamedTuple):
    """Processes, the trainer's among them, and what has them train from one step to another."""

    pids: list[int]
    trainer: int
    train: Callable[[int, int], None]


class _Spent(NamedTuple):
    wall_s: float
    cpu_s: float
    waits: int


def _timed(loop: _Loop, number: int) -> _Spent:
    """What some steps take."""
    used_s, waits, start_s = _cpu_s(loop.pids), _waits(loop.trainer), time.perf_counter()
    loop.train(number * STEPS, (number + 1) * STEPS)
    wall_s = time.perf_counter() - start_s
    return _Spent(wall_s, _cpu_s(loop.pids) - used_s, _waits(loop.trainer) - waits)


def _cpu_s(pids: list[int]) -> float:
    # The number of a process's own clock on Linux, see clock_getcpuclockid(3): nanoseconds, where
    # `psutil` tells hundredths of a second.
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def _waits(pid: int) -> int:
    return int(psutil.Process(pid).num_ctx_switches().voluntary)


# --- Ours ---


class _Unprefetched(Trainer):
    """Makes a batch when its turn has come."""

    def _prefetch(self, step: int, end: int) -> None:  # noqa: ARG002  (nothing)
        return None


class _Stale(Trainer):
    """Asks for the rows of the next batch before it waits for those of one: they lack its update.

    That is a staleness of one step, as far as it goes without failures.
    """

    def __init__(self, spec: TrainerSpec, around: Around) -> None:
        super().__init__(spec, around)
        self._ask, self._asked = self._rows.ask, -1
        self._rows.ask = self._ask_once  # type: ignore[method-assign]

    def _ask_once(self, step: int, uses: Uses) -> None:
        if step != self._asked:
            self._ask(step, uses)
        self._asked = step

    def _prefetch(self, step: int, end: int) -> MadeBatch | None:
        made = super()._prefetch(step, end)
        if made is not None:
            self._rows.ask(step, made.uses)
        return made


def _run_unprefetched(spec: TrainerSpec, control: socket.socket) -> None:
    run_member(lambda loop: _Unprefetched(spec, loop).obey(), control)


def _run_stale(spec: TrainerSpec, control: socket.socket) -> None:
    run_member(lambda loop: _Stale(spec, loop).obey(), control)


@contextmanager
def _ours(run: Callable[[TrainerSpec, socket.socket], None], data: Planted) -> Iterator[_Loop]:
    """Our trainer, or one that is another in part; `run` is its process."""
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
        with (
            mock.patch.object(roster, "run_trainer", run),
            LocalCluster(servers, trainer, Deadlines(60.0, 120.0)) as cluster,
        ):
            cluster.connect(0, [[each] for each in range(_SERVERS)], again=False)
            _wait(cluster, Op.CONNECT)

            def train(first: int, end: int) -> None:
                cluster.ask(("trainer", 0), Op.TRAIN, end, first=first)
                _wait(cluster, Op.TRAINED)

            pids = [os.getpid(), *(cluster.pid(name) for name in cluster.names)]
            yield _Loop(pids, cluster.pid(("trainer", 0)), train)


def _wait(cluster: LocalCluster, op: Op) -> None:
    while True:
        event = cluster.next()
        assert isinstance(event, Reply)
        if event.message.op == op:
            return


# --- Bare ---


@contextmanager
def _bare(data: Planted) -> Iterator[_Loop]:
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
        yield _Loop([os.getpid(), *pids], pids[-1], train)
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


_WAYS: Mapping[str, Callable[[Planted], AbstractContextManager[_Loop]]] = {
    OURS: partial(_ours, run_trainer),
    UNPREFETCHED: partial(_ours, _run_unprefetched),
    STALE: partial(_ours, _run_stale),
    BARE: _bare,
}
