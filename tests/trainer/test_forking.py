"""The process that members are forked from."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cprsim.basics.owned import owned_folder
from tests.interrupted import session
from tests.waiting import HANGS_S, wait_until

ROOT = Path(__file__).parents[2]

_BLOCKED_IN_FORKSERVER = """
import signal
from multiprocessing import forkserver
from pathlib import Path
from cprsim.trainer.lab import forking

signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
forking.context()
print(Path(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read_text())
assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_the_process_that_members_are_forked_from_has_ctrl_c_blocked() -> None:
    """From its start on, in a process that has started no other before.

    Ctrl-C in a terminal goes to all processes; it is for the first one alone to tell of it.
    """
    told = subprocess.run(
        [sys.executable, "-c", _BLOCKED_IN_FORKSERVER], capture_output=True, text=True, check=True
    ).stdout
    (line,) = (each for each in told.splitlines() if each.startswith("SigBlk:"))
    assert int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1


#: A load by a member: rows that were saved, and some that were appended.
_LOADS = """
import sys
before = set(sys.modules)
import tempfile
from pathlib import Path
import numpy as np
from cprsim.trainer.store.store import CheckpointStore

rows = np.zeros((10, 4), np.float32)
with tempfile.TemporaryDirectory() as folder:
    store = CheckpointStore(Path(folder))
    store.write(0, (rows,))
    store.write(1, (rows[:3],), np.arange(3))
    assert CheckpointStore(Path(folder)).restore(1).step == 1
print(sorted(set(sys.modules) - before))
"""
_IN_A_MEMBER = f"""
from cprsim.trainer.lab import forking

member = forking.context().Process(target=exec, args=({_LOADS!r}, {{}}))
member.start()
member.join()
"""


@pytest.mark.slow
def test_members_import_nothing_when_they_load() -> None:
    """A load would take four times as long: NumPy imports a part of itself in `unique`."""
    told = subprocess.run(
        [sys.executable, "-c", _IN_A_MEMBER], capture_output=True, text=True, check=True
    ).stdout
    assert told == "[]\n"


#: Starts the process that members are forked from, and ends when it is told.
_ENDS = """
import os, signal, sys
from cprsim.trainer.lab import forking
forking._NEEDED = (sys.argv[1],)
context = forking.context()
print(flush=True)
sys.stdin.readline()
END
"""
#: Ways to end that leave Python no time to clean up, and one that does.
_ENDINGS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "exit": "os._exit(3)",
    "returns": "pass",
}
_each_ending = pytest.mark.parametrize(
    "end", ["killed", *(pytest.param(each, marks=pytest.mark.slow) for each in [*_ENDINGS][1:])]
)


@contextmanager
def starter(end: str, needed: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that has started the fork server; both are gone in the end."""
    with subprocess.Popen(
        [sys.executable, "-c", _ENDS.replace("END", _ENDINGS[end]), needed],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder), "STALLED": str(folder / "stalled")},
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells")
@_each_ending
def test_who_imports_for_long_ends_with_its_starter(end: str, short_folder: Path) -> None:
    """And so before torch is there: it was 14 s on a busy machine."""
    with starter(end, "tests.trainer.stalled", short_folder) as process:
        wait_until((short_folder / "stalled").exists)
        process.communicate("\n", timeout=HANGS_S)
        wait_until(lambda: not session(process.pid), "the fork server is left")


@_each_ending
def test_no_folder_is_left_after_the_next_start(end: str, short_folder: Path) -> None:
    with starter(end, "json", short_folder) as process:
        process.communicate("\n", timeout=HANGS_S)
        wait_until(lambda: not session(process.pid))
    if end != "returns":
        with owned_folder(short_folder):
            pass

    assert [*short_folder.iterdir()] == []


_FORKS = """
from cprsim.trainer.lab import forking
forking._NEEDED = ("json",)
member = forking.context().Process(
    target=exec, args=("import threading; print(threading.active_count(), flush=True)", {})
)
member.start()
member.join()
"""


def test_members_are_forked_from_a_process_without_threads(short_folder: Path) -> None:
    """Python warns of others from 3.12 on."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", _FORKS], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")
