"""A loop with hooks whose state is lost: what comes back is known bit for bit."""

import errno
import hashlib
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from cprsim.errors import RunError
from cprsim.trainer import HooksWarning, TrainerHooks
from cprsim.trainer.hooks.saves import Saves
from cprsim.trainer.hooks.trackers import RowTrackers
from tests.trainer.loops import POLICIES, STEPS, Adapter, Loop, batch, hooked, scenario, train

PRIORITY = ["cpr-mfu", "cpr-ssu", "cpr-scar"]


@pytest.fixture(scope="module")
def clean():
    """The digest of the loop without hooks."""
    loop = Loop()

    class NoHooks:
        def after_step(self, batch):
            pass

    train(loop, NoHooks(), 0)
    return loop.digest()


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
def test_without_failures_hooks_change_nothing(policy, clean, tmp_path):
    loop = Loop()
    hooks = hooked(loop, policy, tmp_path)
    train(loop, hooks, hooks.restore())

    assert loop.digest() == clean
    summary = hooks.summary
    # Every 10 s of 40, and none at the end; portions of a quarter come every 2.5 s: the first step
    # that is not before that is the 3rd from the last save, so 13 of them until step 39.
    assert summary.saves == (13 if policy in PRIORITY else 3)
    assert (summary.step, summary.pls, summary.failures) == (STEPS, 0, 0)
    assert summary.seconds["save"] > 0
    assert summary.seconds["load"] == summary.seconds["lost"] == 0


@pytest.mark.parametrize(("lost_at", "back_at"), [(3, 0), (10, 10), (27, 20), (STEPS, 30)])
def test_full_recovery_of_a_new_process_ends_as_without_failures(clean, tmp_path, lost_at, back_at):
    loop = Loop()
    hooks = hooked(loop, "full", tmp_path)
    train(loop, hooks, hooks.restore(), lost_at)
    other = Loop(seed=1)
    again = hooked(other, "full", tmp_path)

    assert again.restore() == back_at
    train(other, again, back_at)
    assert other.digest() == clean


def test_full_recovery_in_the_same_process_ends_as_without_failures(clean, tmp_path):
    loop = Loop()
    hooks = hooked(loop, "full", tmp_path)
    train(loop, hooks, hooks.restore(), 27)
    lose(loop, 0)
    step = hooks.on_failure({0})
    train(loop, hooks, step)

    assert (step, loop.digest()) == (20, clean)
    summary = hooks.summary
    assert (summary.failures, summary.pls) == (1, 0)
    assert min(summary.seconds[cause] for cause in ("lost", "load", "reschedule")) > 0


@pytest.mark.parametrize("policy", ["partial", "cpr-vanilla"])
def test_partial_recovery_touches_the_lost_shard_alone(policy, tmp_path):
    loop = Loop()
    hooks = hooked(loop, policy, tmp_path)
    train(loop, hooks, hooks.restore(), 20)
    saved = rows_of(loop, 1)
    train(loop, hooks, 20, 27)
    kept, mlp = rows_of(loop, 0), [each.clone() for each in loop.mlp.parameters()]
    adam = [e.clone() for s in loop.of_mlp.state.values() for e in s.values()]
    lose(loop, 1)

    assert hooks.on_failure({1}) == 27
    assert same(rows_of(loop, 1), saved)
    assert same(rows_of(loop, 0), kept)
    assert same(loop.mlp.parameters(), mlp)
    assert same([e for s in loop.of_mlp.state.values() for e in s.values()], adam)
    assert hooks.summary.pls == 7 / (STEPS * 2)  # (E4): 7 steps of one of two shards
    train(loop, hooks, 27)
    assert hooks.summary.step == STEPS


