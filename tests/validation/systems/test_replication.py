"""Copies cost the traffic that they are said to, and lose nothing."""

import pytest

from tools.validation.systems import replication as it


@pytest.mark.parametrize(
    ("copies", "aggregation", "traffic"),
    [(1, 1, 0.0), (2, 1, 1.0), (3, 1, 2.0), (3, 4, 0.5), (4, 8, 0.375)],
)
def test_k_more_copies_pass_k_times_the_updates_on_or_k_by_n(
    copies: int, aggregation: int, traffic: float
) -> None:
    assert it.traffic(copies, aggregation) == pytest.approx(traffic, rel=1e-12, abs=1e-12)


def test_a_failure_costs_a_second_and_no_update() -> None:
    assert it.recovery_s() == pytest.approx(1.0, rel=1e-9)
    assert it.updates_lost() == 0.0
