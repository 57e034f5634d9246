"""The adapter of docs/plug-into-torchrec.md on two real ranks."""

import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

from tests.waiting import HANGS_S

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("torchrec") is None,
        reason="torchrec is not installed; docs/plug-into-torchrec.md says how",
    ),
]


def ranks(folder):
    """Both ranks, run to their ends: exit codes, and what they said last."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with ExitStack() as stack:
        started = []
        for rank in range(2):
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.trainer.torchrec_job", str(rank), port, str(folder)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)  # which closes its pipes
            stack.callback(process.kill)
            started.append(process)
        said = [each.communicate(timeout=HANGS_S) for each in started]
    assert all("Error" not in error for _, error in said), said[0][1] + said[1][1]
    return [each.returncode for each in started], [out.splitlines()[-1:] for out, _ in said]


def test_ranks_that_are_killed_go_on_and_a_lost_one_returns_alone(tmp_path):
    killed, _ = ranks(tmp_path)
    ended, said = ranks(tmp_path)

    assert killed == [-signal.SIGKILL] * 2
    assert ended == [0, 0]
    # From step 10, the last save; at 17 rank 0 keeps what it has, rank 1 returns. Of a whole
    # checkpoint's worth nothing is stored since step 0, to which (E4) counts: 10 steps of each
    # rank at the restart; the restart counts as whole, so 7 of rank 1 after that.
    assert said == [
        ["10 True 17 True False 20 0.25"],
        ["10 True 17 True True 20 0.425"],
    ]
