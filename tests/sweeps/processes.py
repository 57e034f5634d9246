"""`cprsim sweep` and dask as real processes, to be killed."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cprsim.basics.spreadsheet import csv_bytes
from cprsim.sweeps.stored import Sweep
from tests.gated import Gate
from tests.waiting import HANGS_S

#: It takes a moment; where a test needs it at work, it is held there (`tests.gated`).
SCENARIO = """
[job]
useful_time = "2 d"
[cluster]
trainers = 8
parameter_servers = 8
[costs]
save = "5 min"
load = "2 min"
reschedule = "3 min"
[failures]
distribution = "exponential"
mean = "20 h"
[policies.full]
system = "full"
[policies.partial]
system = "partial"
"""
#: Six points, which are the tasks of a sweep.
ASKED = (
    *("--vary", "failures.mean=lin(5 h,40 h,6)"),
    *("--replications", "384", "--engine", "sim"),
)


def cprsim(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "cprsim.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )


def exported(folder: Path) -> str:
    """The CSV of a sweep; here, since a process of its own would take a second to start."""
    return csv_bytes(Sweep(folder).table).decode()


class Dask:
    """A scheduler and a worker on loopback, each a process of its own; more can be started."""

    def __init__(self, folder: Path, gate: Gate) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._folder, self.gate = folder, gate
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()

    def start_scheduler(self) -> None:
        self.scheduler = self._start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port),
            "--no-dashboard", "--no-show",
        )  # fmt: skip

    def start_worker(self) -> None:
        self.workers.append(
            self._start(
                "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1",
                "--no-dashboard", "--local-directory", str(self._folder),
                "--preload", "tests.gated",
            )
        )  # fmt: skip

    def wait_for_worker(self) -> None:
        """Until there is one: a sweep has little patience, and a busy machine takes long."""
        from distributed import Client

        with Client(self.address, timeout=HANGS_S, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=HANGS_S)

    def _start(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            start_new_session=True,
            env=self.gate.environment,
        )

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            kill(process)


@contextlib.contextmanager
def dask(folder: Path, gate: Gate) -> Iterator[Dask]:
    cluster = Dask(folder, gate)
    try:
        cluster.start_worker()
        cluster.wait_for_worker()
        yield cluster
    finally:
        cluster.stop()


def kill(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> None:
    process.kill()
    process.wait(HANGS_S)
