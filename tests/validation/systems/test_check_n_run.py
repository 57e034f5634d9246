"""Check-N-Run's published figures, by simulation; no tolerance is published or was asked for."""

from itertools import pairwise
from pathlib import Path

import pytest

from tools.validation.systems.check_n_run import bandwidth, kept, rows

ROWS = {row.quantity: row for row in rows()}
PAGE = Path(__file__).parents[3] / "docs/systems/check-n-run.md"


@pytest.mark.parametrize("quantity", [name for name in ROWS if name.startswith("less ")])
def test_factors_come_within_a_sixth(quantity: str) -> None:
    row = ROWS[quantity]
    assert row.computed == pytest.approx(row.published, rel=1 / 6)


@pytest.mark.parametrize("quantity", [name for name in ROWS if name.startswith("less ")])
def test_the_page_says_what_is_computed(quantity: str) -> None:
    row = ROWS[quantity]
    distance = 100 * (row.computed / row.published - 1)
    figures = f"| {row.published:g} | {row.computed:.1f} | {distance:+.0f} % |"
    assert figures in PAGE.read_text(encoding="utf-8")


def test_stall_is_below_what_is_recalled() -> None:
    row = ROWS["stalled, at most"]
    # 20 saves in 21 intervals: the job ends when the last would be due.
    assert row.computed == pytest.approx(100 * 7 / 1800 * 20 / 21)
    assert row.computed < row.published


def test_the_calibrated_share_is_met_and_the_next_one_predicted() -> None:
    assert ROWS["modified in 30 min"].computed == pytest.approx(25.0, abs=1e-5)
    assert ROWS["modified in 10 intervals, at least"].computed > 50


def test_restores_and_writes_of_the_variants_have_the_shape_that_incrcp_reports() -> None:
    chain = [kept(8, saves, "consecutive") for saves in (2, 6, 10)]
    shot = [kept(8, saves, "one-shot") for saves in (2, 6, 10)]
    one, other = (after - before for before, after in pairwise(chain))
    assert one == pytest.approx(other)  # as much more for each save
    assert all(
        kept_shot < kept_chain for kept_shot, kept_chain in zip(shot[1:], chain[1:], strict=True)
    )
    assert bandwidth(8, "consecutive") > bandwidth(8, "intermittent") > bandwidth(8, "one-shot")
