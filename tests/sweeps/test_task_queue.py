"""What is kept does not depend on the order in which tasks end."""

import itertools

import numpy as np
import pytest

from cprsim.sim.engine import COLUMNS
from cprsim.sweeps.definition import Rule
from cprsim.sweeps.points import Point
from cprsim.sweeps.task_queue import TaskQueue
from cprsim.sweeps.tasks import Block, Fault, Task, pack, unpack

POINT = Point(0, {}, key="k", useful_time_s=100.0)
BOTH = ["full", "cpr"]


class Kept:
    """Results in memory."""

    def __init__(self, finished: frozenset[str] = frozenset()) -> None:
        self._finished = finished
        self.kept: dict[Task, Block] = {}
        self.errors: dict[Task, dict[str, str]] = {}
        self.ended: dict[str, str | None] = {}
        self.counts: dict[str, int] = {}

    def finished(self) -> frozenset[str]:
        return self._finished

    def blocks(self, key):
        for task, block in sorted(self.kept.items(), key=lambda each: each[0].start):
            if task.key == key:
                yield range(task.start, task.stop), Block((), block.packed, self.errors[task])

    def add(self, task: Task, block: Block, errors: dict[str, str] | None = None) -> None:
        self.kept[task] = block
        self.errors[task] = {
            policy: (errors or block.errors)[policy]
            for policy in task.policies
            if policy not in block.packed
        }

    def finish(self, key: str, error: str | None, replications: int) -> None:
        assert key not in self.ended
        self.ended[key], self.counts[key] = error, replications


def queue(kept: Kept, rule: Rule, points=(POINT,), policies=("full",)) -> TaskQueue:
    return TaskQueue(points, lambda point: f"of {point.key}", policies, 0, rule, kept)


def walls(*overheads: float) -> Block:
    """A block of replications with these overheads."""
    values = np.zeros((len(overheads), len(COLUMNS)))
    values[:, COLUMNS.index("wall")] = [100.0 * (1 + overhead) for overhead in overheads]
    return Block((), {"full": pack(values)})


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_fault_of_the_first_block_counts_whichever_ends_first(order):
    kept = Kept()
    plan = queue(kept, Rule(30, None, 10))
    tasks = [plan.next() for _ in range(3)]
    assert plan.next() is None
    outcomes = [walls(*[0.1] * 10), Fault("of the second"), Fault("of the third")]
    for i in order:
        assert kept.ended == {}
        plan.done(tasks[i], outcomes[i])

    assert kept.ended == {"k": "of the second"}
    assert plan.progress.share == 1.0
    assert plan.progress.failed == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_policy_that_fails_does_so_alone_and_is_not_played_again(order):
    kept = Kept()
    plan = queue(kept, Rule(40, None, 10), policies=BOTH)
    tasks = [plan.next() for _ in range(3)]
    outcomes = [of_two(), of_two(cpr="in the second"), of_two(cpr="in the third")]
    for i in order:
        plan.done(tasks[i], outcomes[i])
    last = plan.next()
    plan.done(last, of_two(cpr=None))

    assert [task.given_up for task in tasks] == [()] * 3
    assert (last.start, last.given_up) == (30, ("cpr",))
    assert (kept.ended, kept.counts) == ({"k": None}, {"k": 40})
    assert [kept.errors[task].get("cpr") for task in (*tasks, last)] == [
        None, "in the second", "in the third", "in the second",
    ]  # fmt: skip
    assert plan.progress.failed == 0


def test_a_point_at_which_all_policies_fail_one_after_the_other_has_failed():
    kept = Kept()
    plan = queue(kept, Rule(1000, None, 10), policies=BOTH)
    plan.done(plan.next(), of_two(cpr="cpr fails"))
    plan.done(plan.next(), of_two(full="full fails", cpr=None))

    assert plan.next() is None
    assert kept.ended == {"k": "full fails\ncpr fails"}
    assert plan.progress.failed == 1


@pytest.mark.parametrize("half_width", [None, 0.001])
def test_who_failed_in_blocks_that_are_there_is_not_played_in_those_that_are_not(half_width):
    kept = Kept()
    plan = queue(kept, Rule(40, half_width, 10), policies=BOTH)
    for outcome in (of_two(5.0, full="full fails"), of_two(5.0, full=None)):
        plan.done(plan.next(), outcome)
    again = queue(kept, Rule(40, half_width, 10), policies=BOTH)

    assert (again.next().start, again.progress.share) == (20, 0.5)
    plan.done(plan.next(), of_two(cpr="cpr fails", full=None))
    assert kept.ended.pop("k") == "full fails\ncpr fails"
    last = queue(kept, Rule(40, half_width, 10), policies=BOTH)
    assert last.next() is None  # nothing is tried again that would fail again
    assert kept.ended == {"k": "full fails\ncpr fails"}


def test_a_sweep_that_was_stopped_ends_with_the_errors_that_it_would_have_had():
    kept = Kept()
    plan = queue(kept, Rule(30, None, 10), policies=BOTH)
    _, _, third = plan.next(), plan.next(), plan.next()
    plan.done(third, of_two(cpr="in the third"))  # and the others are lost
    again = queue(kept, Rule(30, None, 10), policies=BOTH)
    first, second = again.next(), again.next()

    assert (first.given_up, second.given_up) == ((), ())  # it may fail there for another reason
    again.done(first, of_two())
    again.done(second, of_two(cpr="in the second"))
    assert kept.errors[second] == {"cpr": "in the second"}
    assert kept.ended == {"k": None}


