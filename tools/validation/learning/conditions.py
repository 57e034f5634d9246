"""Losses of servers, few and many, early and late: one price of learning should predict them."""

from typing import Final, NamedTuple

import numpy as np

from tools.validation.learning.lab import SERVERS, Loss


class Condition(NamedTuple):
    """Losses of random servers at random steps.

    `saves`: of the job; 0 for none, where each loss takes all that a server has learned. `losses`:
    how many, at steps from a share `first` of the job to a share `last` of it. `priority`: whether
    saves are of the most used rows.
    """

    name: str
    saves: int
    losses: int
    first: float = 0.0
    last: float = 1.0
    priority: bool = False

    def drawn(self, steps: int, seed: int) -> list[Loss]:
        """Draw losses of a job of so many steps, at different steps."""
        rng = np.random.default_rng((seed, *self.name.encode()))
        low, high = max(round(self.first * steps), 1), max(round(self.last * steps), 2)
        at = np.sort(rng.choice(np.arange(low, high), self.losses, replace=False))
        servers = rng.integers(SERVERS, size=self.losses)
        return [Loss(*each) for each in zip(at.tolist(), servers.tolist(), strict=True)]

    def every(self, steps: int) -> int | None:
        """Return the steps from save to save, None where none is made."""
        return max(steps // self.saves, 1) if self.saves else None


CONDITIONS: Final = (
    Condition("20 losses, saves every T/40", 40, 20),
    Condition("40 losses, saves every T/40", 40, 40),
    Condition("20 losses, saves every T/20", 20, 20),
    Condition("20 early losses, saves every T/20", 20, 20, 0.0, 0.3),
    Condition("20 late losses, saves every T/20", 20, 20, 0.7, 1.0),
    Condition("4 losses, saves every T/4", 4, 4),
    Condition("8 losses, saves every T/4", 4, 8),
    Condition("16 losses, saves every T/4", 4, 16),
    Condition("8 losses, MFU every T/4", 4, 8, priority=True),
    Condition("16 losses, MFU every T/4", 4, 16, priority=True),
    Condition("1 loss at T/4, never saved", 0, 1, 0.24, 0.26),
    Condition("1 loss at T/2, never saved", 0, 1, 0.49, 0.51),
    Condition("1 loss at 0.9 T, never saved", 0, 1, 0.89, 0.91),
    Condition("1 loss, never saved", 0, 1),
    Condition("4 losses, never saved", 0, 4),
)
