"""Torch as all tests of the trainer want it."""

import pytest
import torch

torch.sparse.check_sparse_tensor_invariants.disable()  # or sparse Adagrad warns, once a process


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """More would spin for cores, and add numbers up in another order now and then."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
