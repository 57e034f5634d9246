"""Prices as people write them: units written out by hand, and parsing as format's inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.basics.units import MOST
from cprsim.job.price import (
    PER_SIZE,
    PER_SIZE_AND_TIME,
    PER_TIME,
    Price,
    PricedUnits,
    format_price,
    parse_price,
)
from cprsim.job.prices import Prices


@pytest.mark.parametrize(
    ("text", "units", "amount"),
    [
        ("2.5 USD/h", PER_TIME, 2.5 / 3600),
        ("60 USD/d", PER_TIME, 60 / 86_400),
        ("730 EUR/month", PER_TIME, 1 / 3600),
        ("0.03CHF/min", PER_TIME, 0.0005),
        ("0.01 USD/GB", PER_SIZE, 1e-11),
        ("1 USD/GiB", PER_SIZE, 2.0**-30),
        ("0.073 USD/GB/month", PER_SIZE_AND_TIME, 1e-13 / 3600),
        ("0.003 USD/GB/h", PER_SIZE_AND_TIME, 3e-12 / 3600),
    ],
)
def test_prices_are_for_a_second_and_a_byte(text: str, units: PricedUnits, amount: float) -> None:
    found = parse_price(text, units)
    keys = {PER_TIME.kind: "trainer", PER_SIZE.kind: "read", PER_SIZE_AND_TIME.kind: "stored"}
    assert getattr(Prices(**{keys[units.kind]: text}), keys[units.kind]) == found

    assert found.amount == pytest.approx(amount, rel=1e-12)
    assert found.currency in text


@pytest.mark.parametrize(
    ("text", "written"),
    [("2.50 usd/h", "2.5 USD/h"), ("60 USD/d", "60 USD/d"), ("1 EUR/s", "3600 EUR/h")],
)
def test_prices_are_written_as_people_write_them(text: str, written: str) -> None:
    assert format_price(parse_price(text, PER_TIME), PER_TIME) == written


@given(st.floats(0, MOST), st.sampled_from([PER_TIME, PER_SIZE, PER_SIZE_AND_TIME]))
def test_a_price_that_is_written_is_read_as_the_very_same(amount: float, of: PricedUnits) -> None:
    price = Price(amount, "USD")

    assert parse_price(format_price(price, of), of) == price
