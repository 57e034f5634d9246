"""Loops of others, killed and started again, end as if they never had been."""

import signal
import subprocess
import sys

import pytest
import torch

from tests.trainer.foreign_loops import LOOPS, trained

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=LOOPS)
def bare(request):
    """A loop without hooks: its kind, and a digest of what it has learned."""
    return request.param, alone(request.param)


def alone(*given):
    """A loop in this process, as in a process of its own."""
    with torch.random.fork_rng():
        return trained(*given)


def test_hooks_change_nothing(bare, tmp_path):
    kind, without = bare
    assert alone(kind, tmp_path) == without


def test_a_loop_that_is_killed_ends_as_one_without_hooks(bare, tmp_path):
    kind, without = bare
    command = [sys.executable, "-m", "tests.trainer.foreign_loops", kind, str(tmp_path)]
    killed = subprocess.run([*command, "13"], capture_output=True, text=True, check=False)
    again = subprocess.run(command, capture_output=True, text=True, check=True)

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert again.stdout.split() == ["from", "10:", without.split()[-1]]
