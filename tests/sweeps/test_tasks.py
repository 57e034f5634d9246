"""A point as a worker plays it: when replications are enough, and how they are stored."""

import numpy as np
import pytest

from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.tasks import Task, _enough, pack, unpack


def walls(*overheads: float) -> np.ndarray:
    """Replications of a useful time of 100 s with these overheads."""
    values = np.zeros((len(overheads), len(COLUMNS)))
    values[:, COLUMNS.index("wall")] = [100.0 * (1 + overhead) for overhead in overheads]
    return values


NOISY, CALM = walls(*[0.1, 0.3] * 5), walls(*[0.2] * 10)


@pytest.mark.parametrize(
    ("width", "blocks", "is_enough"),
    [
        # By hand: mean 0.2, sd 0.1054, t(9) = 2.262: 0.0754 is 38 % of it. With 10 equal ones more:
        # sd 0.0725, t(19) = 2.093: 0.0339, 17 %. With 20: sd 0.0587, t(29) = 2.045: 0.0219, 11 %.
        (0.37, {"full": [NOISY]}, False),
        (0.39, {"full": [NOISY]}, True),
        (0.16, {"full": [NOISY, CALM]}, False),
        (0.18, {"full": [NOISY, CALM]}, True),
        (0.10, {"full": [NOISY, CALM, CALM]}, False),
        (0.12, {"full": [NOISY, CALM, CALM]}, True),
        (0.12, {"full": [NOISY, CALM], "cpr": [CALM, CALM]}, False),
        (0.12, {"cpr": [CALM, CALM]}, True),
        (None, {"cpr": [CALM, CALM]}, False),
    ],
)
def test_a_half_width_is_that_of_every_policy(width, blocks, is_enough):
    count = 10 * len(next(iter(blocks.values())))

    def task(most):
        return Task(0, "", (*blocks,), most, width, 0)

    assert _enough(task(4000), count, blocks, 100.0) == is_enough
    assert _enough(task(count), count, blocks, 100.0)


def test_packed_replications_are_the_same_to_the_last_bit():
    values = np.random.default_rng(0).normal(size=(7, len(COLUMNS)))
    values[0, :4] = [np.inf, -0.0, 5e-324, np.pi]

    assert unpack(pack(values)).tobytes() == np.ascontiguousarray(values.T).tobytes()
