"""Partial experts checkpointing against a rotation that is played save by save."""

import pytest

from cprsim.formulas.experts import checkpoint_share, rotation_left_s
from tools.validation.formulas import mean_staleness_s, single_fault_plt

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


def test_staleness():
    # (N/K) I/2 for K that divides N; I/2 for full saving
    assert mean_staleness_s(16, 1, 10.0) == pytest.approx(80.0)
    assert mean_staleness_s(8, 2, 32.0) == pytest.approx(64.0)
    assert mean_staleness_s(8, 8, 32.0) == pytest.approx(16.0)
    # 2 of 3: the ages are 0, 0 and 1 period just after a save; not 3/2 halves but 5/3 of them
    assert mean_staleness_s(3, 2, 6.0) == pytest.approx(5.0)


def lost_share(experts, per_save, period, total, fault):
    """Share of its updates that the mean expert has lost at the end, fault after `fault` steps.

    Step by step: each expert learns one update a step, a save copies those whose turn it is, the
    fault brings back copies and the step of the last save.
    """
    learnt, copies, following = [0] * experts, [0] * experts, 0
    last_save = step = 0
    lost, pending = 0, True
    while step < total:
        if pending and step == fault:
            lost = sum(last_save - copy for copy in copies)
            learnt, step, pending = list(copies), last_save, False
        learnt = [updates + 1 for updates in learnt]
        step += 1
        if pending and step % period == 0:
            for _ in range(per_save):
                copies[following] = learnt[following]
                following = (following + 1) % experts
            last_save = step
    assert sum(learnt) == experts * total - lost
    return lost / (experts * total)


@pytest.mark.parametrize(
    ("experts", "per_save", "period", "total"),
    [(8, 2, 6, 48), (8, 3, 5, 43), (6, 1, 4, 14), (4, 4, 5, 30), (5, 2, 50, 30), (5, 2, 30, 30)],
)
def test_plt_of_a_fault_anywhere(experts, per_save, period, total):
    # A fault within a step finds what one at its start does, so steps stand for all instants.
    shares = [lost_share(experts, per_save, period, total, fault) for fault in range(total)]
    found = single_fault_plt(experts, per_save, float(period), float(total))
    assert found == pytest.approx(sum(shares) / total, abs=1e-12)


def test_plt_of_a_long_run():
    # The first saves no longer count: 3/2 periods of loss, whenever the fault comes.
    assert single_fault_plt(8, 2, 32.0, 3.2e6) == pytest.approx(48 / 3.2e6, rel=1e-4)


def test_checkpoint_share():
    # Equation 6 with the printed shares of GPT-350M-16E; not the 42.3 % that the paper measured
    assert checkpoint_share(0.86, 16, 1) == pytest.approx(0.14 + 0.86 / 16)
    assert checkpoint_share(0.86, 16, 1) == pytest.approx(0.194, abs=5e-4)
    assert checkpoint_share(0.86, 16, 16) == pytest.approx(1.0)
    assert checkpoint_share(0.0, 16, 1) == 1.0
    assert checkpoint_share(1.0, 16, 4) == 0.25
