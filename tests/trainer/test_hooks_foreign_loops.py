"""Loops of others, killed and started again, end as if they never had been."""

import signal
import subprocess
import sys

import pytest
import torch

from tests.trainer.foreign_loops import LOOPS, trained

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"),
]


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_that_is_killed_ends_as_one_without_hooks(kind, tmp_path):
    command = [sys.executable, "-m", "tests.trainer.foreign_loops", kind, str(tmp_path)]
    killed = subprocess.run([*command, "13"], capture_output=True, text=True, check=False)
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        clean = trained(kind)
    torch.set_num_threads(before)

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert again.stdout.split() == ["from", "10:", clean.split()[-1]]
