"""Real processes that are killed: what is exported in the end is the same, byte by byte."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import cprsim as package
from cprsim.sweeps.store import NAME
from tests.gated import ended, kill_all
from tests.sweeps.processes import ASKED, cprsim, exported, kill
from tests.waiting import HANGS_S, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unharmed(file) -> str:
    """What a sweep that nobody kills exports."""
    folder = file.parent / "unharmed"
    done = cprsim("sweep", str(file), *ASKED, "--workers", "1", "--out", str(folder))
    assert done.returncode == 0, done.stderr
    text = exported(folder)
    assert len(text.splitlines()) == 1 + 6 * 2
    return text


def asked(file: Path, folder: Path, workers: int) -> list[str]:
    return ["sweep", str(file), *ASKED, "--workers", str(workers), "--out", str(folder)]


def stored(folder: Path) -> int:
    """How many points are finished."""
    if not (folder / NAME).exists():
        return 0
    try:
        points = package.Sweep(folder).points
    except package.errors.UsageError:  # made, but empty still
        return 0
    return sum(point.finished for point in points)


#: When a sweep is killed: tasks that its gate lets through, and what is waited for.
MOMENTS = {
    "started": (0, lambda gate, folder, before: gate.reached("main")),
    "file made": (0, lambda gate, folder, before: (folder / NAME).exists()),
    "at work": (1, lambda gate, folder, before: gate.waiting()),
    # With a worker that has taken a task and not begun it, another does two.
    "points stored": (2, lambda gate, folder, before: stored(folder) > before),
}


@pytest.mark.parametrize(
    ("workers", "seed"), [pytest.param(1, 1, marks=pytest.mark.nightly), (2, 2)]
)
def test_a_sweep_that_is_killed_again_and_again_ends_with_the_same_bytes(
    file, unharmed, tmp_path, gate, start, workers, seed
):
    folder = tmp_path / "out"
    for moment in random.Random(seed).sample([*MOMENTS], len(MOMENTS)):
        after, has_come = MOMENTS[moment]
        shut, before = gate(after, commits_at_once=moment == "points stored"), stored(folder)
        process = start(shut, *asked(file, folder, workers))
        wait_until(lambda: has_come(shut, folder, before), moment)  # noqa: B023  (called here)
        assert process.poll() is None
        kill_all(process) if workers == 1 else kill(process)
        if (folder / NAME).exists():
            stored(folder)  # whatever the moment, what is there can be read
    done = cprsim(*asked(file, folder, workers))

    assert done.returncode == 0, done.stderr
    assert exported(folder) == unharmed


def test_a_sweep_goes_on_where_it_was(file, unharmed, tmp_path, gate, start):
    shut = gate(2)
    process = start(shut, *asked(file, tmp_path, 1))
    wait_until(shut.waiting)
    kill(process)
    halfway = exported(tmp_path).splitlines()
    done = cprsim(*asked(file, tmp_path, 1))

    # In order, with one worker: two points are done.
    assert halfway == unharmed.splitlines()[: 1 + 2 * 2]
    assert done.returncode == 0, done.stderr
    assert exported(tmp_path) == unharmed


def has_ended(process: psutil.Process) -> bool:
    """Whether it runs no more; where nobody waits for orphans, its id stays."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_workers_end_with_the_sweep_that_is_killed(file, tmp_path, gate, start):
    shut = gate(0)
    process = start(shut, *asked(file, tmp_path, 2))
    wait_until(lambda: len(shut.waiting()) == 2)
    workers = [psutil.Process(pid) for pid in shut.waiting()]
    kill(process)

    wait_until(lambda: all(map(has_ended, workers)))


def test_a_worker_that_is_killed_costs_nothing_but_time(file, unharmed, tmp_path, gate, start):
    shut = gate(1)
    process = start(shut, *asked(file, tmp_path, 2))
    wait_until(lambda: len(shut.waiting()) == 2)
    os.kill(shut.waiting()[0], signal.SIGKILL)
    shut.open()
    code, err = ended(process)

    assert "workers were lost (BrokenProcessPool: " in err
    assert code == 0
    assert exported(tmp_path) == unharmed


DEADLY = """
import os
from typing import Literal
import cprsim
from cprsim.policies.full import Full

@cprsim.register
class Deadly(Full):
    system: Literal["deadly"]
    def plan(self, context):
        if context.save_s == 300.0:
            os._exit(9)
        return super().plan(context)

if __name__ == "__main__":
    scenario = cprsim.Scenario(
        job={"useful_time": "1 d"}, cluster={"trainers": 4, "parameter_servers": 4},
        costs={"save": "4 min", "load": "1 min", "reschedule": "1 min"},
        failures={"exactly": 2}, policies={"deadly": {"system": "deadly"}},
    )
    vary = {"costs.save": ["3 min", "5 min", "6 min", "7 min"]}
    done = cprsim.sweep(scenario, "out", vary, replications=3, workers=2)
    print([(point.number, point.error) for point in done.failures], len(done.table))
"""


def test_a_point_that_kills_its_workers_fails_and_the_others_go_on(tmp_path):
    (tmp_path / "deadly.py").write_text(DEADLY)
    done = subprocess.run(
        [sys.executable, "deadly.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )

    assert done.stdout == "[(1, 'its worker process died, out of memory perhaps')] 4\n", done.stderr


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.nightly),
    ],
)
def test_an_interrupt_keeps_what_is_done(number, file, unharmed, tmp_path, gate, start):
    shut = gate(2)
    process = start(shut, *asked(file, tmp_path, 2))
    wait_until(lambda: stored(tmp_path) > 0)
    wait_until(lambda: len(shut.waiting()) == 2)
    process.send_signal(number)
    code, err = ended(process)  # without the tasks that are under way, which never end

    assert code == 1
    assert err.splitlines()[-1] == (
        f"cprsim: interrupted; what is done is in {tmp_path}: give the same command again to go on"
    )
    assert 0 < stored(tmp_path) < 6
    assert cprsim(*asked(file, tmp_path, 2)).returncode == 0
    assert exported(tmp_path) == unharmed


# Disks


@pytest.fixture
def disk(tmp_path):
    """Mounts a small disk, given its options."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mounted(options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"needs to mount a disk: {done.stderr.decode().strip()}")
        return folder

    yield mounted
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)


def test_a_full_disk_is_told_and_with_room_the_sweep_goes_on(file, unharmed, disk):
    folder = disk("size=92k")
    done = cprsim(*asked(file, folder, 1))

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"cprsim: {folder / NAME}: the disk is full; what was stored before is safe: make room, "
        "and give the same command again"
    )
    disk("remount,size=4m")
    assert cprsim(*asked(file, folder, 1)).returncode == 0
    assert exported(folder) == unharmed


def test_a_folder_that_is_read_only_is_refused_but_can_be_exported(file, disk):
    folder = disk("size=4m")
    few = ["--vary", "failures.mean=20 h", "--replications", "5", "--workers", "1"]
    few = ["sweep", str(file), *few, "--out", str(folder)]
    assert cprsim(*few).returncode == 0
    before = exported(folder)
    disk("remount,ro")
    done = cprsim(*few)

    assert (done.returncode, done.stderr) == (
        2,
        f"cprsim: --out {folder}: {folder} is not writable\n",
    )
    assert exported(folder) == before
