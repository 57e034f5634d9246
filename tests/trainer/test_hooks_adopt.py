"""State that something else than the hooks has brought: they continue from it without loading."""

import multiprocessing
import warnings
from pathlib import Path

import pytest

from cprsim.errors import RunError, UsageError
from cprsim.trainer import HooksWarning
from cprsim.trainer.hooks.job_folder import JobFolder
from cprsim.trainer.store.store import CheckpointStore
from tests.trainer.faults import killed_at, no_room
from tests.trainer.loops import STEPS, Loop, begun, clean, hooked, peer


def heal(loop, step):
    """Take over the state of a peer, as torchft does."""
    other = peer(step)
    for mine, its in zip(loop.tables, other.tables, strict=True):
        mine.weight.data.copy_(its.weight.data)
        state, given = (of.of_rows.state[at.weight] for of, at in ((loop, mine), (other, its)))
        state["sum"].copy_(given["sum"])
        state["step"].copy_(given["step"])
    loop.mlp.load_state_dict(other.mlp.state_dict())
    loop.of_mlp.load_state_dict(other.of_mlp.state_dict())


@pytest.mark.parametrize("policy", ["full", "cpr-scar"])
@pytest.mark.parametrize(("done", "adopted"), [(13, 27), (27, 13), (20, 20), (27, 0)])
def test_the_accounts_of_a_job_continue_from_what_a_peer_has(policy, done, adopted, tmp_path):
    loop = begun(policy, tmp_path, done)
    heal(loop, adopted)
    loop.hooks.adopt(adopted)

    summary = loop.hooks.summary
    assert (summary.step, summary.checkpoint) == (adopted, adopted)
    assert (summary.failures, summary.pls, summary.updates_lost) == (1, 0, 0)
    assert (summary.seconds["lost"] > 0) == (adopted < done)
    assert summary.seconds["load"] > 0


def test_the_next_save_is_due_a_period_later(tmp_path):
    loop = begun("full", tmp_path, 13)
    heal(loop, 16)
    loop.hooks.adopt(16)
    saved = {}
    for step in range(16, STEPS):
        loop.train(step + 1)
        saved[loop.hooks.summary.checkpoint] = True
    assert [*saved] == [16, 26, 36]


@pytest.mark.parametrize("policy", ["full", "cpr-mfu"])
def test_a_new_process_that_a_peer_heals_counts_its_start_and_loses_nothing(policy, tmp_path):
    begun(policy, tmp_path, 13)
    new = hooked(policy, tmp_path, Loop(seed=1))
    assert new.hooks.restore() <= 13
    heal(new, 27)
    new.hooks.adopt(27)
    summary = new.hooks.summary
    assert (summary.failures, summary.pls, summary.updates_lost) == (1, 0, 0)
    new.train()
    assert new.digest() == clean()


def test_a_loss_after_it_counts_from_what_was_adopted(tmp_path):
    loop = begun("cpr-vanilla", tmp_path, 3)
    heal(loop, 27)
    loop.hooks.adopt(27)
    loop.train(30)
    assert loop.hooks.on_failure({0}) == 30
    # (E4): 3 of 40 steps, of one shard of two.
    assert loop.hooks.summary.pls == 3 / 40 / 2


def test_calls_that_make_no_sense(tmp_path):
    hooks = hooked("full", tmp_path).hooks
    with pytest.raises(UsageError, match=r"adopt\(\) before restore\(\)"):
        hooks.adopt(3)
    hooks.restore()
    for step in (-1, STEPS + 1, "3"):
        with pytest.raises(UsageError, match="give a step of the job, 0 to 40"):
            hooks.adopt(step)


@pytest.mark.parametrize(("policy", "call"), [("full", "__init__"), ("cpr-mfu", "write")])
def test_a_full_disk_ends_no_training(policy, call, tmp_path, monkeypatch):
    """There is no room for a new folder, or for what is to be in it; the next save has all rows."""
    loop = begun(policy, tmp_path, 12)
    before = loop.hooks.summary.checkpoint
    heal(loop, 17)
    real = getattr(CheckpointStore, call)

    def full(store, *given, **more):
        if call == "__init__" and Path(given[0]).exists():
            return real(store, *given, **more)
        return no_room()

    with monkeypatch.context() as patched:
        patched.setattr(CheckpointStore, call, full)
        with pytest.warns(HooksWarning, match="No space left"):
            loop.hooks.adopt(17)
    assert loop.hooks.summary.checkpoint == before > 0
    loop.train(20)
    again = hooked(policy, tmp_path, Loop(seed=1))
    assert again.hooks.restore() == 20
    assert again.digest() == loop.digest()


def test_a_claim_that_cant_be_written_ends_training(tmp_path, monkeypatch):
    loop = begun("full", tmp_path, 12)
    heal(loop, 17)
    monkeypatch.setattr(JobFolder, "write", no_room)
    with pytest.raises(RunError, match=r"its claim can't be written .*No space left"):
        loop.hooks.adopt(17)


def adopting(folder, touches):
    """A process that adopts a state of a step that it has a checkpoint of; killed meanwhile."""
    warnings.simplefilter("ignore")
    loop = begun("cpr-mfu", folder, 10)
    loop.hooks.save_now()
    heal(loop, 27)
    killed_at(touches)
    loop.hooks.adopt(10)


@pytest.mark.slow
def test_a_kill_meanwhile_leaves_one_state_or_the_other(tmp_path):
    whole, states = {peer(10).digest(), peer(27).digest()}, set()
    for touches in range(1, 40, 2):
        folder = tmp_path / str(touches)
        process = multiprocessing.get_context("fork").Process(
            target=adopting, args=(folder, touches)
        )
        process.start()
        process.join()
        loop = hooked("cpr-mfu", folder, Loop(seed=1))
        assert loop.hooks.restore() == 10
        states.add(loop.digest())
    assert states == whole
