"""`cprsim` whose tasks wait at a gate, so that a test meets it at work however slow the machine is.

`python -m tests.gated sweep ...` is `cprsim sweep ...`, where `CPRSIM_GATE` names the folder of a
`Gate`. Its worker processes import the main module again, and so have the same gate; dask's take it
with `--preload tests.gated`.

Tasks are blocks of replications in a sweep, runs in a study. Each takes the next number when it
begins. The first `after` go on; the others wait, in a study in the midst of training, until the
gate is opened.
"""

import functools
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.waiting import HANGS_S, wait_until

_FOLDER = "CPRSIM_GATE"
_ROOT = Path(__file__).parents[1]


class Gate:
    """A gate in a folder of its own, as the test sees it and as those who wait at it do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def make(cls, folder: Path, after: int, commits_at_once: bool = True) -> "Gate":
        """A gate that is shut. `commits_at_once`: a sweep does, after each task."""
        folder.mkdir(parents=True)
        told = {"after": after, "commits_at_once": commits_at_once}
        (folder / "told.json").write_text(json.dumps(told))
        return cls(folder)

    @property
    def environment(self) -> dict[str, str]:
        """Of processes that are to have this gate."""
        paths = (str(_ROOT), os.environ.get("PYTHONPATH"))
        path = os.pathsep.join(filter(None, paths))
        return os.environ | {_FOLDER: str(self._folder), "PYTHONPATH": path}

    @property
    def after(self) -> int:
        return self._told["after"]

    @property
    def commits_at_once(self) -> bool:
        return self._told["commits_at_once"]

    @property
    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self._folder / "told.json").read_text())
        return told

    def open(self) -> None:
        """Let all go on."""
        self.reach("open")

    # --- What the test asks ---

    def reached(self, place: str) -> bool:
        """Whether the command has come to a place: `main`."""
        return (self._folder / place).exists()

    def waiting(self) -> list[int]:
        """Ids of the processes that have come to the gate and found it shut."""
        return [int(path.name.split("-")[1]) for path in self._folder.glob("waiting-*")]

    # --- What goes on at the gate ---

    def reach(self, place: str) -> None:
        (self._folder / place).touch()

    def begin(self) -> int:
        """The number of a task that begins; no two have the same."""
        number = 0
        while True:
            try:
                (self._folder / f"begun-{number}").touch(exist_ok=False)
            except FileExistsError:
                number += 1
            else:
                return number

    def wait(self) -> None:
        """Until it is opened."""
        self.reach(f"waiting-{os.getpid()}")
        wait_until(lambda: self.reached("open"), "the gate is never opened")


@contextmanager
def started(gate: Gate, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The command, running, with a gate; it is gone in the end, and whatever it has started."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.gated", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=gate.environment,
    ) as process:
        try:
            yield process
        finally:
            kill_all(process)


def kill_all(process: "subprocess.Popen[str]") -> None:
    """Kill a process and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(HANGS_S)


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Exit code of a process, and what it said on stderr."""
    _, err = process.communicate(timeout=HANGS_S)
    return process.returncode, err


def _gate_sweeps(gate: Gate) -> None:
    tasks, driver, sweep = (
        importlib.import_module(f"cprsim.sweeps.{name}") for name in ("tasks", "driver", "sweep")
    )
    perform = tasks.perform

    @functools.wraps(perform)
    def gated(task: Any) -> Any:
        if gate.begin() >= gate.after:
            gate.wait()
        return perform(task)

    tasks.perform = driver.perform = gated
    if gate.commits_at_once:
        sweep._COMMIT_S = -1.0


def _gate_studies(gate: Gate) -> None:
    from cprsim.trainer.lab.execution import Execution
    from cprsim.trainer.studies import play

    played, did = play.played, Execution._did
    waits = False

    @functools.wraps(played)
    def gated(run: Any) -> Any:
        nonlocal waits
        waits = gate.begin() >= gate.after
        return played(run)

    def gated_step(self: Execution, step: int) -> None:
        did(self, step)
        if waits:
            gate.wait()

    play.played = gated
    Execution._did = gated_step  # type: ignore[method-assign]


if _FOLDER in os.environ:
    _gate = Gate(Path(os.environ[_FOLDER]))
    if "study" in sys.argv:
        _gate_studies(_gate)
    else:
        _gate_sweeps(_gate)

if __name__ == "__main__":
    # Whoever runs the tests in the background, or with nohup, has them ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    _gate.reach("main")
    from cprsim.cli import main

    main()
