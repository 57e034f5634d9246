"""Oracles: the definitions of the units, written out by hand; and parsing as format's inverse."""

import copy
import math
import pickle
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.basics import units
from cprsim.basics.units import (
    MOST,
    AsWritten,
    counted,
    format_duration,
    format_durations,
    format_exact,
    format_percent,
    is_in_range,
    parse_duration,
    parse_part,
    parse_share,
    rough_percent,
)
from cprsim.errors import UnitError
from tests.mistakes import GOOD

SECONDS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400}
BYTES = {
    "B": 1,
    "kB": 1_000,
    "MB": 1_000_000,
    "GB": 1_000_000_000,
    "TB": 1_000_000_000_000,
    "PB": 1_000_000_000_000_000,
    "KiB": 1_024,
    "MiB": 1_048_576,
    "GiB": 1_073_741_824,
    "TiB": 1_099_511_627_776,
}
BYTES_PER_SECOND = {
    **{f"{unit}/s": size for unit, size in BYTES.items()},
    "bit/s": 0.125,
    "kbit/s": 125,
    "Mbit/s": 125_000,
    "Gbit/s": 125_000_000,
    "Tbit/s": 125_000_000_000,
}
bytes_of, rate_of = (
    partial(units.parse, table=each) for each in (units.BYTES, units.BYTES_PER_SECOND)
)
KINDS = [
    pytest.param(parse_duration, units.SECONDS, SECONDS, id="duration"),
    pytest.param(bytes_of, units.BYTES, BYTES, id="size"),
    pytest.param(rate_of, units.BYTES_PER_SECOND, BYTES_PER_SECOND, id="rate"),
]
TABLES = [pytest.param(*kind.values[:2], id=kind.id) for kind in KINDS]


def error_of(parse, value) -> str:
    with pytest.raises(UnitError) as caught:
        parse(value)
    text = str(caught.value)
    assert "\n" not in text
    return text


# Text to number


@pytest.mark.parametrize(("parse", "table", "factors"), KINDS)
def test_every_unit_has_its_factor_and_there_are_no_others(parse, table, factors):
    assert {unit: parse(f"1 {unit}") for unit in table} == factors
    assert {unit: parse(f"2.5 {unit}") for unit in table} == {
        u: 2.5 * f for u, f in factors.items()
    }


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("28 h", 100_800.0),
        ("28h", 100_800.0),
        ("  28\th ", 100_800.0),
        ("+1 s", 1.0),
        (".5 s", 0.5),
        ("5. s", 5.0),
        ("1e3 s", 1000.0),
        ("1.5E-3 s", 0.0015),
        ("0 s", 0.0),
        ("-1 min", -60.0),  # a field says whether it takes what is below 0
    ],
)
def test_numbers_may_be_written_in_any_usual_way(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "share"),
    [("25%", 0.25), ("0%", 0.0), ("100%", 1.0), (" 12.5 % ", 0.125), ("1e1%", 0.1)],
)
def test_a_share_is_a_percentage(text, share):
    assert parse_share(text) == share


@pytest.mark.parametrize(
    ("parse", "text", "same"),
    [
        *((parse_duration, text, "200 d") for text in ("200 days", "200days", "4800 hours")),
        *((parse_duration, text, "90 s") for text in ("90 sec", "1.5 minutes", "90 seconds")),
        *((rate_of, text, "100 Gbit/s") for text in ("100 Gb/s", "100Gbps", "100 Gbits/s")),
        (rate_of, "8 b/s", "1 B/s"),
    ],
)
def test_units_have_their_other_usual_names(parse, text, same):
    assert parse(text) == parse(same)


@pytest.mark.parametrize(
    ("value", "part"), [("2 %", 0.02), ("2%", 0.02), (0.02, 0.02), ("x%", "x%"), ("2", "2")]
)
def test_a_part_is_a_number_or_a_percentage(value, part):
    assert parse_part(value) == part


@pytest.mark.parametrize(
    "value", ["120%", "-1%", "nan%", "%", "25", "25 percent", "", "two", 0.25, 25, True, None]
)
def test_what_is_no_share_is_an_error_with_the_right_form(value):
    assert error_of(parse_share, value) == (
        f'{value!r} is not a share: write a percentage from 0% to 100%, e.g. "25%"'
    )


# Number to text


@pytest.mark.parametrize(("parse", "table"), TABLES)
@given(value=st.floats(-MOST, MOST).filter(is_in_range))
def test_any_number_comes_back_to_the_last_bit(parse, table, value):
    text = format_exact(value, table)

    assert parse(text).hex() == value.hex()


@pytest.mark.parametrize(("parse", "table"), TABLES)
@given(data=st.data(), number=st.integers(1, 999_999))
def test_what_was_written_short_is_written_short_again(parse, table, data, number):
    unit = data.draw(st.sampled_from(sorted(table)))
    value = parse(f"{number} {unit}")
    text = format_exact(value, table)

    assert parse(text) == value
    assert len(text.split()[0]) <= 6


