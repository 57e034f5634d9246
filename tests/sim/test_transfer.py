"""The transfer by itself, and what the fabric says of mistakes."""

import math
from typing import Any

import pytest

from cprsim.job.transfer import Transfer, uncontended_rate, uncontended_s
from tests.sim.fluid import Fabric
from tests.sim.test_fabric import along


def test_an_unknown_link_is_named_with_those_known():
    transfer = along("sevrer.out")
    fabric = Fabric({"store.write": 1.0, "server.out": 1.0})

    with pytest.raises(
        ValueError, match=r"^unknown link 'sevrer\.out'; known: server\.out, store\.write$"
    ):
        fabric.open(transfer, 0.0)
    with pytest.raises(ValueError, match=r"^unknown link 'sevrer\.out'; known: none$"):
        uncontended_s(transfer, {})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"volume": -1.0, "cap": 1.0}, "volume must be finite and >= 0, but got -1.0"),
        ({"volume": math.inf, "cap": 1.0}, "volume must be finite and >= 0, but got inf"),
        ({"volume": 1.0, "cap": math.nan}, "cap must be >= 0, but got nan"),
        ({"volume": 1.0, "cap": 1.0, "weight": 0.0}, "weight must be finite and > 0, but got 0.0"),
        ({"volume": 1.0, "cap": 1.0, "unit": 0.0}, "unit must be finite and > 0, but got 0.0"),
        ({"volume": 1.0, "uses": (("a", -2.0),)}, "use of a must be finite and >= 0, but got -2.0"),
        (
            {"volume": 1.0, "uses": (("a", 1.0), ("a", 2.0))},
            "uses must name each link once, but got (('a', 1.0), ('a', 2.0)); add them up",
        ),
        (
            {"volume": 3.0},
            "a transfer of volume 3.0 needs a link or a cap; "
            "for a wait of 3.0 seconds give cap=1.0",
        ),
    ],
)
def test_a_transfer_says_what_is_wrong_with_it(fields: dict[str, Any], message: str):
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the whole text is compared below)
        Transfer(**fields)

    assert str(error.value) == message


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