def test_a_fault_is_told_by_itself():
    kept = Kept()
    plan = queue(kept, Rule(20, None, 10), policies=BOTH)
    plan.done(plan.next(), of_two(cpr="cpr fails"))
    plan.done(plan.next(), Fault("out of memory"))

    assert kept.ended == {"k": "out of memory"}


def test_why_a_policy_failed_is_not_taken_from_a_worker_that_did():
    kept = Kept()
    plan = queue(kept, Rule(20, None, 10), policies=BOTH)
    first, second = plan.next(), plan.next()
    plan.done(first, Fault("out of memory"))
    plan.done(second, of_two(cpr="cpr fails"))

    assert kept.ended == {"k": "out of memory"}
    assert kept.errors[second] == {"cpr": "cpr fails"}


def test_a_half_width_is_that_of_policies_that_did_not_fail():
    kept = Kept()
    plan = queue(kept, Rule(1000, 0.5, 10), policies=BOTH)
    plan.done(plan.next(), of_two(noise=5.0))
    task = plan.next()
    plan.done(task, of_two(noise=5.0, cpr="fails"))

    assert task.start == 10  # the noise was that of cpr
    assert plan.next() is None
    assert (kept.ended, kept.counts) == ({"k": None}, {"k": 20})


def of_two(noise: float = 0.0, **errors: str | None) -> Block:
    """A block of full and cpr, which has noise; and who failed, or wasn't played (None)."""
    full, cpr = walls(*[0.2] * 10), walls(*[0.3, 0.3 + noise] * 5)
    both = {"full": full.packed["full"], "cpr": cpr.packed["full"]}
    played = {name: packed for name, packed in both.items() if name not in errors}
    return Block((), played, {name: text for name, text in errors.items() if text})


def test_after_a_fault_the_blocks_that_have_not_begun_are_left_out():
    kept = Kept()
    other = Point(1, {}, key="other", useful_time_s=100.0)
    plan = queue(kept, Rule(50, None, 10), (POINT, other))
    first, second = plan.next(), plan.next()
    plan.done(second, Fault("of the second"))

    assert plan.next().key == "other"  # blocks three to five of the first point are not wanted
    plan.done(first, walls(*[0.1] * 10))
    assert kept.ended == {"k": "of the second"}


def test_a_half_width_is_looked_at_block_by_block():
    kept = Kept()
    plan = queue(kept, Rule(40, 0.1, 10))
    noisy, calm = walls(*[0.1, 0.3] * 5), walls(*[0.2] * 10)
    # By hand: mean 0.2, sd 0.1054, t(9) = 2.262: 0.0754 is 38 % of it. With 10 equal ones more:
    # sd 0.0725, t(19) = 2.093: 0.0339, 17 %. With 20: sd 0.0587, t(29) = 2.045: 0.0219, 11 %.
    # With 30: sd 0.0506, t(39) = 2.023: 0.0162, 8 %; that's also the most there may be.
    for outcome in (noisy, calm, calm, calm):
        task = plan.next()
        assert plan.next() is None  # the next one depends on this
        plan.done(task, outcome)

    assert plan.next() is None
    assert kept.ended == {"k": None}
    early = Kept()
    plan = queue(early, Rule(4000, 0.18, 10))
    for outcome in (noisy, calm):
        plan.done(plan.next(), outcome)
    assert plan.next() is None
    assert [(task.key, task.start) for task in early.kept] == [("k", 0), ("k", 10)]
    assert (early.ended, early.counts) == ({"k": None}, {"k": 20})


def test_what_is_kept_is_not_asked_for_again():
    kept = Kept()
    kept.add(Task("k", "", ("full",), 10, 20, 0), walls(*[0.1] * 10))
    plan = queue(kept, Rule(30, None, 10))

    assert plan.progress.share == 0
    assert [plan.next().start, plan.next().start] == [0, 20]
    assert plan.progress.share == pytest.approx(1 / 3)
    done = queue(Kept(frozenset("k")), Rule(30, None, 10))
    assert done.next() is None
    assert (done.progress.points, done.progress.share) == (1, 1.0)


def test_blocks_are_made_as_they_are_asked_for():
    endless = 10**18  # a list of them would fit nowhere
    for half_width in (None, 0.1):
        plan = queue(Kept(), Rule(endless, half_width, 10))
        assert plan.next().stop == 10
        plan.next()
        assert plan.progress.of == 1


def test_a_half_width_goes_on_from_the_first_block_that_is_missing():
    kept = Kept()
    for start in (0, 20):  # the one between them was lost
        kept.add(Task("k", "", ("full",), start, start + 10, 0), walls(*[0.1, 0.3] * 5))
    plan = queue(kept, Rule(30, 0.01, 10))

    for start in (10, 20):
        task = plan.next()
        assert plan.progress.share == pytest.approx(start / 30)
        assert (task.start, plan.next()) == (start, None)
        plan.done(task, walls(*[0.1, 0.3] * 5))
    assert (kept.ended, kept.counts) == ({"k": None}, {"k": 30})


def test_points_that_can_not_be_read_are_failed_from_the_start():
    plan = queue(Kept(), Rule(30, None, 10), (Point(0, {}, error="no"), POINT))

    assert (plan.progress.points, plan.progress.of, plan.progress.failed) == (1, 2, 1)
    assert plan.next().key == "k"


def test_packed_replications_are_the_same_to_the_last_bit():
    values = np.random.default_rng(0).normal(size=(7, len(COLUMNS)))
    values[0, :4] = [np.inf, -0.0, 5e-324, np.pi]

    assert unpack(pack(values)).tobytes() == np.ascontiguousarray(values.T).tobytes()
