"""The wait for spares, against a pool that is played."""

import heapq

import numpy as np
import pytest

from cprsim.policies.cpr import _share_waited


@pytest.mark.parametrize(("spares", "away"), [(1, 0.3), (2, 1.0), (3, 4.0)])
def test_a_pool_of_spares_is_waited_for_so_long(spares: int, away: float) -> None:
    """Failures at a constant rate; each sends a machine to the pool and takes the first there."""
    rng, now, waits = np.random.default_rng(7), 0.0, []
    pool = [0.0] * spares
    for gap in rng.exponential(1 / away, 200_000).tolist():
        now += gap
        waits.append(max(heapq.heappushpop(pool, now + 1.0) - now, 0.0))
    batches = np.array(waits).reshape(200, -1).mean(axis=1)

    error = batches.std(ddof=1) / 200**0.5
    assert abs(_share_waited(spares, away) - batches.mean()) < 3 * error


def test_without_spares_the_whole_delay_is_waited_for() -> None:
    assert _share_waited(0, 0.5) == 1.0
    assert _share_waited(4, 0.0) == 0.0
