"""The model and its parts, against torch's own and against brute force."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch

from cprsim.trainer.lab.model import SPREAD, Dlrm, Placement, Shard, Uses
from cprsim.trainer.training import auc, log_loss


@pytest.mark.parametrize("servers", [1, 2, 3, 8])
def test_rows_are_spread_evenly_and_each_has_one_place(servers):
    placement = Placement((5, 1, 9, 4), servers)
    there = [(row % servers, row // servers) for row in range(19)]

    assert sum(placement.rows_of(server) for server in range(servers)) == 19
    for server in range(servers):
        mine = [place for on, place in there if on == server]
        assert mine == list(range(placement.rows_of(server)))
        ranges = [placement.range_of(table, server) for table in range(4)]
        assert [place for each in ranges for place in each] == mine
    sparse = np.array([[4, 0, 8, 3], [0, 0, 0, 0]])
    assert placement.ids(sparse).tolist() == [[4, 5, 14, 18], [0, 5, 6, 15]]


def test_the_dense_part_is_torchs_modules_and_its_adagrad():
    dense, tables, dim, hidden = 3, 2, 4, 5
    model = Dlrm(dense, tables, dim, hidden, seed=1, learning_rate=0.1)
    bottom = torch.nn.Sequential(
        torch.nn.Linear(dense, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, dim)
    )
    top = torch.nn.Sequential(
        torch.nn.Linear(dim + 3, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1)
    )
    parameters = [*bottom.parameters(), *top.parameters()]
    torch.nn.utils.vector_to_parameters(model.weights.clone(), parameters)
    optimizer = torch.optim.Adagrad(parameters, lr=0.1, eps=1e-10)
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        x = torch.randn((6, dense), generator=generator)
        rows = torch.randn((6, tables, dim), generator=generator).requires_grad_()
        labels = (torch.rand(6, generator=generator) < 0.5).float()
        made = torch.relu(bottom(x))
        vectors = [made, rows[:, 0], rows[:, 1]]
        dots = [(a * b).sum(1, keepdim=True) for a, b in itertools.combinations(vectors, 2)]
        logits = top(torch.cat([made, *dots], dim=1)).squeeze(1)
        predicted = model.predict(x, rows)
        assert torch.allclose(predicted, torch.sigmoid(logits), atol=1e-6)
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(logits, labels).backward()
        optimizer.step()

        gradient = model.step(x, rows, labels)
        assert torch.allclose(gradient, rows.grad, atol=1e-6)
        expected = torch.nn.utils.parameters_to_vector(parameters)
        assert torch.allclose(model.weights, expected, atol=1e-5)


def test_rows_of_one_number_are_updated_as_by_torchs_adagrad():
    # With rows of one number, row-wise Adagrad is Adagrad.
    shard = Shard(10, 1, seed=3, learning_rate=0.1)
    weights = torch.nn.Parameter(shard.weights.clone())
    optimizer = torch.optim.Adagrad([weights], lr=0.1, eps=1e-10)
    assert float(shard.weights.abs().max()) <= SPREAD
    for ids in ([0, 3], [3, 9], [1, 3, 5]):
        gradients = torch.linspace(-1, 2, len(ids)).unsqueeze(1)
        weights.grad = torch.zeros_like(weights)
        weights.grad[ids] = gradients
        optimizer.step()
        shard.update(torch.tensor(ids), gradients)
        assert torch.allclose(shard.weights, weights.detach(), atol=1e-6)
        assert torch.equal(shard.lookup(torch.tensor(ids)), shard.weights[ids])


@pytest.mark.parametrize("ties", [False, True])
def test_auc_is_the_share_of_pairs_in_order(ties):
    rng = np.random.default_rng(0)
    predicted = rng.random(60).astype(np.float32)
    if ties:
        predicted = np.round(predicted, 1)
    labels = (rng.random(60) < 0.4).astype(np.float32)
    pairs = itertools.product(predicted[labels == 1], predicted[labels == 0])
    shares = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs]

    assert auc(predicted, labels) == pytest.approx(sum(shares) / len(shares), rel=1e-12)


def test_scores_of_degenerate_predictions():
    ones = np.ones(3, np.float32)

    assert math.isnan(auc(ones, ones))
    assert auc(ones, np.array([0, 1, 1], np.float32)) == 0.5
    assert log_loss(np.full(4, 0.5, np.float32), np.array([0, 1, 1, 0])) == math.log(2)
    assert log_loss(ones, ones) < 1e-6
    assert math.isfinite(log_loss(ones, 0 * ones))


# --- Rows of a batch, each once -------------------------------------------------------------------


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
