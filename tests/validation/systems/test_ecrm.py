"""ECRec's and ECRM's published figures, by simulation, within what issue 5 asks for."""

import pytest

from tools.validation.systems.ecrm import (
    CKPT,
    ECREC,
    FIGURE_5,
    SIZES,
    overhead,
    rebuilt,
    recovery,
    rows,
)
from tools.validation.systems.row import Row

ROWS = {row.quantity: row for row in rows()}
#: Points that the others of figure 5 leave; see `test_no_save_time_meets_both_intervals`.
OFF_BY_ONE_POINT = {"overhead, 4S, Ckpt-60": 1.03, "overhead, 8S, Ckpt-60": 1.00}
#: Rows and width both doubled: not among the figures that were asked for, and farther off.
WIDE = "overhead, 2S-2D, ECRec, k = 4"


def tolerance(row: Row) -> float:
    """Points, minutes or times."""
    if row.unit == "x":
        return 0.1 * row.published
    if row.unit == "min":
        return max(0.5, 0.1 * row.published)
    return 2.0 if row.quantity.startswith("cut by ECRM") else 0.5


@pytest.mark.parametrize("quantity", sorted({*ROWS} - {*OFF_BY_ONE_POINT, WIDE}))
def test_published(quantity: str) -> None:
    row = ROWS[quantity]
    assert row.computed == pytest.approx(row.published, abs=tolerance(row))


@pytest.mark.parametrize("quantity", OFF_BY_ONE_POINT)
def test_a_save_every_hour_is_off_by_a_point(quantity: str) -> None:
    row = ROWS[quantity]
    assert row.computed - row.published == pytest.approx(OFF_BY_ONE_POINT[quantity], abs=0.006)


@pytest.mark.parametrize("model", ["4S", "8S"])
def test_no_save_time_meets_both_intervals(model: str) -> None:
    # A save that takes x % of 60 min takes 2x % of 30: |2x - b| <= e and |x - a| <= e give
    # |b - 2a| <= 3e, so that one of the two is off by 0.67 points at least, more than was asked.
    every_60, every_30, *_ = FIGURE_5[model]
    assert abs(every_30 - 2 * every_60) / 3 == pytest.approx(2 / 3)


def test_rows_twice_as_wide_are_farther_off() -> None:
    assert ROWS[WIDE].computed - ROWS[WIDE].published == pytest.approx(1.2, abs=0.006)


def test_who_wins_where() -> None:
    # Against a save every 30 min erasure coding wins from 880 GB on, every 60 min at 1760 GB only.
    wins = {
        (model, interval): overhead(size_gb, ECREC[4]) < overhead(size_gb, CKPT[interval])
        for model, size_gb in SIZES.items()
        for interval in (30, 60)
    }
    assert {case for case, won in wins.items() if won} == {("4S", 30), ("8S", 30), ("8S", 60)}


def test_a_rebuild_may_outlast_training_again_but_not_the_pause() -> None:
    # 8S, k = 4: whole after 33.7 min, later than a checkpoint of average age every 30 min has made
    # up for it (26.25); but training stands for 0.5 min, not for all of that.
    found = rebuilt(SIZES["8S"], 4)
    assert found.filled > recovery(SIZES["8S"], 30, "average") > 50 * found.resumed
