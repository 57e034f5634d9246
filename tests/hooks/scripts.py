"""The scripts of docs/plug-into-other-trainers.md: run, killed at a step, and run again.

`python -m tests.hooks.scripts SCRIPT STEP` runs a script and kills it when STEP steps are done; 0
for never. Each step after which it saved is a line of `saved.txt`.
"""

import os
import runpy
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import cprsim
from cprsim.hooks.decider import Decider
from tests.waiting import HANGS_S
from tools.pages.walkthroughs import code
from tools.paths import DOCS, ROOT

PAGE = DOCS / "plug-into-other-trainers.md"
STEPS, KILLED, SAVED = 60, 33, "saved.txt"
_KILLED, _FOLDER = "CPRSIM_KILLED", "CPRSIM_FOLDER"
#: The last as the page says for torchrun.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "OMP_NUM_THREADS": "1",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}


def needs(library: str) -> list[pytest.MarkDecorator]:
    """Mark tests that run only where a library is installed, as by `make adapters`."""
    reason = f"{library} is not installed; `make adapters` has it"
    return [pytest.mark.slow, pytest.mark.skipif(find_spec(library) is None, reason=reason)]


class Script:
    """A script of the page in a folder, with the job that it plans with."""

    def __init__(self, name: str, folder: Path) -> None:
        folder.mkdir()
        self.name, self.folder = name, folder
        text = PAGE.read_text(encoding="utf-8")
        for each in (name, "job.toml"):
            (folder / each).write_text(code(text, each), encoding="utf-8")

    def run(self, killed: int = 0) -> list[int]:
        """Run it to its end, or kill it after so many steps; the steps after which it saved."""
        (self.folder / SAVED).unlink(missing_ok=True)
        self._run(-signal.SIGKILL if killed else 0, killed)
        return self._saved

    def run_restarted(self, killed: int, *agent: str) -> list[int]:
        """Run it to its end by an agent that starts it again once it was killed."""
        self._run(0, killed, *agent)
        return self._saved

    def _run(self, expected: int, killed: int, *agent: str) -> None:
        ended = subprocess.run(
            [sys.executable, "-m", *agent, "tests.hooks.scripts", self.name, str(killed)],
            cwd=self.folder,
            env=os.environ | ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
        assert ended.returncode == expected, ended.stdout + ended.stderr

    @property
    def _saved(self) -> list[int]:
        return [int(line) for line in (self.folder / SAVED).read_text().split()]


def killed_and_resumed(name: str, folder: Path) -> tuple[Path, Path]:
    """Run a script without a kill, and another one with a kill, then again; both folders."""
    plain, hit = Script(name, folder / "plain"), Script(name, folder / "hit")
    saved = plain.run()
    assert saved == alone(plain.folder)
    assert saved[:2] == [20, 40]  # sqrt(2 * 2 s * 100 s), each step being 1 s of the job

    assert hit.run(killed=KILLED) == [20]
    assert hit.run() == alone(plain.folder, begun=20)
    return plain.folder, hit.folder


def alone(folder: Path, begun: int = 0) -> list[int]:
    """The steps after which a decider alone wants a save, from step `begun` on."""
    scenario = cprsim.load_scenario(folder / "job.toml")
    decider, found = Decider("full", steps=STEPS, scenario=scenario), []
    decider.resumed(begun)
    for step in range(begun + 1, STEPS + 1):
        save = decider.due(step)
        if save is not None:
            decider.saved(step, save, 0.0)
            found.append(step)
    return found


def _observe(killed: int, folder: Path) -> None:
    """Have deciders kill the process, once, and write down each save."""
    due, saved, hit = Decider.due, Decider.saved, folder / "killed.txt"

    def due_or_killed(self: Decider, step: int) -> Any:
        if step == killed and not hit.exists():
            hit.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return due(self, step)

    def saved_and_written(self: Decider, step: int, *more: Any) -> None:
        saved(self, step, *more)
        with (folder / SAVED).open("a") as file:
            file.write(f"{step}\n")

    Decider.due, Decider.saved = due_or_killed, saved_and_written  # type: ignore[method-assign]


def observe_worker() -> None:
    """Observe deciders in a process that Ray has started."""
    _observe(int(os.environ[_KILLED]), Path(os.environ[_FOLDER]))


def _begin_ray(killed: str) -> None:
    """Begin Ray before the script does, which then observes its workers."""
    import ray

    environment = {
        "worker_process_setup_hook": "tests.hooks.scripts.observe_worker",
        "env_vars": {_KILLED: killed, _FOLDER: str(Path.cwd())},
    }
    ray.init(num_cpus=2, include_dashboard=False, runtime_env=environment)


if __name__ == "__main__":
    if sys.argv[1].startswith("ray"):
        _begin_ray(sys.argv[2])
    _observe(int(sys.argv[2]), Path.cwd())
    runpy.run_path(sys.argv[1], run_name="__main__")
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # While Python shuts down, a thread of gloo's may abort the process (pytorch#190489).
        sys.stdout.flush()
        os._exit(0)
