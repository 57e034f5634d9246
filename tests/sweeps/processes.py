"""`cprsim sweep` and dask as real processes, to be killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from cprsim.sweeps import export
from cprsim.sweeps.stored import Sweep

#: A job that takes half a millisecond to simulate, so that the sweep below takes some seconds.
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
ASKED = (
    *("--vary", "failures.mean=lin(5 h,40 h,6)"),
    *("--replications", "512", "--engine", "sim"),  # which leaves time to kill it
)


def cprsim(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "cprsim.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def started(*arguments: str) -> "subprocess.Popen[str]":
    """The command, running."""
    return subprocess.Popen(
        [sys.executable, "-m", "cprsim.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Exit code of a process, and what it said on stderr."""
    _, err = process.communicate(timeout=200)
    return process.returncode, err


def exported(folder: Path) -> str:
    """The CSV of a sweep; here, since a process of its own would take a second to start."""
    return export.exported(Sweep(folder), "csv").decode()


def wait_until(true: Callable[[], object], timeout_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def pool_workers(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Worker processes of a running sweep."""
    found = []
    for child in psutil.Process(process.pid).children():
        with contextlib.suppress(psutil.ZombieProcess, psutil.NoSuchProcess):  # it has just ended
            if any("spawn_main" in part for part in child.cmdline()):
                found.append(child)
    return found


class Dask:
    """A scheduler and workers on loopback, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._folder = folder
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker(), self.start_worker()]

    def start_scheduler(self) -> "subprocess.Popen[bytes]":
        self.scheduler = self._start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port),
            "--no-dashboard", "--no-show",
        )  # fmt: skip
        return self.scheduler

    def start_worker(self) -> "subprocess.Popen[bytes]":
        return self._start(
            "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1",
            "--no-dashboard", "--local-directory", str(self._folder),
        )  # fmt: skip

    def _start(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            start_new_session=True,
        )

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            kill(process)


@contextlib.contextmanager
def dask(folder: Path) -> Iterator[Dask]:
    cluster = Dask(folder)
    try:
        yield cluster
    finally:
        cluster.stop()


def kill(process: "subprocess.Popen[bytes] | subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
