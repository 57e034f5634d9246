"""Torch as all tests of the trainer want it."""

import pytest
import torch

from tests.trainer.forks import Forks

torch.sparse.check_sparse_tensor_invariants.disable()  # or sparse Adagrad warns, once a process


@pytest.fixture(scope="session")
def forks(tmp_path_factory):
    """Starts processes that have torch already."""
    found = Forks(tmp_path_factory.mktemp("said"))
    yield found
    found.close()
