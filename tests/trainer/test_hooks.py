"""A loop with hooks whose state is lost: what comes back is known bit for bit."""

import errno
import hashlib
import os

import pytest
import torch

from cprsim.errors import RunError
from cprsim.trainer import HooksWarning
from cprsim.trainer.hooks.saves import Saves
from tests.trainer.loops import POLICIES, STEPS, Adapter, begun, clean, hooked, scenario


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
    return all(map(torch.equal, one, other))


@pytest.mark.parametrize("policy", POLICIES)
def test_without_failures_hooks_change_nothing(policy, tmp_path):
    loop = begun(policy, tmp_path, STEPS)

    assert loop.digest() == clean()
    summary = loop.hooks.summary
    # Every 10 s of 40, and none at the end; portions of a quarter come every 2.5 s: the first step
    # that is not before that is the 3rd from the last save, so 13 of them until step 39.
    assert summary.saves == (3 if policy in ("full", "partial", "cpr-vanilla") else 13)
    assert (summary.step, summary.pls, summary.failures) == (STEPS, 0, 0)
    assert summary.seconds["save"] > 0
    assert summary.seconds["load"] == summary.seconds["lost"] == 0


def test_seconds_add_up_and_the_last_steps_are_saved_if_asked_for(tmp_path):
    of = scenario(job={"final_save": True})
    loop = begun("partial", tmp_path, 18, scenario=of)
    loop.hooks.on_failure({0, 1}, dense=True)
    loop.train()

    summary = loop.hooks.summary
    assert (summary.step, summary.failures) == (STEPS, 1)
    ended_s = loop.hooks._job.watch.spans[-1].end_s
    assert sum(summary.seconds.values()) == pytest.approx(ended_s, rel=1e-9)
    assert hooked("partial", tmp_path).hooks.restore() == STEPS


def test_a_file_that_can_not_be_read_now_stays_and_is_told(tmp_path, monkeypatch):
    begun("full", tmp_path, 25)
    again = hooked("full", tmp_path)
    newest = max((tmp_path / "dense-0").glob("*.npys"))

    def digest(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "file_digest", digest)
        with pytest.raises(RunError) as error:
            again.hooks.restore()
    assert str(error.value) == (
        f"{tmp_path / 'dense-0'}: a checkpoint can't be read now: [Errno 5] Input/output error: "
        f"'{newest}'; try again, or remove that file to go on from the checkpoint before"
    )
    assert hooked("full", tmp_path).hooks.restore() == 20


def test_a_spoilt_checkpoint_takes_one_shard_back_further_under_partial_recovery(tmp_path):
    loop = begun("partial", tmp_path, 10)
    saved = rows_of(loop, 1)
    loop.train(27)
    newest = max((tmp_path / "rows-0-0").glob("*.npys"))
    content = bytearray(newest.read_bytes())
    content[-5] ^= 1
    newest.write_bytes(content)
    kept = rows_of(loop, 0)
    lose(loop, 1)

    with pytest.warns(HooksWarning, match="npys: is not what was written; .* step 10 returned to"):
        assert loop.hooks.on_failure({1}) == 27
    assert same(rows_of(loop, 1), saved)
    assert same(rows_of(loop, 0), kept)
    assert loop.hooks.summary.pls == 17 / (STEPS * 2)


def test_accounts_go_on_where_a_process_left_them(tmp_path):
    loop = begun("partial", tmp_path, 17)
    lose(loop, 1)
    loop.hooks.on_failure({1})
    loop.train(25)
    before = loop.hooks.summary
    again = hooked("partial", tmp_path)

    assert again.hooks.restore() == 20
    after = again.hooks.summary
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
        begun("full", tmp_path, 27)

    again = hooked("full", tmp_path)
    assert again.hooks.restore() == 20
    assert again.hooks.summary.saves == 2
