"""Updates lost of a loop whose rows count their own: what comes back says what was lost."""

import pytest

from cprsim.trainer import HooksWarning
from cprsim.trainer.hooks.snapshot import Image
from tests.trainer.counting import STEPS, counted, without_hooks

POLICIES = ["cpr-mfu", "cpr-ssu", "cpr-scar"]


def uses(it):
    return sum(int(each.sum()) for each in it.uses)


@pytest.fixture(scope="module")
def all_uses():
    """After each step."""
    return [sum(int(each.sum()) for each in state[2:4]) for state in without_hooks(STEPS)]


def begun(folder, policy):
    it = counted(folder, policy=policy)
    it.hooks.restore()
    return it


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_that_return_lose_what_their_tracker_left_out(policy, all_uses, tmp_path):
    it, lost = begun(tmp_path, policy), 0
    for end, shards in ((5, {0}), (12, {0, 1}), (13, {0})):
        it.train(end)
        before = uses(it)
        it.hooks.on_failure(shards)
        lost += before - uses(it)
    it.train(STEPS)

    assert lost > 0
    assert it.hooks.summary.updates_lost == pytest.approx(lost / all_uses[STEPS], rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_start_from_a_checkpoint_loses_what_was_not_in_it(policy, all_uses, tmp_path):
    it = begun(tmp_path, policy)
    it.train(6)
    it.hooks.on_failure({1})
    it.train(15)
    again = begun(tmp_path, policy)
    step = again.hooks.step
    lost = all_uses[step] - uses(again)  # the first loss among them

    assert again.hooks.summary.updates_lost * STEPS * all_uses[step] / step == pytest.approx(
        lost, rel=1e-12
    )


@pytest.mark.parametrize(("policy", "lost"), [("partial", 3 + 1 + 5), ("full", 0)])
def test_where_all_rows_are_saved_it_is_steps(policy, lost, tmp_path):
    """Saves are at 8 and 16; shard 1 loses 3 steps at 3 and, once more, 1; shard 0 loses 5."""
    it = begun(tmp_path, policy)
    for end, shards in ((3, {1}), (4, {1}), (13, {0})):
        it.train(end)
        it.hooks.on_failure(shards)
    it.train(STEPS)

    assert it.hooks.summary.updates_lost == lost / (STEPS * 2)


def test_a_save_beside_training_that_fails_saves_no_updates(tmp_path, monkeypatch):
    write = Image.write
    monkeypatch.setattr(
        Image, "write", lambda self, step, kept: 1 / 0 if step else write(self, step, kept)
    )
    it = begun(tmp_path, "async")
    it.train(8)
    with pytest.warns(HooksWarning, match="step 8 failed: ZeroDivisionError"):
        it.hooks._saves.settle_with_the_lost()

    assert it.hooks._state.updates.since.tolist() == [8, 8]
