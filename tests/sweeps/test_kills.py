"""Real processes that are killed: what is exported in the end is the same, byte by byte."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cprsim as package
from cprsim.sweeps.store import NAME
from tests.sweeps.processes import (
    ASKED,
    cprsim,
    ended,
    exported,
    kill,
    pool_workers,
    started,
    wait_until,
)

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


def test_three_workers_give_the_bytes_of_one(file, unharmed, tmp_path):
    done = cprsim(*asked(file, tmp_path, 3))

    assert done.returncode == 0, done.stderr
    assert exported(tmp_path) == unharmed


@pytest.mark.parametrize(("workers", "seed"), [(1, 1), (2, 2)])
def test_a_sweep_that_is_killed_again_and_again_ends_with_the_same_bytes(
    file, unharmed, tmp_path, workers, seed
):
    moments, kills = random.Random(seed), 0
    for _ in range(4):
        process = started(*asked(file, tmp_path, workers))
        # From before the file is there to after the first points are finished.
        time.sleep(moments.uniform(0.3, 3.0))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL) if workers == 1 else kill(process)
        process.communicate()
        kills += 1
        if (tmp_path / NAME).exists():
            stored(tmp_path)  # whatever the moment, what is there can be read
    done = cprsim(*asked(file, tmp_path, workers))

    assert kills > 0
    assert done.returncode == 0, done.stderr
    assert exported(tmp_path) == unharmed


def test_a_sweep_goes_on_where_it_was(file, unharmed, tmp_path):
    process = started(*asked(file, tmp_path, 1))
    wait_until(lambda: stored(tmp_path) > 0)
    kill(process)
    process.communicate()
    before = stored(tmp_path)
    halfway = exported(tmp_path).splitlines()
    done = cprsim(*asked(file, tmp_path, 1))

    assert before > 0
    assert halfway == unharmed.splitlines()[: 1 + 2 * before]  # in order, with one worker
    assert done.returncode == 0, done.stderr
    assert exported(tmp_path) == unharmed


def test_workers_end_with_the_sweep_that_is_killed(file, tmp_path):
    process = started(*asked(file, tmp_path, 2))
    wait_until(lambda: len(pool_workers(process)) == 2)
    workers = pool_workers(process)
    kill(process)
    process.communicate()

    wait_until(lambda: not any(worker.is_running() for worker in workers))


def test_a_worker_that_is_killed_costs_nothing_but_time(file, unharmed, tmp_path):
    process = started(*asked(file, tmp_path, 2))
    wait_until(lambda: len(pool_workers(process)) == 2)
    time.sleep(1.0)  # let it work
    pool_workers(process)[0].kill()
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
        timeout=200,
    )

    assert done.stdout == "[(1, 'its worker process died, out of memory perhaps')] 4\n", done.stderr


def test_ctrl_c_keeps_what_is_done(file, unharmed, tmp_path):
    process = started(*asked(file, tmp_path, 2))
    wait_until(lambda: stored(tmp_path) > 0)
    process.send_signal(signal.SIGINT)
    code, err = ended(process)

    assert code == 1
    assert err.splitlines()[-1] == (
        f"cprsim: interrupted; what is done is in {tmp_path}: give the same command again to go on"
    )
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