@pytest.mark.parametrize(
    ("value", "table", "text"),
    [
        (201_600.0, units.SECONDS, "56 h"),  # not 2.333... d
        (604_800.0, units.SECONDS, "7 d"),
        (337.2, units.SECONDS, "5.62 min"),
        (0.005, units.SECONDS, "5 ms"),
        (1 / 3, units.SECONDS, "0.3333333333333333 s"),
        (-60.0, units.SECONDS, "-1 min"),
        (2.16e9, units.BYTES, "2.16 GB"),
        (2.0**31, units.BYTES, "2 GiB"),
        (1.5e9, units.BYTES_PER_SECOND, "1.5 GB/s"),
        (3.125e9, units.BYTES_PER_SECOND, "3.125 GB/s"),
    ],
)
def test_an_exact_quantity_is_in_the_largest_unit_that_keeps_it_short(value, table, text):
    assert format_exact(value, table) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (math.inf, "never"),
        (0.0, "0 s"),
        (0.00123, "1.23 ms"),
        (0.0996, "99.6 ms"),
        (1e-12, "0 s"),
        (-1e-12, "0 s"),
        (math.nan, "?"),
        (50.048395732, "50 s"),
        (59.96, "1 min"),
        (0.5, "0.5 s"),
        (59.94, "59.9 s"),
        (60.0, "1 min"),
        (848.5, "14.1 min"),
        (3599.0, "1 h"),
        (3600.0, "1 h"),
        (8244.969, "2.29 h"),
        (161_280.0, "44.8 h"),
        (201_600.0, "56 h"),  # people say 56 h, not 2.33 d
        (345_600.0, "4 d"),
        (604_800.0, "7 d"),
        (1e9, "11574 d"),
        (-90.0, "-1.5 min"),
    ],
)
def test_a_duration_for_people_has_three_digits_and_the_unit_that_fits(seconds, text):
    assert format_duration(seconds) == text


@given(st.floats(allow_nan=False))
def test_quantities_for_people_are_short_and_never_less_than_nothing_by_rounding(value):
    texts = [format_duration(value), format_percent(value), rough_percent(value)]

    assert not any(re.match(r"-0(\.0*)?(?![.\d])(?!e)", text) for text in texts)
    if 0.0005 < abs(value) < 1e6:
        assert len(texts[0].strip("-")) <= len("1.23 min") + 1
        assert parse_duration(texts[0]) == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0377, "3.77 %"),
        (0.0, "0 %"),
        (-1e-12, "0 %"),
        (5e-6, "0.0005 %"),
        (139.746, "13,974.60 %"),
    ],
)
def test_a_share_for_people_has_two_decimals(share, text):
    assert format_percent(share) == text


def test_an_interval_names_its_unit_once():
    assert format_durations(61_920.0, 77_760.0) == "17.2 to 21.6 h"
    assert format_durations(256_320.0, 745_632.0) == "71.2 h to 8.63 d"
    assert format_durations(60.0, math.inf) == "1 min to never"
    assert (counted(1, "point"), counted(2400, "point")) == ("1 point", "2,400 points")


# --- Quantities as they were written --------------------------------------------------------------


#: Keys with a quantity of every kind, as people write them.
WRITTEN = {
    "job.useful_time": "10 days",
    "cluster.nic": "100 Gb/s",
    "storage.write": "80 Gbit/s",
    "storage.read": "2.5e3 MB/s",
    "costs.reschedule": "0.25 h",
    "failures.mean": "1680 min",
    "policies.full.interval": "90 min",
}


def of(**tables: str) -> cprsim.Scenario:
    return cprsim.load_scenario("job.toml", [f'{key}="{text}"' for key, text in tables.items()])


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(GOOD)
    return of(**WRITTEN)


@pytest.mark.parametrize("key", WRITTEN)
def test_what_was_written_is_echoed(scenario, key):
    assert f'{key.rpartition(".")[2]} = "{WRITTEN[key]}"\n' in scenario.to_toml()


def test_a_law_of_delays_too(scenario):
    law = 'costs.reschedule={distribution="exponential", mean="0.5 hours"}'
    assert 'mean = "0.5 hours"\n' in cprsim.load_scenario("job.toml", [law]).to_toml()


def test_the_same_job_in_other_units_is_the_same(scenario):
    other = of(**WRITTEN | {"failures.mean": "28 h", "cluster.nic": "12.5 GB/s"})
    assert other == scenario
    assert other.mapping() == scenario.mapping()
    assert other.mapping()["failures"]["mean"] == "28 h"
    assert other.to_toml() != scenario.to_toml()


@pytest.mark.parametrize("same", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_keep_what_was_written(scenario, same):
    assert same(scenario).to_toml() == scenario.to_toml()


def test_what_is_worked_out_of_a_quantity_is_a_plain_number():
    quantity = AsWritten(90.0, "1.5 min")
    assert (quantity, quantity.text, repr(quantity)) == (90.0, "1.5 min", "90.0")
    assert type(quantity * 2) is type(quantity / 2) is type(-quantity) is float
    assert math.sqrt(quantity) == math.sqrt(90)
