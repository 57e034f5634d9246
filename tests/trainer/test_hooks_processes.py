"""Hooks of several processes that agree by an all-reduce; threads stand in for the processes."""

import pytest

from cprsim.trainer import HooksWarning
from cprsim.trainer.hooks.process_state import ProcessState
from cprsim.trainer.hooks.snapshot import Image
from tests.trainer import faults
from tests.trainer.counting import Processes, alone, same
from tests.waiting import wait_until

STEPS = 40


def two(folder, policy):
    """Two processes with a shard each, and a save every 10 steps."""
    return Processes((1, 1), folder, steps=STEPS, policy=policy, interval="10 s")


def begun(folder, policy, end):
    job = two(folder, policy)
    assert job.restore() == [0, 0]
    job.train(end)
    return job


def no_room(patch, it):
    """The disk of a process is full."""
    write, stores = Image.write, it.hooks._state.checkpoints.stores

    def refuses(self, step, returns_to):
        if self.store in stores:
            faults.no_room()
        return write(self, step, returns_to)

    patch.setattr(Image, "write", refuses)


def survivor_ahead(folder):
    """Process 0 has a checkpoint of step 20 and has lost process 1, killed before, at step 25."""
    job = begun(folder, "partial", 19)
    with alone(job.its[0]):
        job.its[0].train(25)
    job.replace(1)
    assert job.on_failure(1) == [25, 25]
    return job


def held(job):
    return job.of_each(lambda it: it.held())


def last_steps(job):
    return job.of_each(lambda it: max(it.hooks._state.checkpoints.steps))


def summaries(job):
    return job.of_each(lambda it: it.hooks.summary)


def test_all_return_to_the_last_checkpoint_that_all_have(tmp_path):
    """One is killed after it has saved at step 20, the other before."""
    job = begun(tmp_path, "full", 10)
    saved = held(job)
    with alone(job.its[0]):
        job.its[0].train(25)
    with alone(job.its[1]):
        job.its[1].train(20 - 1)
    again = two(tmp_path, "full")

    assert again.restore() == [10, 10]
    assert all(map(same, held(again), saved))


def test_under_full_recovery_survivors_return_with_the_new_one(tmp_path):
    job = begun(tmp_path, "full", 20)
    saved = held(job)
    job.train(27)
    job.replace(1)

    assert job.on_failure(1) == [20, 20]
    assert all(map(same, held(job), saved))


@pytest.mark.parametrize("policy", ["partial", "cpr-mfu"])
def test_under_partial_recovery_the_new_one_goes_on_with_the_survivors(policy, tmp_path):
    job = begun(tmp_path, policy, 20)
    saved = held(job)[1]
    job.train(27)
    kept = held(job)[0]
    job.replace(1)

    assert job.on_failure(1) == [27, 27]
    mine, other = held(job)
    assert same(mine, kept)
    if policy == "partial":
        # Its rows are those of its checkpoint; its dense part is the survivor's.
        assert same(other, [*saved[:-1], kept[-1]])
        assert [each.pls for each in summaries(job)] == [0, 7 / (STEPS * 2)]
        told = job.do(lambda it: it.hooks.job_summary())
        assert [each.pls for each in told] == [7 / (STEPS * 2)] * 2
        assert [each.updates_lost for each in told] == [7 / (STEPS * 2)] * 2
        assert told[0].bytes_saved == sum(each.bytes_saved for each in summaries(job))
    job.train(35)
    # Both save at the same steps, so that there is a checkpoint that all have.
    last, its = last_steps(job)
    assert last == its > 27
    assert two(tmp_path, policy).restore() == [last, last]


def test_a_new_process_that_was_killed_while_it_saved_saves_with_the_others_later(tmp_path):
    """Its last checkpoint is one before that of the survivor."""
    job = survivor_ahead(tmp_path)
    assert summaries(job)[1].pls == 15 / (STEPS * 2)
    job.train(31)
    assert last_steps(job) == [30, 30]


def test_a_process_may_move_its_folder(tmp_path):
    begun(tmp_path, "full", 12)
    again = two(lambda n: tmp_path / ("0" if n == 0 else "new"), "full")

    assert again.restore() == [10, 10]


def test_a_notice_to_one_has_all_saved_and_a_full_disk_of_one_has_it_tried_again(
    tmp_path, monkeypatch
):
    """Process 0 is given notice before step 3, and process 1 has no room then."""
    job = begun(tmp_path, "full", 2)
    with monkeypatch.context() as patch:
        no_room(patch, job.its[1])
        for it in job.its:
            it.hooks._listening = True  # signals reach the main thread alone
        job.its[0].hooks._signalled = True
        with pytest.warns(HooksWarning, match="the save of step 3 failed"):
            job.train(3)
    assert job.of_each(lambda it: it.hooks.noticed) == [False, False]
    job.train(4)
    assert job.of_each(lambda it: it.hooks.noticed) == [True, True]
    assert last_steps(job) == [4, 4]
    job.train(6)  # once is enough


