"""Lines that bend where they were made to, and ranges that can't be told apart."""

import math

import numpy as np
import pandas as pd
import pytest

from cprsim.trainer.studies import findings
from cprsim.trainer.studies.slope import fit_slopes, measured_ranges, seed_slopes
from tests.studies.made_up import SLOPES, run, study

POINTS = np.array([0.1, 0.25, 0.5, 0.7, 1.0, 1.5])


def bent(pls: np.ndarray) -> np.ndarray:
    """0.01 up to 0.3, 0.006 up to 0.8, 0.002 from there on: by hand."""
    return np.select(
        [pls <= 0.3, pls <= 0.8],
        [0.01 * pls, 0.003 + 0.006 * (pls - 0.3)],
        0.003 + 0.003 + 0.002 * (pls - 0.8),
    )


def test_a_line_made_of_three_is_found_to_the_last_digits() -> None:
    pls = POINTS * np.linspace(0.95, 1.05, 6)[:, np.newaxis]

    starts = measured_ranges(pls)
    slopes = seed_slopes(pls, bent(pls), starts)

    assert starts == (0.0, 0.3, 0.8)
    np.testing.assert_allclose(slopes, np.tile([0.01, 0.006, 0.002], (6, 1)), rtol=1e-9)
    found = fit_slopes(pls, bent(pls), starts)
    assert [each.name for each in found] == ["0 to 0.3", "0.3 to 0.8", "0.8 to 1.5"]


@pytest.mark.parametrize(
    ("points", "starts"),
    [
        ([0.1, 0.5, 1.0], (0.0, 0.3, 0.8)),
        ([0.1, 1.0], (0.0, 0.3)),  # none in the middle: it goes on into the last
        ([0.5, 1.0], (0.0, 0.8)),  # none below
        ([0.1, 0.5], (0.0, 0.3)),  # none above
        ([0.1, 0.2], (0.0,)),
        ([1.0, 2.0], (0.0,)),
    ],
)
def test_ranges_without_a_point_are_joined(points: list[float], starts: tuple) -> None:
    assert measured_ranges(np.array([points, points])) == starts


def test_a_seed_that_cannot_tell_ranges_apart_joins_them() -> None:
    pls = np.array([[0.1, 0.9, 0.5], [0.1, 0.75, 0.5], [0.1, 0.95, 0.5]])

    assert measured_ranges(pls) == (0.0, 0.3)


def test_a_bend_is_told_from_a_straight_line_and_from_not_knowing() -> None:
    def of(noise: float, law) -> findings.Bend:
        rng = np.random.default_rng(1)
        rows = [run(seed, "cpr-mfu", 0, 0.0, 0.0) for seed in range(10)]
        for seed in range(10):
            for number, pls in enumerate(POINTS):
                drop = float(law(pls)) + noise * rng.standard_normal()
                rows.append(run(seed, "cpr-mfu", number + 1, float(pls), drop))
        table = findings.with_drops(pd.DataFrame(rows), "it")
        return findings.bends(table)["cpr-mfu"]

    assert of(1e-5, bent).applies == "that of the range: the line bends"
    assert of(1e-5, lambda pls: 0.01 * pls).applies == (
        "the line: the ranges agree within the margin"
    )
    assert of(0.01, lambda pls: 0.01 * pls).applies == (
        "undecided: neither a bend nor a straight line is shown"
    )


def test_straight_lines_of_a_study_have_one_slope_in_each_range() -> None:
    found = findings.bends(findings.with_drops(study(), "it"))

    assert set(found) == {name for name, slope in SLOPES.items() if slope}
    for name, bend in found.items():
        for each in bend.ranges:
            assert math.isclose(each.auc_drop_per_pls, SLOPES[name], rel_tol=1e-9)
    assert findings.Bend([], None).applies == "the line: all points lie in one range"
