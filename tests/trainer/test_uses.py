"""Rows of a batch, each once: by brute force."""

from collections import Counter

import numpy as np
import pytest
import torch

from cprsim.trainer.lab.model import Placement, Uses


@pytest.mark.parametrize("servers", [1, 2, 3, 7])
@pytest.mark.parametrize("rows", [(1,), (5, 1, 3), (300, 2)])
def test_rows_are_there_once_by_server_and_so_are_sums_over_their_uses(servers, rows):
    rng = np.random.default_rng(0)
    placement = Placement(rows, servers)
    sparse = rng.integers(rows, size=(40, len(rows)))
    uses = Uses(placement, sparse)
    flat = placement.ids(sparse).reshape(-1).tolist()
    times = Counter((row % servers, row // servers) for row in flat)

    assert len(uses.parts) == servers
    found = [(server, int(row)) for server, part in enumerate(uses.parts) for row in uses.ids[part]]
    assert found == sorted(times)
    assert uses.times.tolist() == [times[each] for each in found]
    whole = torch.arange(sum(rows) * 2, dtype=torch.float32).view(-1, 2)
    mine = whole[[row * servers + server for server, row in found]]
    assert torch.equal(uses.spread(mine), whole[flat])
    gradients = torch.from_numpy(rng.integers(-9, 9, (len(flat), 2)).astype(np.float32))
    sums = torch.zeros_like(whole).index_add_(0, torch.tensor(flat), gradients)
    assert torch.equal(uses.collect(gradients), sums[[row * servers + at for at, row in found]])