@pytest.mark.parametrize("policy", ["full", "cpr-mfu", "async"])
def test_a_full_disk_of_one_makes_saves_void_in_all(policy, tmp_path, monkeypatch):
    """Else the other would drop the last checkpoint that both have, for some that it has alone."""
    job = begun(tmp_path, policy, 10)
    job.do(lambda it: it.hooks.settle())

    def patiently(it):
        for step in range(10, 35):
            it.train(step + 1)
            it.hooks.settle()

    with monkeypatch.context() as patch:
        no_room(patch, job.its[1])
        with pytest.warns(HooksWarning) as warned:
            job.do(patiently)
    said = {str(each.message).split("; ")[0].split("failed: ")[1] for each in warned}
    assert said == {
        "OSError: [Errno 28] No space left on device",
        "RunError: another process has not stored its part",
    }
    mine, other = summaries(job)
    assert mine.saves_failed == other.saves_failed >= 2
    assert mine.checkpoint == other.checkpoint <= 10
    assert two(tmp_path, policy).restore() == [mine.checkpoint] * 2


def lose_in_save(job, *failures):
    """Process 0 finds process 1 lost in the save of step 10, and that it is still lost then."""
    with alone(job.its[0], broken=True):
        for act in (lambda: job.its[0].train(10), *failures):
            with pytest.raises(RuntimeError, match="closed by peer"):
                act()
    job.replace(1)


@pytest.mark.parametrize(
    ("stored", "again"), [(True, False), (True, True), (False, False), (False, True)]
)
def test_a_save_in_which_another_is_lost_counts_if_all_have_stored_it(stored, again, tmp_path):
    """Whether one more is lost while they recover, or not."""
    job = begun(tmp_path, "full", 9)
    if stored:
        with alone(job.its[1]):
            job.its[1].train(10)
    first = job.its[0]
    lose_in_save(job, *([lambda: first.hooks.on_failure({1})] if again else []))
    if stored:
        assert job.on_failure(1) == [10, 10]
    else:
        with pytest.warns(HooksWarning, match="step 10 failed: RunError: another process has not"):
            assert job.on_failure(1) == [0, 0]
    known = first.hooks.summary
    assert (known.saves, known.saves_failed) == (int(stored), int(not stored))
    job.train(25)
    assert [each.checkpoint for each in summaries(job)] == [20, 20]


def test_the_dense_part_of_a_save_that_was_never_usable_is_not_returned_to(tmp_path):
    """The one that stands in would go on from a save of which the others know nothing."""
    job = begun(tmp_path, "partial", 9)
    with alone(job.its[1]):
        job.its[1].train(10)
    for rows in (tmp_path / "1").glob("rows-*"):  # it was killed before these were stored
        max(rows.glob("*.json")).unlink()
    lose_in_save(job)
    with pytest.warns(HooksWarning, match="step 10 failed: RunError: another process has not"):
        assert job.on_failure(1) == [10, 10]
    assert [each.checkpoint for each in summaries(job)] == [10, 10]  # once more, by both
    assert summaries(job)[1].pls == pytest.approx(10 / (STEPS * 2))


def test_saving_now_beside_one_that_stands_in_for_another(tmp_path):
    """Only the survivor knows that all has been saved; they do the same all the same."""
    job = begun(tmp_path, "partial", 10)
    job.replace(1)
    assert job.on_failure(1) == [10, 10]
    assert job.do(lambda it: it.hooks.save_now()) == [True, True]


def test_void_saves_leave_what_one_that_stands_in_for_another_came_from(tmp_path, monkeypatch):
    """The survivor has a checkpoint of step 20; that of step 10 is all that both have."""
    job = survivor_ahead(tmp_path)
    with monkeypatch.context() as patch:
        no_room(patch, job.its[1])
        with pytest.warns(HooksWarning, match="the save of step 30 failed"):
            job.train(35)
    assert two(tmp_path, "partial").restore() == [10, 10]


def test_a_save_beside_training_that_one_can_not_begin_is_void_in_all(tmp_path, monkeypatch):
    job = begun(tmp_path, "async", 9)
    snapshot = ProcessState.snapshot

    def refuses(self, *arguments):
        if self is job.its[1].hooks._state:
            raise MemoryError("no room for a copy")
        return snapshot(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ProcessState, "snapshot", refuses)
        job.train(10)
    for it in job.its:
        wait_until(it.hooks._saves._under_way.snapshot.done)
    with pytest.warns(HooksWarning) as warned:
        job.train(11)
    assert {str(each.message).split(":")[1] for each in warned} == {" MemoryError", " RunError"}
    assert [each.saves_failed for each in summaries(job)] == [1, 1]
    assert two(tmp_path, "async").restore() == [0, 0]