@pytest.mark.parametrize("policy", PRIORITY)
def test_a_lost_shard_gets_the_rows_that_were_chosen_when_they_were_saved(
    policy, tmp_path, monkeypatch
):
    loop = Loop()
    image = rows_of(loop, 1)
    select = RowTrackers.select

    def noted(self):
        chosen = select(self)
        # The second half of each table is in shard 1.
        for place, (first, end) in enumerate(((150, 300), (350, 400), (410, 420))):
            ids = chosen[(chosen >= first) & (chosen < end)] - first
            for at in (2 * place, 2 * place + 1):
                image[at][ids] = rows_of(loop, 1)[at][ids]
        return chosen

    monkeypatch.setattr(RowTrackers, "select", noted)
    hooks = hooked(loop, policy, tmp_path)
    train(loop, hooks, hooks.restore(), 29)
    kept = rows_of(loop, 0)
    for shard in (1, 1):  # the second finds what the first has brought back
        lose(loop, shard)
        assert hooks.on_failure({shard}) == 29
        assert same(rows_of(loop, 1), image)
        assert same(rows_of(loop, 0), kept)
    assert not same(image, rows_of(Loop(), 1))
    # Saves at 3, 6, ..., 27; four quarters are a whole: the last at 24, 5 steps before, twice.
    assert hooks.summary.pls == 2 * 5 / (STEPS * 2)


def test_what_a_tracker_knew_of_a_lost_shard_is_lost_with_it(tmp_path, monkeypatch):
    loop = Loop()
    hooks = hooked(loop, "cpr-mfu", tmp_path)
    train(loop, hooks, hooks.restore(), 2)
    lose(loop, 1)
    hooks.on_failure({1})
    chosen = hooks._state._trackers.select()

    # Of shard 0 a quarter of each tracked half and all of the small table; of shard 1 nothing is
    # known to have been used, but for what is saved whole each time.
    def of(first, end):
        return ((chosen >= first) & (chosen < end)).sum()

    assert of(400, 410) == of(410, 420) == 10
    assert of(0, 150) + of(300, 350) == round(0.25 * 150) + round(0.25 * 50)
    assert of(150, 300) == of(350, 400) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_loop_comes_to_its_end_under_every_policy_whatever_is_lost(policy, tmp_path):
    loop = Loop()
    hooks = hooked(loop, policy, tmp_path, scenario=scenario(job={"final_save": True}))
    step = hooks.restore()
    for lost_at, lost, dense in ((5, {0}, False), (18, {0, 1}, True), (33, {1}, False)):
        train(loop, hooks, step, lost_at)
        for shard in lost:
            lose(loop, shard)
        if dense:
            for each in loop.mlp.parameters():
                each.detach().fill_(float("nan"))
        step = hooks.on_failure(lost, dense)
        assert step <= lost_at
    train(loop, hooks, step)

    summary = hooks.summary
    assert all(torch.isfinite(each).all() for each in loop.state())
    assert (summary.step, summary.failures) == (STEPS, 3)
    assert (summary.pls > 0) == (policy != "full")
    ended_s = hooks._job.watch.spans[-1].end_s
    assert sum(summary.seconds.values()) == pytest.approx(ended_s, rel=1e-9)
    # The last save, at the end, is what another process would go on from.
    assert hooked(Loop(), policy, tmp_path).restore() == STEPS


