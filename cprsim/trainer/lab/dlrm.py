"""The dense part of a DLRM: bottom MLP, dot interaction, top MLP.

Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation Systems",
arXiv 1906.00091.
"""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from cprsim.trainer.lab.shard import EPSILON, Parameters


class Dlrm:
    """The MLPs, their parameters in one vector, and Adagrad on it.

    `dense`: dense features of a sample. `tables`: embedding tables; a sample looks up one row of
    each. `dim`: width of a row, and of what the bottom MLP makes of the dense features. `hidden`:
    width of the one hidden layer of both MLPs. `seed`: of the initial parameters. `learning_rate`:
    of Adagrad. `learned`: all parameters in one vector, shape (parameters,), float32, and their
    optimiser state.
    """

    def __init__(
        self, dense: int, tables: int, dim: int, hidden: int, seed: int, learning_rate: float
    ) -> None:
        pairs = tables * (tables + 1) // 2
        self._bottom = _layers(dense, hidden, dim)
        self._top = _layers(dim + pairs, hidden, 1)
        self._pairs = torch.triu_indices(tables + 1, tables + 1, offset=1)
        self._rate = learning_rate
        generator = torch.Generator().manual_seed(seed)
        parts = [_initial(fan_in, fan_out, generator) for fan_in, fan_out in self._shapes]
        weights = torch.cat(parts)
        self.parameters = Parameters(weights, torch.zeros_like(weights))

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        return [*self._bottom, *self._top]

    def step(self, dense: Tensor, rows: Tensor, labels: Tensor) -> Tensor:
        """Take one step on a batch; return the gradient of its mean loss by `rows`.

        `dense` has shape (B, dense), `rows` (B, tables, dim), `labels` (B,).
        """
        of_weights, of_rows = self.gradients(dense, rows, labels)
        squares = self.parameters.squares.add_(of_weights.square())
        self.parameters.weights -= self._rate * of_weights / (squares.sqrt() + EPSILON)
        return of_rows

    def gradients(self, dense: Tensor, rows: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of a batch's mean loss by the parameters and by `rows`."""
        weights = self.parameters.weights.detach().requires_grad_()
        rows = rows.detach().requires_grad_()
        logits = self._logits(weights, dense, rows)
        loss = functional.binary_cross_entropy_with_logits(logits, labels)
        of_weights, of_rows = torch.autograd.grad(loss, (weights, rows))
        return of_weights, of_rows

    def predict(self, dense: Tensor, rows: Tensor) -> Tensor:
        """Probabilities of a click, shape (B,)."""
        with torch.no_grad():
            return torch.sigmoid(self._logits(self.parameters.weights, dense, rows))

    def _logits(self, weights: Tensor, dense: Tensor, rows: Tensor) -> Tensor:
        sizes = [(fan_in + 1) * fan_out for fan_in, fan_out in self._shapes]
        parts = list(torch.split(weights, sizes))
        bottom, top = parts[: len(self._bottom)], parts[len(self._bottom) :]
        made = functional.relu(_mlp(dense, bottom, self._bottom))
        together = torch.cat((made.unsqueeze(1), rows), dim=1)
        dots = torch.bmm(together, together.transpose(1, 2))
        crossed = dots[:, self._pairs[0], self._pairs[1]]
        return _mlp(torch.cat((made, crossed), dim=1), top, self._top).squeeze(1)


def _layers(*widths: int) -> list[tuple[int, int]]:
    return list(itertools.pairwise(widths))


def _initial(fan_in: int, fan_out: int, generator: torch.Generator) -> Tensor:
    """Weights and biases of one layer, uniform as in `torch.nn.Linear`."""
    bound = 1 / math.sqrt(fan_in)
    return (torch.rand((fan_in + 1) * fan_out, generator=generator) * 2 - 1) * bound


def _mlp(inputs: Tensor, parts: Sequence[Tensor], shapes: Sequence[tuple[int, int]]) -> Tensor:
    """Layers with ReLU between them."""
    for number, (part, (fan_in, fan_out)) in enumerate(zip(parts, shapes, strict=True)):
        if number:
            inputs = functional.relu(inputs)
        weight, bias = torch.split(part, [fan_in * fan_out, fan_out])
        inputs = functional.linear(inputs, weight.view(fan_out, fan_in), bias)
    return inputs
