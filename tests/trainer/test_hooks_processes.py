"""Hooks of several processes that agree by an all-reduce; threads stand in for the processes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch

from cprsim.trainer import HooksWarning, TablePart, TrainerHooks
from cprsim.trainer.hooks.process_state import ProcessState
from cprsim.trainer.hooks.ranks import OneProcess
from cprsim.trainer.hooks.snapshot import Image
from tests.trainer.loops import scenario
from tests.waiting import HANGS_S, wait_until

STEPS = 40


class Together:
    """What all give, once all have given."""

    def __init__(self, processes):
        self._given = {}
        self._barrier = threading.Barrier(processes, timeout=HANGS_S)

    def of(self, process, mine):
        self._given[process] = mine
        self._barrier.wait()
        found = [self._given[each] for each in sorted(self._given)]
        self._barrier.wait()
        return found


class Threads:
    """One of them, as hooks ask it."""

    def __init__(self, together, process):
        self._together, self._process = together, process

    def least(self, number):
        return min(self._together.of(self._process, number))

    def total(self, number):
        return sum(self._together.of(self._process, number))

    def copied(self, content):
        given = self._together.of(self._process, content)
        return next((each for each in given if each is not None), None)


class Rank:
    """A process with one shard: half of the rows of each table, counting their uses."""

    def __init__(self, rank, folder, together, policy):
        self.rank = rank
        self.rows = [torch.zeros(150, 8), torch.zeros(50, 8)]
        self.mlp = torch.nn.Linear(1, 1)
        self.hooks = TrainerHooks(
            scenario((300, 100), **{"async": {"system": "async", "interval": "10 s"}}),
            policy,
            self,
            folder / str(rank),
            STEPS,
            Threads(together, rank),
        )

    def shards(self):
        return {
            self.rank: [
                TablePart(n, rows, (), self.rank * len(rows)) for n, rows in enumerate(self.rows)
            ]
        }

    def dense(self):
        return {"mlp": self.mlp}

    def lookups(self, batch):
        return {n: batch[: 5 - n] + self.rank * len(rows) for n, rows in enumerate(self.rows)}

    def train(self, first, end):
        for step in range(first, end):
            batch = torch.arange(step, step + 5) % 50
            for n, rows in enumerate(self.rows):
                rows[batch[: 5 - n]] += 1
            with torch.no_grad():
                self.mlp.weight.fill_(step + 1)
            self.hooks.after_step(batch)


@pytest.fixture
def both():
    """Do the same in both processes at once."""
    with ThreadPoolExecutor(2) as pool:
        yield lambda do, ranks: list(pool.map(do, ranks))


def begun(both, folder, policy, together, end):
    ranks = [Rank(n, folder, together, policy) for n in range(2)]
    assert both(lambda rank: rank.hooks.restore(), ranks) == [0, 0]
    both(lambda rank: rank.train(0, end), ranks)
    return ranks


@contextmanager
def alone(rank, together):
    """The other is gone, which the rank learns of by no collective here."""
    hooks = rank.hooks
    hooks._ranks = hooks._saves._ranks = OneProcess()
    yield
    hooks._ranks = hooks._saves._ranks = Threads(together, rank.rank)


def no_room(patch, rank):
    """The disk of a process is full."""
    write, stores = Image.write, rank.hooks._state.checkpoints.stores

    def refuses(self, step, returns_to):
        if self.store in stores:
            raise OSError(28, "No space left on device")
        return write(self, step, returns_to)

    patch.setattr(Image, "write", refuses)


def survivor_ahead(both, folder):
    """Rank 0 has a checkpoint of step 20 and has lost rank 1, killed before, at step 25."""
    together = Together(2)
    ranks = begun(both, folder, "partial", together, 19)
    with alone(ranks[0], together):
        ranks[0].train(19, 25)
    ranks[1] = Rank(1, folder, together, "partial")
    assert both(lambda rank: rank.hooks.on_failure({1}), ranks) == [25, 25]
    return together, ranks


def state(rank):
    return [each.clone() for each in (*rank.rows, rank.mlp.weight.detach())]


def test_all_return_to_the_last_checkpoint_that_all_have(both, tmp_path):
    """One is killed after it has saved at step 20, the other before."""
    together = Together(2)
    ranks = begun(both, tmp_path, "full", together, 10)
    saved = [state(rank) for rank in ranks]
    with alone(ranks[0], together):
        ranks[0].train(10, 25)
    ranks[1].train(10, 20 - 1)
    again = [Rank(n, tmp_path, together, "full") for n in range(2)]

    assert both(lambda rank: rank.hooks.restore(), again) == [10, 10]
    for rank, expected in zip(again, saved, strict=True):
        assert all(map(torch.equal, state(rank), expected))


def test_under_full_recovery_survivors_return_with_the_new_one(both, tmp_path):
    together = Together(2)
    ranks = begun(both, tmp_path, "full", together, 20)
    saved = [state(rank) for rank in ranks]
    both(lambda rank: rank.train(20, 27), ranks)
    ranks[1] = Rank(1, tmp_path, together, "full")

    assert both(lambda rank: rank.hooks.on_failure({1}), ranks) == [20, 20]
    for rank, expected in zip(ranks, saved, strict=True):
        assert all(map(torch.equal, state(rank), expected))


@pytest.mark.parametrize("policy", ["partial", "cpr-mfu"])
def test_under_partial_recovery_the_new_one_goes_on_with_the_survivors(both, policy, tmp_path):
    together = Together(2)
    ranks = begun(both, tmp_path, policy, together, 20)
    saved = state(ranks[1])
    both(lambda rank: rank.train(20, 27), ranks)
    kept = state(ranks[0])
    ranks[1] = Rank(1, tmp_path, together, policy)

    assert both(lambda rank: rank.hooks.on_failure({1}), ranks) == [27, 27]
    assert all(map(torch.equal, state(ranks[0]), kept))
    if policy == "partial":
        # Its rows are those of its checkpoint; its dense part is the survivor's.
        assert all(map(torch.equal, state(ranks[1]), [*saved[:-1], kept[-1]]))
        assert [rank.hooks.summary.pls for rank in ranks] == [0, 7 / (STEPS * 2)]
        told = both(lambda rank: rank.hooks.job_summary(), ranks)
        assert [each.pls for each in told] == [7 / (STEPS * 2)] * 2
        assert [each.updates_lost for each in told] == [7 / (STEPS * 2)] * 2
        assert told[0].bytes_saved == sum(rank.hooks.summary.bytes_saved for rank in ranks)
    both(lambda rank: rank.train(27, 35), ranks)
    # Both save at the same steps, so that there is a checkpoint that all have.
    steps = [{*rank.hooks._state.checkpoints.steps} for rank in ranks]
    assert max(steps[0]) == max(steps[1]) > 27
    again = [Rank(n, tmp_path, together, policy) for n in range(2)]
    assert both(lambda rank: rank.hooks.restore(), again) == [max(steps[0])] * 2


def test_a_new_process_that_was_killed_while_it_saved_saves_with_the_others_later(both, tmp_path):
    """Its last checkpoint is one before that of the survivor."""
    _, ranks = survivor_ahead(both, tmp_path)
    assert ranks[1].hooks.summary.pls == 15 / (STEPS * 2)
    both(lambda rank: rank.train(25, 31), ranks)
    assert [max(rank.hooks._state.checkpoints.steps) for rank in ranks] == [30, 30]


def test_a_process_may_move_its_folder(both, tmp_path):
    together = Together(2)
    begun(both, tmp_path, "full", together, 12)
    again = [Rank(0, tmp_path, together, "full"), Rank(1, tmp_path / "new", together, "full")]

    assert both(lambda rank: rank.hooks.restore(), again) == [10, 10]


def test_a_notice_to_one_has_all_saved_and_a_full_disk_of_one_has_it_tried_again(
    both, tmp_path, monkeypatch
):
    """Rank 0 is given notice before step 3, and rank 1 has no room then."""
    together = Together(2)
    ranks = begun(both, tmp_path, "full", together, 2)
    with monkeypatch.context() as patch:
        no_room(patch, ranks[1])
        for rank in ranks:
            rank.hooks._listening = True  # signals reach the main thread alone
        ranks[0].hooks._signalled = True
        with pytest.warns(HooksWarning, match="the save of step 3 failed"):
            both(lambda rank: rank.train(2, 3), ranks)
    assert [rank.hooks.noticed for rank in ranks] == [False, False]
    both(lambda rank: rank.train(3, 4), ranks)
    assert [rank.hooks.noticed for rank in ranks] == [True, True]
    assert [max(rank.hooks._state.checkpoints.steps) for rank in ranks] == [4, 4]
    both(lambda rank: rank.train(4, 6), ranks)  # once is enough


@pytest.mark.parametrize("policy", ["full", "cpr-mfu", "async"])
def test_a_full_disk_of_one_makes_saves_void_in_all(both, policy, tmp_path, monkeypatch):
    """Else the other would drop the last checkpoint that both have, for some that it has alone."""
    together = Together(2)
    ranks = begun(both, tmp_path, policy, together, 10)
    both(lambda rank: rank.hooks._saves.settle(), ranks)

    def patiently(rank):
        for step in range(10, 35):
            rank.train(step, step + 1)
            rank.hooks._saves.settle()

    with monkeypatch.context() as patch:
        no_room(patch, ranks[1])
        with pytest.warns(HooksWarning) as warned:
            both(patiently, ranks)
    said = {str(each.message).split("; ")[0].split("failed: ")[1] for each in warned}
    assert said == {
        "OSError: [Errno 28] No space left on device",
        "RunError: another process has not stored its part",
    }
    mine, other = (rank.hooks.summary for rank in ranks)
    assert mine.saves_failed == other.saves_failed >= 2
    assert mine.checkpoint == other.checkpoint <= 10
    again = [Rank(n, tmp_path, together, policy) for n in range(2)]
    assert both(lambda rank: rank.hooks.restore(), again) == [mine.checkpoint] * 2


class Broken(OneProcess):
    """The other is lost, as a collective finds."""

    def least(self, number):
        raise RuntimeError("connection closed by peer")


@pytest.mark.parametrize(
    ("stored", "again"), [(True, False), (True, True), (False, False), (False, True)]
)
def test_a_save_in_which_another_is_lost_counts_if_all_have_stored_it(
    both, stored, again, tmp_path
):
    """Whether one more is lost while they recover, or not."""
    together = Together(2)
    ranks = begun(both, tmp_path, "full", together, 9)
    if stored:
        with alone(ranks[1], together):
            ranks[1].train(9, 10)
    with alone(ranks[0], together):
        ranks[0].hooks._saves._ranks = Broken()
        with pytest.raises(RuntimeError, match="closed by peer"):
            ranks[0].train(9, 10)
        if again:
            with pytest.raises(RuntimeError, match="closed by peer"):
                ranks[0].hooks.on_failure({1})
    ranks[1] = Rank(1, tmp_path, together, "full")

    def back():
        return both(lambda rank: rank.hooks.on_failure({1}), ranks)

    if stored:
        assert back() == [10, 10]
    else:
        with pytest.warns(HooksWarning, match="step 10 failed: RunError: another process has not"):
            assert back() == [0, 0]
    known = ranks[0].hooks.summary
    assert (known.saves, known.saves_failed) == (int(stored), int(not stored))
    both(lambda rank: rank.train(10 * stored, 25), ranks)
    assert ranks[0].hooks.summary.checkpoint == ranks[1].hooks.summary.checkpoint == 20


def test_the_dense_part_of_a_save_that_was_never_usable_is_not_returned_to(both, tmp_path):
    """The one that stands in would go on from a save of which the others know nothing."""
    together = Together(2)
    ranks = begun(both, tmp_path, "partial", together, 9)
    with alone(ranks[1], together):
        ranks[1].train(9, 10)
    for rows in (tmp_path / "1").glob("rows-*"):  # it was killed before these were stored
        max(rows.glob("*.json")).unlink()
    with alone(ranks[0], together):
        ranks[0].hooks._saves._ranks = Broken()
        with pytest.raises(RuntimeError, match="closed by peer"):
            ranks[0].train(9, 10)
    ranks[1] = Rank(1, tmp_path, together, "partial")
    with pytest.warns(HooksWarning, match="step 10 failed: RunError: another process has not"):
        assert both(lambda rank: rank.hooks.on_failure({1}), ranks) == [10, 10]
    assert [rank.hooks.summary.checkpoint for rank in ranks] == [10, 10]  # once more, by both
    assert ranks[1].hooks.summary.pls == pytest.approx(10 / (STEPS * 2))


def test_saving_now_beside_one_that_stands_in_for_another(both, tmp_path):
    """Only the survivor knows that all has been saved; they do the same all the same."""
    together = Together(2)
    ranks = begun(both, tmp_path, "partial", together, 10)
    ranks[1] = Rank(1, tmp_path, together, "partial")
    did = both(lambda rank: (rank.hooks.on_failure({1}), rank.hooks.save_now()), ranks)
    assert did == [(10, True), (10, True)]


def test_void_saves_leave_what_one_that_stands_in_for_another_came_from(
    both, tmp_path, monkeypatch
):
    """The survivor has a checkpoint of step 20; that of step 10 is all that both have."""
    together, ranks = survivor_ahead(both, tmp_path)
    with monkeypatch.context() as patch:
        no_room(patch, ranks[1])
        with pytest.warns(HooksWarning, match="the save of step 30 failed"):
            both(lambda rank: rank.train(25, 35), ranks)
    again = [Rank(n, tmp_path, together, "partial") for n in range(2)]
    assert both(lambda rank: rank.hooks.restore(), again) == [10, 10]


def test_a_save_beside_training_that_one_can_not_begin_is_void_in_all(both, tmp_path, monkeypatch):
    together = Together(2)
    ranks = begun(both, tmp_path, "async", together, 9)
    snapshot = ProcessState.snapshot

    def refuses(self, *arguments):
        if self is ranks[1].hooks._state:
            raise MemoryError("no room for a copy")
        return snapshot(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ProcessState, "snapshot", refuses)
        both(lambda rank: rank.train(9, 10), ranks)
    for rank in ranks:
        wait_until(rank.hooks._saves._under_way.snapshot.done)
    with pytest.warns(HooksWarning) as warned:
        both(lambda rank: rank.train(10, 11), ranks)
    assert {str(each.message).split(":")[1] for each in warned} == {" MemoryError", " RunError"}
    assert [rank.hooks.summary.saves_failed for rank in ranks] == [1, 1]
    again = [Rank(n, tmp_path, together, "async") for n in range(2)]
    assert both(lambda rank: rank.hooks.restore(), again) == [0, 0]
