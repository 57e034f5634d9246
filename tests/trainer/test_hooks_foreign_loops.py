"""Loops of others, killed and started again, end as if they never had been."""

import signal

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


def test_a_loop_that_is_killed_ends_as_one_without_hooks(bare, forks, tmp_path):
    kind, without = bare
    started = "tests.trainer.foreign_loops", kind, tmp_path
    killed = forks.ended(forks.start(*started, 13))
    again = forks.ended(forks.start(*started))

    assert killed[0] == -signal.SIGKILL, killed
    assert again == (0, f"from 10: {without.split()[-1]}\n")
