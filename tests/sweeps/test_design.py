"""Points of a sweep: grids, values that go together, Latin hypercubes, and the block in a file."""

import numpy as np
import pytest

from cprsim.errors import ScenarioError, UsageError
from cprsim.sweeps.design import Design, SweepBlock, flat, grid, latin, zipped


def real(_key: str) -> bool:
    return False


def test_a_grid_has_every_combination_the_last_key_fastest():
    design = Design(tuple(grid({"a.x": "1,2", "b.y": [3, 4, 5]}, real)))

    assert len(design) == 6
    assert design.keys == ("a.x", "b.y")
    assert list(design) == [{"a.x": x, "b.y": y} for x in (1, 2) for y in (3, 4, 5)]


def test_zipped_values_go_together_and_with_every_value_of_the_grid():
    axes = [*grid({"a.x": "1,2"}, real), zipped({"b.y": "3,4", "c.z": ["5 h", "6 h"]}, real)]

    assert list(Design(tuple(axes))) == [
        {"a.x": 1, "b.y": 3, "c.z": "5 h"},
        {"a.x": 1, "b.y": 4, "c.z": "6 h"},
        {"a.x": 2, "b.y": 3, "c.z": "5 h"},
        {"a.x": 2, "b.y": 4, "c.z": "6 h"},
    ]


def test_a_latin_hypercube_has_one_point_in_every_row_and_column():
    count = 40
    axis = latin({"a.x": "lin(0, 1)", "b.y": "log(1, 1000)"}, count, 3, real)
    xs = np.array([step["a.x"] for step in axis])
    ys = np.log(np.array([step["b.y"] for step in axis])) / np.log(1000)

    # That is what makes it one: each of 40 slices of every axis holds exactly one point.
    for shares in (xs, ys):
        assert sorted((shares * count).astype(int)) == list(range(count))
    assert latin({"a.x": "lin(0, 1)"}, 5, 3, real) == latin({"a.x": "lin(0, 1)"}, 5, 3, real)
    assert latin({"a.x": "lin(0, 1)"}, 5, 3, real) != latin({"a.x": "lin(0, 1)"}, 5, 4, real)


MANY = "points are too many; a sweep has at most 1,000,000"


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: grid({"a.x": []}, real), "--vary a.x: has no values"),
        (
            lambda: grid({"a.x": 5}, real),
            '--vary a.x: 5 is no list of values; write e.g. ["14 h", "28 h"]',
        ),
        (
            lambda: zipped({"a.x": "1,2", "b.y": "3"}, real),
            "sweep.zip: as many values for every key: a.x has 2, b.y has 1",
        ),
        (
            lambda: Design([*grid({"a.x": "1"}, real), zipped({"a.x": "2"}, real)]),
            "a.x: is varied twice; give all its values at once",
        ),
        # Whatever made so many first would have no memory left.
        (
            lambda: latin({"a.x": "lin(0, 1)"}, 10**12, 0, real),
            f"sweep.latin.points: 1,000,000,000,000 {MANY}",
        ),
        (
            lambda: grid({f"a.{key}": "lin(0, 1, 1001)" for key in range(99)}, real),
            f"1,002,001 {MANY}",
        ),
        (lambda: grid({"a.x": range(10**12)}, real), f"--vary a.x: 1,000,000,000,000 {MANY}"),
        (
            lambda: Design([[{f"k{i}": 1}] * 10**6 for i in range(4)]),
            f"1,000,000,000,000,000,000,000,000 {MANY}",
        ),
    ],
)  # fmt: skip
def test_points_that_make_no_sense_or_are_too_many_are_refused(make, fault):
    with pytest.raises(UsageError) as error:
        make()

    assert str(error.value) == fault


# The block of a file


def test_a_block_makes_a_design_of_all_its_parts():
    block = SweepBlock.from_table(
        {
            "grid": {"failures": {"mean": ["1 h", "2 h"]}, "costs.save": "lin(1 s,2 s,2)"},
            "zip": {"a": {"x": [1, 2]}, "b.y": "3,4"},
            "latin": {"points": 3, "c": {"z": "lin(0, 1)"}},
        }
    )
    design = block.design({}, real)

    assert design.keys == ("failures.mean", "costs.save", "a.x", "b.y", "c.z")
    assert len(design) == 2 * 2 * 2 * 3


def test_the_command_line_wins_over_the_grid_of_the_file():
    block = SweepBlock.from_table({"grid": {"a.x": [1, 2], "b.y": [3]}})

    assert list(block.design({"a.x": "7"}, real)) == [{"b.y": 3, "a.x": 7}]


def test_a_table_inside_a_list_is_a_value():
    tables = {"costs": {"reschedule": [{"distribution": "exponential", "mean": "1 h"}]}}

    assert flat(tables) == {
        "costs.reschedule": [{"distribution": "exponential", "mean": "1 h"}],
    }


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        (7, "sweep: 7 is not a table; write [sweep]"),
        ({"gird": {}}, "sweep.gird: unknown key; did you mean 'grid'?"),
        ({"replications": 0}, "sweep.replications: 0 is out of range: it must be >= 1"),
        (
            {"half_width": 0.02},
            'sweep.half_width: 0.02 is not a share: write a percentage from 0% to 100%, e.g. "25%"',
        ),
        (
            {"half_width": "0%"},
            "sweep.half_width: '0%' is never met; write a percentage above 0%, e.g. 2%",
        ),
        ({"latin": {"a.x": "lin(0, 1)"}}, "sweep.latin.points: is missing"),
        (
            {"latin": {"points": 3}},
            'sweep.latin: has no range; write e.g. failures.mean = "log(1 h, 9 h)"',
        ),
    ],
)
def test_what_is_wrong_with_a_block_is_told(table, fault):
    with pytest.raises(ScenarioError) as error:
        SweepBlock.from_table(table).design({}, real)

    assert str(error.value) == fault
