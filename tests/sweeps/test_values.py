"""Values of `--vary`: lists, lin, log and ranges, with units."""

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.sweeps.values import expand, parse_range, told_apart


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("14 h,28 h", ["14 h", "28 h"]),
        ("1, 2.5, true, gamma", [1, 2.5, True, "gamma"]),
        ('"1 h, not two",2 h', ["1 h, not two", "2 h"]),
        ("{mean = '1 h', cv = 2},1 h", [{"mean": "1 h", "cv": 2}, "1 h"]),
        ("[1, 2],3", [[1, 2], 3]),
        # By hand: 1, 2, 3 h; 1, 10, 100 h; and 90 min lies halfway between 1 and 2 h.
        ("lin(1 h, 3 h, 3)", ["1 h", "2 h", "3 h"]),
        ("1 h:3 h:3", ["1 h", "2 h", "3 h"]),
        ("1h:3h:3, 30 d", ["1 h", "2 h", "3 h", "30 d"]),
        ('"a:b:3"', ["a:b:3"]),
        ("log(1 h,100 h,3)", ["1 h", "10 h", "100 h"]),
        ("lin(60 min, 2 h, 3)", ["1 h", "1.5 h", "2 h"]),
        ("lin(0, 1, 3)", [0.0, 0.5, 1.0]),
        ("lin(1 GB/s,8 Gbit/s,1),2 GB/s", ["1 GB/s", "2 GB/s"]),
        ("lin(10%, 30%, 3)", ["10%", "20%", "30%"]),
        ("lin(3 h, 1 h, 3),30 d", ["3 h", "2 h", "1 h", "30 d"]),
    ],
)
def test_values_are_those_that_are_written(text, values):
    assert expand(text, False, "--vary x.y") == values


def test_logarithmic_values_have_one_ratio():
    values = expand("log(0.25, 512, 12)", False, "--vary x.y")

    assert len(values) == 12
    # Each is written with 12 digits, so a ratio is good to twice half a unit of the last one.
    assert np.diff(np.log(values)) == pytest.approx(np.log(2), abs=1e-11)


def test_values_of_whole_numbers_are_rounded_and_stand_once_each():
    assert expand("log(8, 512, 7)", True, "--vary x.y") == [8, 16, 32, 64, 128, 256, 512]
    assert expand("lin(1, 3, 9)", True, "--vary x.y") == [1, 2, 3]
    assert all(type(value) is int for value in expand("lin(1, 9, 3)", True, "--vary x.y"))


def test_a_range_reaches_from_end_to_end():
    lin, log = parse_range("lin(2, 4)", "x"), parse_range("log(1 h, 100 h)", "x")

    assert [lin(share, False) for share in (0, 0.5, 1)] == [2.0, 3.0, 4.0]
    assert [lin(share, True) for share in (0, 0.3, 1)] == [2, 3, 4]
    assert [log(share, False) for share in (0, 0.5, 1)] == ["1 h", "10 h", "100 h"]


@pytest.mark.parametrize("text", ["1 h", "lin(1 h, 2 h, 3)", 7, ["lin(1, 2)"]])
def test_what_is_no_range_is_told(text):
    with pytest.raises(UsageError) as error:
        parse_range(text, "sweep.latin.x.y")

    assert str(error.value) == (
        f'sweep.latin.x.y: {text!r} is no range; write "lin(LOW, HIGH)" or "log(LOW, HIGH)"'
    )


def test_values_are_told_in_brief_where_that_tells_them_apart():
    assert told_apart(["729.864239469 s", "1 h", 3]) == ["12.2 min", "1 h", "3"]
    near = ["729.864239469 s", "729.864239470 s"]
    assert told_apart(near) == near
    assert told_apart([*near[:1], *near[:1]]) == ["12.2 min"] * 2
