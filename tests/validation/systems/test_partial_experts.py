"""What the rotation of experts loses, by simulation, beside closed forms and published figures."""

import pytest

from tools.validation.formulas import single_fault_plt
from tools.validation.systems.partial_experts import (
    EXPERTS,
    INTERVAL,
    ITERATIONS,
    PER_SAVE,
    mid_run_plt,
    one_fault_plt,
    size_of_one_expert,
    staleness,
)


def test_lost_tokens_of_one_fault_in_mid_run() -> None:
    assert mid_run_plt() == pytest.approx(0.0375, rel=1e-9)


def test_lost_tokens_of_one_fault_at_any_time() -> None:
    found = one_fault_plt()
    exact = single_fault_plt(EXPERTS, PER_SAVE, INTERVAL, ITERATIONS)

    assert abs(found.value - exact) < 3 * found.error
    assert found.error < 0.02 * exact


def test_an_expert_is_half_a_rotation_old() -> None:
    found = staleness()

    assert abs(found.value - EXPERTS / PER_SAVE * INTERVAL / 2) < 3 * found.error
    assert found.error < 0.02 * found.value


def test_equation_6_is_not_the_measured_size() -> None:
    assert size_of_one_expert() == pytest.approx(0.194, abs=0.0005)
