"""A small DLRM trained in one process, in plain torch: what the sources are judged by."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class Reference(nn.Module):
    def __init__(self, data, hidden=64, rate=0.05, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        rows, dim = [table.rows for table in data.tables], data.tables[0].dim
        self.starts = torch.from_numpy(np.cumsum([0, *rows[:-1]]))
        self.rows = torch.randn(sum(rows), dim) * 0.05
        self.squares = torch.zeros(sum(rows))
        self.bottom = nn.Sequential(
            nn.Linear(data.dense, hidden), nn.ReLU(), nn.Linear(hidden, dim)
        )
        self.pairs = torch.triu_indices(len(rows) + 1, len(rows) + 1, offset=1)
        self.top = nn.Sequential(
            nn.Linear(dim + self.pairs.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self.rate = rate
        self.adagrad = torch.optim.Adagrad(self.parameters(), lr=rate)

    def logits(self, dense, rows):
        made = self.bottom(dense)
        together = torch.cat((made.unsqueeze(1), rows), dim=1)
        dots = torch.bmm(together, together.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat((made, dots), dim=1)).squeeze(1)

    def step(self, batch):
        ids = (torch.from_numpy(batch.sparse) + self.starts).reshape(-1)
        rows = self.rows[ids].view(len(batch.labels), -1, self.rows.shape[1]).requires_grad_()
        logits = self.logits(torch.from_numpy(batch.dense), rows)
        loss = functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(batch.labels))
        self.adagrad.zero_grad()
        loss.backward()
        self.adagrad.step()
        self.update(ids, rows.grad.reshape(len(ids), -1))

    def update(self, ids, gradients):
        distinct, uses = torch.unique(ids, return_inverse=True)
        summed = torch.zeros(len(distinct), gradients.shape[1]).index_add_(0, uses, gradients)
        self.squares[distinct] += summed.square().mean(dim=1)
        self.rows[distinct] -= (
            self.rate * summed / (self.squares[distinct].sqrt() + 1e-10).unsqueeze(1)
        )

    def test_auc(self, data):
        held_out = [data.batch(data.steps + step) for step in range(data.test_steps)]
        with torch.no_grad():
            scores = [
                self.logits(
                    torch.from_numpy(batch.dense),
                    self.rows[torch.from_numpy(batch.sparse) + self.starts],
                ).numpy()
                for batch in held_out
            ]
        return auc(np.concatenate(scores), np.concatenate([batch.labels for batch in held_out]))


def trained(data, **options):
    model = Reference(data, **options)
    for step in range(data.steps):
        model.step(data.batch(step))
    return model


def auc(scores, labels):
    """The chance that a sample of label 1 has a higher score than one of label 0 (Mann-Whitney)."""
    from scipy.stats import rankdata

    ranks, positive = rankdata(scores), labels == 1
    ones, zeros = positive.sum(), (~positive).sum()
    return (ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros)
