"""Ctrl-C in a terminal goes to all processes; it is for the first one alone to tell of it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_BLOCKED_IN_FORKSERVER = """
import signal
from multiprocessing import forkserver
from pathlib import Path
from cprsim.trainer.members import forking

signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
forking.context()
print(Path(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read_text())
assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_the_process_that_members_are_forked_from_has_ctrl_c_blocked() -> None:
    """From its start on, in a process that has started no other before."""
    told = subprocess.run(
        [sys.executable, "-c", _BLOCKED_IN_FORKSERVER], capture_output=True, text=True, check=True
    ).stdout
    (line,) = (each for each in told.splitlines() if each.startswith("SigBlk:"))
    assert int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
