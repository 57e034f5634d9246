"""The transfer by itself."""

import math

import pytest

from cprsim.job.transfer import Transfer, uncontended_rate, uncontended_s


@pytest.mark.parametrize(
    ("transfer", "rate", "seconds"),
    [
        (Transfer(12.0, cap=1.0), 1.0, 12.0),  # measured
        (Transfer(100.0, uses=(("a", 1.0),)), 10.0, 10.0),  # the card is the limit
        (Transfer(100.0, uses=(("a", 1.0), ("b", 8.0))), 2.5, 40.0),  # 8 servers: the store is
        (Transfer(100.0, cap=2.0, uses=(("a", 1.0), ("b", 8.0))), 2.0, 50.0),
        (Transfer(100.0, cap=4.0, uses=(("a", 0.0),)), 4.0, 25.0),
        (Transfer(0.0, cap=0.0), 0.0, 0.0),
        (Transfer(1.0, cap=0.0), 0.0, math.inf),
        (Transfer(0.0), math.inf, 0.0),
    ],
)
def test_uncontended(transfer: Transfer, rate: float, seconds: float):
    capacities = {"a": 10.0, "b": 20.0}

    assert uncontended_rate(transfer, capacities) == rate
    assert uncontended_s(transfer, capacities) == seconds
