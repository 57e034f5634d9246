"""The exact two-level patterns by simulation, and how far the published figures are."""

import pytest

from tests.formulas.forms import two_level_pattern_s
from tools.validation.systems.tiered import (
    FAR_APART,
    PATTERNS,
    Pattern,
    cheap_levels_gain,
    first_order,
    optimal_overhead,
    pattern_s,
    rows,
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_two_levels(pattern: Pattern) -> None:
    found = pattern_s(pattern)

    assert two_level_pattern_s(*pattern[:-1]) == pytest.approx(pattern.exact_s, abs=1e-4)
    assert abs(found.value - pattern.exact_s) < 3 * found.error
    assert found.error < 0.01 * pattern.exact_s


def test_the_first_order_optimum_is_within_five_percent() -> None:
    found = optimal_overhead()
    useful_s = FAR_APART.segments * FAR_APART.work_s
    exact = two_level_pattern_s(*FAR_APART[:-1]) / useful_s - 1

    assert exact == pytest.approx(first_order(), rel=0.05)
    assert found.error < 0.03 * first_order()
    assert abs(found.value - first_order()) < 0.05 * first_order() + 3 * found.error


def test_cheap_levels_gain_a_third_where_failures_are_frequent() -> None:
    assert cheap_levels_gain(8.0) == pytest.approx(0.35, abs=0.05)


def test_no_reading_of_two_and_a_half_seconds_in_four_minutes_gives_two_percent() -> None:
    (llama,) = (row for row in rows() if "Llama" in row.quantity)

    assert llama.computed == pytest.approx(100 * 2.5 / 240, rel=0.002)
    assert llama.published == pytest.approx(2 * llama.computed, rel=0.02)
