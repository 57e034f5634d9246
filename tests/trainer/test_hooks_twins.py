"""Two processes that hold the same rows, as threads: averaged, and filled by one another."""

import torch

from cprsim.errors import RunError
from cprsim.trainer import TablePart, TrainerHooks
from tests.trainer.counting import Threads, Together, at_once
from tests.trainer.held import Held, hooks, refused
from tests.trainer.jobs import job_of

STEPS, ROWS, DIM = 10, 6, 2


class Twin:
    """All rows and their state, to which it adds its own number each step."""

    def __init__(self, shard, folder, together, first=0):
        self.shard, self.first, self.together = shard, first, together
        self.rows = torch.zeros(ROWS, DIM)
        self.state = torch.zeros(ROWS, dtype=torch.float64)
        self.averages = 0
        self.hooks = TrainerHooks(
            job(), "twins", self, folder / str(shard), STEPS, Threads(together, shard)
        )

    def shards(self):
        return {self.shard: [TablePart(0, self.rows, (self.state,), self.first)]}

    def dense(self):
        return {}

    def lookups(self, batch):
        raise AssertionError("nobody tracks rows")

    def average(self):
        self.averages += 1
        for mine in (self.rows, self.state):
            given = self.together.of(self.shard, mine.clone())
            mine.copy_(sum(given) / 2)

    def train(self, first, end):
        for _ in range(first, end):
            self.rows += self.shard
            self.state += self.shard
            self.hooks.after_step(None)


def job():
    twins = {"system": "twin-groups", "every": "4 s", "sync": "1 s"}
    return job_of(STEPS, [2 * ROWS], DIM, trainers=2, twins=twins)


def restored(folder, first=0):
    """Two twins at the start of a job; `first`: by how many rows the second is apart."""
    together = Together(2)
    twins = [Twin(n, folder, together, first=n * first) for n in range(2)]
    at_once(lambda twin: twin.hooks.restore(), twins)
    return twins


def test_a_lost_shard_is_as_its_twin_and_has_lost_what_came_since_the_averaging(tmp_path):
    twins = restored(tmp_path)
    at_once(lambda twin: twin.train(0, 6), twins)
    # Averages of 0 and 4 after four steps, and two steps of 0 or 1.
    assert [float(each.rows[0, 0]) for each in twins] == [2, 4]
    for each in (twins[0].rows, twins[0].state):
        each.fill_(float("nan"))

    assert at_once(lambda twin: twin.hooks.on_failure({0}), twins) == [6, 6]
    for twin in twins:
        assert torch.equal(twin.rows, torch.full((ROWS, DIM), 4.0))
        assert torch.equal(twin.state, torch.full((ROWS,), 4.0, dtype=torch.float64))
    at_once(lambda twin: twin.train(6, STEPS), twins)
    # At 4 and at 8; the loss moved nothing.
    assert [twin.averages for twin in twins] == [2, 2]
    # (E4): 2 of 10 steps of one of two. Updates are each process's own: 2 of 10.
    assert [twin.hooks.summary.pls for twin in twins] == [2 / 20, 0]
    assert [twin.hooks.summary.updates_lost for twin in twins] == [2 / 10, 0]


def test_where_all_twins_are_lost_the_job_begins_again(tmp_path):
    twins = restored(tmp_path)
    at_once(lambda twin: twin.train(0, 6), twins)

    assert at_once(lambda twin: twin.hooks.on_failure({0, 1}), twins) == [0, 0]
    for twin in twins:
        assert not twin.rows.any()


def test_a_shard_that_has_no_twin_is_an_error(tmp_path):
    twins = restored(tmp_path, first=ROWS)

    def failed(twin):
        with refused(
            "on_failure(): no other shard has the rows of shard 1; shards() of a process in each "
            "group has to give the same parts of the same tables",
            RunError,
        ):
            twin.hooks.on_failure({1})

    at_once(failed, twins)


def test_an_adapter_that_can_not_average_is_refused(tmp_path):
    with refused(
        "the adapter has no average(), and the policy averages groups that hold the same rows; "
        "give it one (TwinAdapter), for TorchRec's DMPCollection its sync"
    ):
        hooks(Held(((2 * ROWS, DIM),)), tmp_path, "twins", scenario=job())
