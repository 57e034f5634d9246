"""Replica groups of docs/plug-into-other-trainers.md's torchft job, each a process.

`python -m tests.hooks.torchft_groups STEP` runs the script and kills it before it counts STEP; 0
for never. What the hooks do is written into `hooks-GROUP.txt`.
"""

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from cprsim.trainer import TrainerHooks
from tests.hooks.scripts import PAGE
from tests.waiting import HANGS_S
from tools.pages.walkthroughs import code
from tools.paths import ROOT

SCRIPT = "torchft_job.py"


class Groups:
    """Both groups in a folder, with the lighthouse that they meet by."""

    def __init__(self, folder: Path) -> None:
        from torchft.coordination import LighthouseServer

        folder.mkdir()
        self.folder = folder
        for each in (SCRIPT, "job.toml"):
            (folder / each).write_text(code(PAGE.read_text(encoding="utf-8"), each))
        self._lighthouse = LighthouseServer(
            bind="[::]:0", min_replicas=2, join_timeout_ms=500, heartbeat_timeout_ms=1000
        )
        self._processes: dict[int, tuple[subprocess.Popen[bytes], Any]] = {}

    def __enter__(self) -> "Groups":
        return self

    def __exit__(self, *_: object) -> None:
        for process, _store in self._processes.values():
            process.kill()
            process.wait()
        self._lighthouse.shutdown()

    def start(self, group: int, killed: int = 0) -> None:
        """Start a group, which kills itself at a step."""
        from torch.distributed import TCPStore

        store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        more = {
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "TORCHFT_LIGHTHOUSE": self._lighthouse.address(),
            "REPLICA_GROUP_ID": str(group),
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": str(store.port),
            "RANK": "0",
            "WORLD_SIZE": "1",
        }
        with (self.folder / f"log-{group}.txt").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.hooks.torchft_groups", str(killed)],
                cwd=self.folder,
                env=os.environ | more,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._processes[group] = process, store

    def ended(self, group: int) -> int:
        """Wait for a group; its exit code."""
        return self._processes[group][0].wait(HANGS_S)

    def did(self, group: int) -> list[str]:
        """What its hooks have restored and adopted."""
        return (self.folder / f"hooks-{group}.txt").read_text().splitlines()


def _observe(killed: int, folder: Path) -> None:
    """Have the hooks kill the process, and write down what they load and adopt."""
    group = os.environ["REPLICA_GROUP_ID"]
    after_step, restore, adopt = TrainerHooks.after_step, TrainerHooks.restore, TrainerHooks.adopt

    def write(line: str) -> None:
        with (folder / f"hooks-{group}.txt").open("a") as file:
            file.write(f"{line}\n")

    def after_step_or_killed(self: Any, batch: Any) -> None:
        if self.step + 1 == killed:
            os.kill(os.getpid(), signal.SIGKILL)
        after_step(self, batch)

    def restored(self: Any) -> int:
        step = restore(self)
        write(f"restored {step}")
        return step

    def adopted(self: Any, step: int) -> None:
        adopt(self, step)
        write(f"adopted {step} {self.summary.failures} {self.summary.checkpoint}")

    TrainerHooks.after_step = after_step_or_killed  # type: ignore[method-assign]
    TrainerHooks.restore = restored  # type: ignore[method-assign]
    TrainerHooks.adopt = adopted  # type: ignore[method-assign]


if __name__ == "__main__":
    _observe(int(sys.argv[1]), Path.cwd())
    runpy.run_path(SCRIPT, run_name="__main__")
