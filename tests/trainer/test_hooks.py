"""A loop with hooks whose state is lost: what comes back is known bit for bit."""

import errno
import hashlib
import os
import signal

import pytest
import torch

from cprsim.errors import RunError
from cprsim.trainer import HooksWarning
from cprsim.trainer.hooks.saves import Saves
from tests.trainer.loops import POLICIES, STEPS, Adapter, Loop, clean, hooked, scenario, train


def rows_of(loop, shard):
    """Copies of the rows of a shard and their state."""
    return [
        tensor.detach().clone()
        for part in Adapter(loop).shards()[shard]
        for tensor in (part.weights, *part.state)
    ]


def lose(loop, shard):
    for part in Adapter(loop).shards()[shard]:
        for tensor in (part.weights, *part.state):
            tensor.detach().fill_(float("nan"))


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("policy", POLICIES)
def test_without_failures_hooks_change_nothing(policy, tmp_path):
    loop = Loop()
    hooks = hooked(loop, policy, tmp_path)
    train(loop, hooks, hooks.restore())

    assert loop.digest() == clean()
    summary = hooks.summary
    # Every 10 s of 40, and none at the end; portions of a quarter come every 2.5 s: the first step
    # that is not before that is the 3rd from the last save, so 13 of them until step 39.
    assert summary.saves == (3 if policy in ("full", "partial", "cpr-vanilla") else 13)
    assert (summary.step, summary.pls, summary.failures) == (STEPS, 0, 0)
    assert summary.seconds["save"] > 0
    assert summary.seconds["load"] == summary.seconds["lost"] == 0


def test_seconds_add_up_and_the_last_steps_are_saved_if_asked_for(tmp_path):
    loop = Loop()
    hooks = hooked(loop, "partial", tmp_path, scenario=scenario(job={"final_save": True}))
    train(loop, hooks, hooks.restore(), 18)
    train(loop, hooks, hooks.on_failure({0, 1}, dense=True))

    summary = hooks.summary
    assert (summary.step, summary.failures) == (STEPS, 1)
    ended_s = hooks._job.watch.spans[-1].end_s
    assert sum(summary.seconds.values()) == pytest.approx(ended_s, rel=1e-9)
    assert hooked(Loop(), "partial", tmp_path).restore() == STEPS


@pytest.mark.slow
def test_a_process_that_was_killed_goes_on_from_its_folder(forks, tmp_path):
    started = "tests.trainer.loops", "full", tmp_path
    killed, _ = forks.ended(forks.start(*started, 23))
    code, said = forks.ended(forks.start(*started))

    assert (killed, code) == (-signal.SIGKILL, 0)
    assert said.splitlines()[0] == "from 20"
    assert said.splitlines()[-1] == f"digest {clean()}"


LEFT_OUT = r"npys: is not what was written; it is left out, and step {} returned to$"


def spoil(folder):
    """Change a byte of the newest file of a member."""
    newest = max(folder.glob("*.npys"))
    content = bytearray(newest.read_bytes())
    content[-5] ^= 1
    newest.write_bytes(content)


@pytest.mark.parametrize("member", ["rows-0-0", "dense-0"])
def test_a_spoilt_checkpoint_takes_all_back_to_the_one_before(member, tmp_path):
    loop = Loop()
    hooks = hooked(loop, "full", tmp_path)
    train(loop, hooks, hooks.restore(), 27)
    spoil(tmp_path / member)
    other = Loop(seed=1)
    again = hooked(other, "full", tmp_path)

    with pytest.warns(HooksWarning, match=LEFT_OUT.format(10)):
        assert again.restore() == 10
    train(other, again, 10)
    assert other.digest() == clean()


def test_a_file_that_can_not_be_read_now_stays_and_is_told(tmp_path, monkeypatch):
    hooks = hooked(Loop(), "full", tmp_path)
    train(Loop(), hooks, hooks.restore(), 25)
    again = hooked(Loop(), "full", tmp_path)
    newest = max((tmp_path / "dense-0").glob("*.npys"))

    def digest(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "file_digest", digest)
        with pytest.raises(RunError) as error:
            again.restore()
    assert str(error.value) == (
        f"{tmp_path / 'dense-0'}: a checkpoint can't be read now: [Errno 5] Input/output error: "
        f"'{newest}'; try again, or remove that file to go on from the checkpoint before"
    )
    assert hooked(Loop(), "full", tmp_path).restore() == 20


def test_a_spoilt_checkpoint_takes_one_shard_back_further_under_partial_recovery(tmp_path):
    loop = Loop()
    hooks = hooked(loop, "partial", tmp_path)
    train(loop, hooks, hooks.restore(), 10)
    saved = rows_of(loop, 1)
    train(loop, hooks, 10, 27)
    spoil(tmp_path / "rows-0-0")
    kept = rows_of(loop, 0)
    lose(loop, 1)

    with pytest.warns(HooksWarning, match=LEFT_OUT.format(10)):
        assert hooks.on_failure({1}) == 27
    assert same(rows_of(loop, 1), saved)
    assert same(rows_of(loop, 0), kept)
    assert hooks.summary.pls == 17 / (STEPS * 2)


def test_accounts_go_on_where_a_process_left_them(tmp_path):
    loop = Loop()
    hooks = hooked(loop, "partial", tmp_path)
    train(loop, hooks, hooks.restore(), 17)
    lose(loop, 1)
    hooks.on_failure({1})
    train(loop, hooks, 17, 25)
    before = hooks.summary
    again = hooked(Loop(), "partial", tmp_path)

    assert again.restore() == 20
    after = again.summary
    assert (after.saves, after.failures) == (2, 2)
    assert after.pls == 7 / (STEPS * 2)
    assert after.seconds["reschedule"] == before.seconds["reschedule"] > 0
    assert 0 < after.seconds["train"] < before.seconds["train"]
    assert after.bytes_loaded > before.bytes_loaded > 0


def test_a_job_of_the_first_version_goes_on(tmp_path, monkeypatch):
    """0.1.0 wrote neither portions nor how many steps were executed."""
    accounts = Saves._accounts

    def of_the_first(self, usable):
        new = ("portions", "executed")
        return {k: v for k, v in accounts(self, usable).items() if k not in new}

    with monkeypatch.context() as first:
        first.setattr(Saves, "_accounts", of_the_first)
        loop = Loop()
        hooks = hooked(loop, "full", tmp_path)
        train(loop, hooks, hooks.restore(), 27)

    again = hooked(Loop(), "full", tmp_path)
    assert again.restore() == 20
    assert again.summary.saves == 2
