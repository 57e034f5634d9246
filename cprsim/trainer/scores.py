"""Scores of predictions."""

import numpy as np
from numpy.typing import NDArray

#: Probabilities are taken to be that far from 0 and 1: float32's spacing below 1.
_LEAST = 2.0**-24


def auc(predicted: NDArray[np.float32], labels: NDArray[np.float32]) -> float:
    """Area under the ROC curve: how often a click is predicted above none, ties counting half.

    By the ranks of the clicks (Mann and Whitney); nan where all labels are alike.
    """
    _, place, count = np.unique(predicted, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    clicks = labels == 1
    n, others = int(clicks.sum()), int((~clicks).sum())
    if not n or not others:
        return float("nan")
    return float((ranks[clicks].sum() - n * (n + 1) / 2) / (n * others))


def log_loss(predicted: NDArray[np.float32], labels: NDArray[np.float32]) -> float:
    """Mean binary cross entropy, nats."""
    chance = np.clip(predicted.astype(np.float64), _LEAST, 1 - _LEAST)
    return float(-np.mean(np.where(labels == 1, np.log(chance), np.log1p(-chance))))
