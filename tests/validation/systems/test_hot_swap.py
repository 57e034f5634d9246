"""Erlang's loss formula by simulation."""

import numpy as np
import pytest
from scipy.linalg import expm

from tools.validation.systems.hot_swap import (
    POOLS,
    REPAIRS,
    USEFUL_H,
    Pool,
    stalled_h,
    stalled_share,
    takeover_s,
)


def finite_h(pool: Pool, useful_h: float = USEFUL_H) -> float:
    """Mean hours that a job which starts with all spares ready stands still, exact.

    For exponential repairs of mean 1 h. In useful time the machines in repair are a birth-death
    chain on 0 to K; a failure in state K stops the job for 1/(K + 1) h on average, and leaves it in
    K. The last state of the generator adds those stops up.
    """
    full = pool.spares
    rates = np.zeros((full + 2, full + 2))
    for down in range(full + 1):
        if down < full:
            rates[down, down + 1] = pool.load
        if down:
            rates[down, down - 1] = down
        rates[down, down] = -rates[down].sum()
    rates[full, full + 1] = pool.load / (full + 1)
    return float(expm(rates * useful_h)[0, full + 1])


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: f"{pool.nodes}-{pool.spares}")
@pytest.mark.parametrize("repair", REPAIRS)
def test_share_of_time_without_enough_machines(pool, repair):
    # All spares are ready at first, so a finite run stands still for a little less than the long
    # run does: by so much, exactly for exponential repairs, and in order of size for others.
    share, finite = stalled_share(pool, repair), finite_h(pool)
    start = pool.stalled - finite / (finite + USEFUL_H)
    assert 0 < start < share.error
    assert abs(share.value - (pool.stalled - start)) < 3 * share.error


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: f"{pool.nodes}-{pool.spares}")
def test_finite_runs_with_exponential_repairs(pool):
    stalled = stalled_h(pool, "exponential")
    assert abs(stalled.value - finite_h(pool)) < 3 * stalled.error


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: f"{pool.nodes}-{pool.spares}")
def test_the_finite_form_tends_to_erlangs(pool):
    finite = finite_h(pool, 1e5)
    assert finite / (finite + 1e5) == pytest.approx(pool.stalled, rel=2e-5)


def test_a_takeover_is_the_pause():
    # 40 s, and a shard of 780 GB / 128 at 100 GB/s.
    assert takeover_s() == pytest.approx(40 + 780 / 128 / 100, rel=1e-9)