@pytest.mark.slow
def test_a_process_that_was_killed_goes_on_from_its_folder(clean, tmp_path):
    command = [sys.executable, "-m", "tests.trainer.loops", "full", str(tmp_path)]
    stays = [*command, "23"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(stays, text=True, **pipes) as killed:
        for line in killed.stdout:
            if line == "step 23\n":
                killed.kill()
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert killed.returncode == -signal.SIGKILL
    assert done.stdout.splitlines()[0] == "from 20"
    assert done.stdout.splitlines()[-1] == f"digest {clean}"


class Scheduled(Loop):
    """Its learning rates fall at steps 8 and 20, those of rows and those of the MLP."""

    def __init__(self, seed=0):
        super().__init__(seed)
        of = torch.optim.lr_scheduler.MultiStepLR
        self.schedules = [of(each, [8, 20]) for each in (self.of_rows, self.of_mlp)]

    def step(self, batch):
        super().step(batch)
        for each in self.schedules:
            each.step()

    def state_dict(self):
        groups = self.of_rows.param_groups
        return {"groups": [{k: v for k, v in g.items() if k != "params"} for g in groups]}

    def load_state_dict(self, state):
        for mine, saved in zip(self.of_rows.param_groups, state["groups"], strict=True):
            mine.update(saved)


class WithSchedules(Adapter):
    """As docs/plug-into-your-trainer.md has it."""

    def dense(self):
        of_rows, of_mlp = self.loop.schedules
        schedules = {"of rows": of_rows, "of mlp": of_mlp}
        return {**super().dense(), "groups of rows": self.loop, **schedules}


def test_learning_rates_go_on_where_their_schedule_was(tmp_path):
    loops = Scheduled(), Scheduled(), Scheduled(seed=1)
    folders = tmp_path / "quiet", *[tmp_path / "killed"] * 2
    for loop, folder, end in zip(loops, folders, (STEPS, 15, STEPS), strict=True):
        hooks = TrainerHooks(scenario(), "full", WithSchedules(loop), folder, STEPS)
        train(loop, hooks, hooks.restore(), end)
    quiet, _, resumed = loops

    assert resumed.digest() == quiet.digest()
    assert resumed.of_rows.param_groups[0]["lr"] == pytest.approx(0.05 / 100)


LEFT_OUT = r"npys: is not what was written; it is left out, and step {} returned to$"


def spoil(folder):
    """Change a byte of the newest file of a member."""
    newest = max(folder.glob("*.npys"))
    content = bytearray(newest.read_bytes())
    content[-5] ^= 1
    newest.write_bytes(content)


@pytest.mark.parametrize("member", ["rows-0-0", "dense-0"])
def test_a_spoilt_checkpoint_takes_all_back_to_the_one_before(member, clean, tmp_path):
    loop = Loop()
    hooks = hooked(loop, "full", tmp_path)
    train(loop, hooks, hooks.restore(), 27)
    spoil(tmp_path / member)
    other = Loop(seed=1)
    again = hooked(other, "full", tmp_path)

    with pytest.warns(HooksWarning, match=LEFT_OUT.format(10)):
        assert again.restore() == 10
    train(other, again, 10)
    assert other.digest() == clean


def test_what_is_spoilt_and_older_is_nobodys_concern(tmp_path):
    hooks = hooked(Loop(), "full", tmp_path)
    train(Loop(), hooks, hooks.restore(), 35)
    older = min((tmp_path / "dense-0").glob("*.json"))
    older.write_bytes(b"")

    assert hooked(Loop(), "full", tmp_path).restore() == 30


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


def test_a_new_process_saves_when_the_old_one_would_have(tmp_path):
    """Saves are a period of training apart, counted from the checkpoint that is returned to."""
    loop = Loop()
    hooks = hooked(loop, "partial", tmp_path)
    train(loop, hooks, hooks.restore(), 27)
    again = hooked(Loop(), "partial", tmp_path)
    train(Loop(), again, again.restore(), 35)

    assert again.summary.saves == 3
    assert sorted({*again._state.stores.steps}) == [20, 30]


def test_mfu_counts_the_rows_that_batches_look_up(tmp_path):
    """Counted by brute force: no row that is left out was used more often than one that is in."""
    loop = Loop()
    hooks = hooked(loop, "cpr-mfu", tmp_path)
    train(loop, hooks, hooks.restore(), 2)
    chosen = hooks._state._trackers.select()
    counts = np.zeros((3, 300), int)
    for step in range(2):
        for table, ids in Adapter(loop).lookups(batch(step)).items():
            np.add.at(counts[table], ids.reshape(-1).numpy(), 1)
    for first, uses in ((0, counts[0, :150]), (300, counts[1, :50]), (150, counts[0, 150:])):
        taken = np.isin(np.arange(len(uses)), chosen - first)
        assert 0 < taken.sum() <= round(0.25 * len(uses))
        assert uses[taken].min() >= uses[~taken].max()
