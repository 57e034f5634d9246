"""Updates lost of a loop whose rows count their own: what comes back says what was lost."""

import pytest

from cprsim.trainer import HooksWarning
from cprsim.trainer.hooks.snapshot import Image
from tests.trainer.test_hooks_changed_jobs import STEPS, Counted, hooked, job, train

POLICIES = ["cpr-mfu", "cpr-ssu", "cpr-scar"]


def uses(it):
    return sum(int(each.sum()) for each in it.uses)


@pytest.fixture(scope="module")
def all_uses():
    """After each step."""
    it, found = Counted(), [0]
    for step in range(STEPS):
        it.step(step)
        found.append(uses(it))
    return found


def begun(folder, policy):
    it = Counted()
    hooks = hooked(it, folder, scenario=job(policy=policy))
    hooks.restore()
    return it, hooks


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_that_return_lose_what_their_tracker_left_out(policy, all_uses, tmp_path):
    it, hooks = begun(tmp_path, policy)
    step, lost = 0, 0
    for end, shards in ((5, {0}), (12, {0, 1}), (13, {0})):
        train(it, hooks, step, end)
        before = uses(it)
        hooks.on_failure(shards)
        lost, step = lost + before - uses(it), end
    train(it, hooks, step, STEPS)

    assert lost > 0
    assert hooks.summary.updates_lost == pytest.approx(lost / all_uses[STEPS], rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_start_from_a_checkpoint_loses_what_was_not_in_it(policy, all_uses, tmp_path):
    it, hooks = begun(tmp_path, policy)
    train(it, hooks, 0, 6)
    hooks.on_failure({1})
    train(it, hooks, 6, 15)
    other = Counted()
    again = hooked(other, tmp_path, scenario=job(policy=policy))
    step = again.restore()
    lost = all_uses[step] - uses(other)  # the first loss among them

    assert again.summary.updates_lost * STEPS * all_uses[step] / step == pytest.approx(
        lost, rel=1e-12
    )


@pytest.mark.parametrize(("policy", "lost"), [("partial", 3 + 1 + 5), ("full", 0)])
def test_where_all_rows_are_saved_it_is_steps(policy, lost, tmp_path):
    """Saves are at 8 and 16; shard 1 loses 3 steps at 3 and, once more, 1; shard 0 loses 5."""
    it, hooks = begun(tmp_path, policy)
    step = 0
    for end, shards in ((3, {1}), (4, {1}), (13, {0})):
        train(it, hooks, step, end)
        step = hooks.on_failure(shards)
    train(it, hooks, step, STEPS)

    assert hooks.summary.updates_lost == lost / (STEPS * 2)


def test_a_save_beside_training_that_fails_saves_no_updates(tmp_path, monkeypatch):
    write = Image.write
    monkeypatch.setattr(
        Image, "write", lambda self, step, kept: 1 / 0 if step else write(self, step, kept)
    )
    it, hooks = begun(tmp_path, "async")
    train(it, hooks, 0, 8)
    with pytest.warns(HooksWarning, match="step 8 failed: ZeroDivisionError"):
        hooks._saves.settle_with_the_lost()

    assert hooks._state.updates.since.tolist() == [8, 8]
