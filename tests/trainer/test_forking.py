"""The process that members are forked from."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cprsim.basics.files import locked_tempdir
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
from cprsim.trainer.store.store import CheckpointStore, last_sound

rows = np.zeros((10, 4), np.float32)
with tempfile.TemporaryDirectory() as folder:
    store = CheckpointStore(Path(folder))
    store.write(0, (rows,))
    store.write(1, (rows[:3],), np.arange(3))
    assert last_sound(Path(folder), 1).step == 1
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


#: Starts the process that members are forked from, and ends.
_ENDS = """
import os, signal, sys
from cprsim.trainer.lab import forking
forking._NEEDED = (sys.argv[1],)
context = forking.context()
END
"""
#: Ways to end that leave Python no time to clean up, and one that does.
_ENDINGS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "exit": "os._exit(3)",
    "returns": "pass",
}


@pytest.mark.parametrize(
    "end", ["killed", *(pytest.param(each, marks=pytest.mark.slow) for each in [*_ENDINGS][1:])]
)
def test_no_folder_is_left_after_the_next_start(end: str, short_folder: Path) -> None:
    command = [sys.executable, "-c", _ENDS.replace("END", _ENDINGS[end]), "json"]
    given = {"cwd": ROOT, "env": os.environ | {"TMPDIR": str(short_folder)}}
    with subprocess.Popen(command, text=True, start_new_session=True, **given) as process:
        process.wait(HANGS_S)
    wait_until(lambda: not session(process.pid))
    if end != "returns":
        with locked_tempdir(short_folder):
            pass

    assert [*short_folder.iterdir()] == []
