"""Quantiles of many rows at once."""

import numpy as np

from cprsim.runs.summaries import quantile


def test_quantiles_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 7, 20, 21, 22, 100, 1000):
        values = rng.normal(size=(6, count)) * 1e7
        values[1] = np.round(values[1] / 1e7)
        values[2, 0], values[3], values[4, -1] = np.nan, 3.5, np.inf
        for share in (0.5, 0.95):
            with np.errstate(invalid="ignore"):
                found = quantile(values, share)
                assert np.array_equal(found, np.quantile(values, share, axis=1), equal_nan=True)
