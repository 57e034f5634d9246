"""Partial experts checkpointing against a rotation that is played save by save."""

import pytest

from cprsim.formulas.experts import checkpoint_share, rotation_left_s

# Among them K that divide N, that don't, that share a factor with it, and both ends.
ROTATIONS = [(8, 1), (8, 2), (8, 3), (10, 4), (16, 16), (7, 5), (1, 1), (16, 1)]


def ages_after_saves(experts, per_save, saves):
    """Periods since each expert was last saved, after each of the saves; whole at the start."""
    ages, following = [0] * experts, 0
    for _ in range(saves):
        ages = [age + 1 for age in ages]
        for _ in range(per_save):
            ages[following] = 0
            following = (following + 1) % experts
        yield ages


@pytest.mark.parametrize(("experts", "per_save"), ROTATIONS)
def test_rotation_played(experts, per_save):
    played = [30.0 * sum(ages) / experts for ages in ages_after_saves(experts, per_save, 40)]
    assert rotation_left_s(experts, per_save, 30.0, 40) == pytest.approx(played)
    # Without a number of saves: just as many as differ, and then the same for ever.
    shortest = rotation_left_s(experts, per_save, 30.0)
    assert shortest == pytest.approx(played[: len(shortest)])
    assert played[len(shortest) :] == pytest.approx([shortest[-1]] * (40 - len(shortest)))
    assert len(shortest) == 1 or shortest[-2] < shortest[-1]


def test_rotation_by_hand():
    # Two of four at a time: after the first save half of them are one period old, and so on.
    assert rotation_left_s(4, 2, 10.0, 3) == [5.0, 5.0, 5.0]
    # One of three: (0 + 1 + 1)/3, then (0 + 1 + 2)/3
    assert rotation_left_s(3, 1, 30.0) == [20.0, 30.0]
    assert rotation_left_s(8, 8, 10.0) == [0.0]


def test_checkpoint_share():
    # Equation 6 with the printed shares of GPT-350M-16E; not the 42.3 % that the paper measured
    assert checkpoint_share(0.86, 16, 1) == pytest.approx(0.14 + 0.86 / 16)
    assert checkpoint_share(0.86, 16, 1) == pytest.approx(0.194, abs=5e-4)
    assert checkpoint_share(0.86, 16, 16) == pytest.approx(1.0)
    assert checkpoint_share(0.0, 16, 1) == 1.0
    assert checkpoint_share(1.0, 16, 4) == 0.25
