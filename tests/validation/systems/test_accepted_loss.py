"""Monolith's sum, held by simulation within three standard errors; seeds are fixed."""

import pytest

from tools.validation.systems import accepted_loss as it


@pytest.mark.parametrize("days", [10, 100, 400])
def test_what_is_lost_does_not_depend_on_how_long_the_job_is(days: int) -> None:
    lost, failures = it.share_lost(days), it.failures_in_ten_days(days)

    assert failures.value == pytest.approx(1.0, abs=3 * failures.error)
    assert lost.value == pytest.approx(5e-5, abs=3 * lost.error)
    assert lost.error < 0.05 * lost.value


def test_a_failure_just_before_the_snapshot_loses_a_day_of_15_000_users() -> None:
    worst = it.days_lost_at_worst()

    assert worst == pytest.approx(1.0, rel=1e-12)
    assert worst * it.RATE_PER_DAY == pytest.approx(1e-4, rel=1e-12)  # "0.01 %"
    assert worst * it.USERS / it.SERVERS == pytest.approx(15_000.0, rel=1e-12)


def test_the_estimate_is_the_sum() -> None:
    found = it.first_order()

    assert found.updates_lost == pytest.approx(5e-5, rel=1e-9)
    assert found.pls == pytest.approx(5e-5, rel=1e-9)
    assert found.overhead == 0.0


@pytest.mark.parametrize(("days_to_land", "mtbf_days"), [(0.25, 2.0), (0.5, 1.0)])
def test_snapshots_that_take_long_to_land_are_often_void(
    days_to_land: float, mtbf_days: float
) -> None:
    found, estimate, exact = it.late(days_to_land, mtbf_days)

    assert found.value == pytest.approx(exact, abs=3 * found.error)
    # To first order no save is void; what that leaves out is e^(P/M) - 1 days of one shard.
    first_order = (0.5 + days_to_land) / mtbf_days / it.SERVERS
    assert estimate.updates_lost == pytest.approx(first_order, rel=1e-9)
    assert found.value > first_order + 3 * found.error
