"""Rows that one server fetches from another, and updates that go to all copies, in memory."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from cprsim.failures.hit import Hit
from cprsim.trainer.coordinator.strikes import StepClock, Strikes
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members.connections import ServersLostError
from cprsim.trainer.members.copying import Fetching, SourcesLostError
from cprsim.trainer.members.shard import ShardState
from cprsim.trainer.members.wire import Message, Op
from tests.trainer.ring import DEADLINES, DIM, ROWS, Ring, push
from tests.trainer.runs import digest


@pytest.fixture
def ring(tmp_path):
    return Ring(tmp_path)


def update(held, step, ids):
    gradients = np.full((len(ids), DIM), step + 1.0, np.float32)
    arrays = np.array(ids), np.ones(len(ids), np.int32), gradients
    held.update_by(Message(Op.UPDATE, step, arrays))


def test_rows_that_change_while_they_are_fetched_are_fetched_again(ring):
    source = ring.servers[0]._states
    update(source[0], 0, [1, 2, 3])
    empty = {shard: ShardState(ring.servers[1]._spec.shard()) for shard in (0, 1)}
    fetching = Fetching(ring.client, 60.0)
    ring.do(fetching.begin({0: (0, ring.at[0]), 1: (0, ring.at[0])}, empty))
    assert empty[0].applied == 1
    update(source[0], 1, [3, 7])
    update(source[1], 0, [29])
    assert digest(empty[0].shard) != digest(source[0].shard)

    ring.do(fetching.end())

    for shard in (0, 1):
        assert digest(empty[shard].shard) == digest(source[shard].shard)
        assert empty[shard].applied == source[shard].applied
        assert source[shard]._marks == []


def test_an_update_that_is_there_already_is_not_applied_twice(ring):
    held = ring.servers[0]._own
    update(held, 4, [0])
    once = digest(held.shard)
    update(held, 4, [0])

    assert digest(held.shard) == once


@pytest.mark.parametrize("hangs", [False, True], ids=["killed", "hung"])
def test_all_sources_that_do_not_answer_are_named_at_once(tmp_path, hangs):
    ring = Ring(tmp_path, 3)
    for server in (1, 2):
        ring.strike(server, hangs)
    sources = {each: (each, ring.at[each]) for each in range(3)}
    error = ring.do(Fetching(ring.client, 9.0).begin(sources, ring.servers[0]._states))

    assert isinstance(error, SourcesLostError)
    assert error.servers == {1, 2}
    assert ring.world.now == (9.0 if hangs else 0.0)


def test_updates_go_to_all_copies_and_one_that_is_gone_is_named(ring):
    ring.do(ring.links.connect(ring.routes([0, 1], [1, 0]), 1))
    ring.do(push(ring, 0))
    ring.do(ring.links.sync())
    for shard in (0, 1):
        assert len(ring.digests(shard)) == 1
        assert ring.servers[0]._states[shard].applied == 1
    before = digest(ring.servers[0]._states[0].shard)

    # The second is gone; the first answers for both shards, and has the update already.
    ring.strike(1, hangs=False)
    ring.do(ring.links.connect(ring.routes([0], [0]), 2))
    ring.do(ring.rows.push_again())
    assert digest(ring.servers[0]._states[0].shard) == before

    error = ring.do(ring.links.connect(ring.routes([0, 1], [0]), 3))
    assert isinstance(error, ServersLostError)
    assert error.servers == {1}


@pytest.mark.parametrize("hung", [(1,), (2, 3), (1, 3)])
def test_a_loss_names_all_that_hang_and_nobody_else(tmp_path, hung):
    """Within two deadlines of the trainer, however many do (fault B of the findings)."""
    ring = Ring(tmp_path, 4)
    ring.do(ring.links.connect(ring.routes(*([each, (each + 1) % 4] for each in range(4))), 1))
    for each in hung:
        ring.strike(each, hangs=True)
    error = ring.do(ring.rows.lookup(0, np.arange(ROWS).reshape(-1, 1)))
    named = ring.do(ring.links.settle(error.servers))

    assert named == {*hung}
    assert ring.world.now <= 2 * DEADLINES.answer_s


def test_after_half_a_message_a_link_is_used_no_more(tmp_path):
    """A copy that hangs takes no more updates (fault E): it is named, the other copy has all."""
    ring = Ring(tmp_path, 3)
    ring.do(ring.links.connect(ring.routes([0, 1, 2]), 1))
    (held,) = (
        each
        for each in ring.world.members["server", 0].channels
        if each.other.member.name == ("server", 1)
    )
    ring.strike(1, hangs=True)
    gradients = np.ones((3, DIM), np.float32)

    async def pushes():
        for step in range(4):
            parts = np.arange(3), np.ones(3, np.int32), gradients
            ring.links.send(0, Op.UPDATE, step, *parts)
        await ring.links.sync()

    error = ring.do(pushes())

    assert error.servers == {1}
    assert held.gone
    assert [each.step for each in held.other.inbox] == [0, 1]  # what fitted in
    assert ring.servers[0]._states[0].applied == ring.servers[2]._states[0].applied == 4
    assert len(ring.digests(0, 0, 2)) == 1


def test_a_silent_holder_of_an_older_connection_is_named(tmp_path):
    """Who waits for its end is not (fault A): the first hangs with a link to the second."""
    ring = Ring(tmp_path, 3)
    ring.do(ring.links.connect(ring.routes([0, 1], [1], [2]), 1))
    ring.strike(0, hangs=True)
    # It isn't greeted again: the controller believes that it is away.
    error = ring.do(ring.links.connect(ring.routes([], [1], [2, 1]), 2))

    assert error.servers == {0}
    assert ring.world.now < DEADLINES.answer_s


def test_who_leaves_while_it_is_greeted_holds_up_nobody(tmp_path):
    """It waited for a copy that hangs for longer than newer connections wait for its end."""
    ring = Ring(tmp_path, 3)
    ring.strike(2, hangs=True)
    left = ring.link(0)
    left.put(Op.GREET, 1, shard=0, copies=[(2, ring.at[2])], by=None)
    ring.world.run()
    left.close()

    assert ring.do(ring.links.connect(ring.routes([0, 1]), 2)) is None
    assert ring.world.now == 0


def test_what_a_dead_server_passed_on_comes_before_what_is_pushed_again(ring):
    copy = ring.servers[1]._states[0]
    expected = ring.servers[1]._spec.copies_of[0].shard()
    ids, times = np.arange(3), np.ones(3, np.int32)
    gradients = [np.full((3, DIM), 1.0 + step, np.float32) for step in range(2)]
    for each in gradients:
        expected.update(torch.from_numpy(ids), torch.from_numpy(each))
    passing, pushing = (ring.link(1) for _ in range(2))
    greeting = {"shard": 0, "copies": [], "by": 0}

    async def pass_and_push():
        passing.put(Op.GREET, 1, **greeting)
        await ring.client.received(passing)
        pushing.put(Op.GREET, 2, **greeting)
        pushing.put(Op.UPDATE, 1, ids, times, gradients[1])
        pushing.put(Op.SYNC)
        await ring.client.until(lambda: False, 1.0)  # whatever can be done by then is done
        passing.put(Op.UPDATE, 0, ids, times, gradients[0])
        await ring.client.until(lambda: False, 2.0)
        passing.close()
        for _ in range(2):
            await ring.client.received(pushing)

    ring.do(pass_and_push())

    assert digest(copy.shard) == digest(expected)


def test_the_newest_dense_part_is_kept_until_the_rows_return_to_a_checkpoint(ring):
    link = ring.link(0)

    async def ask():
        link.put(Op.GREET, 1, shard=0, copies=[], by=None)
        for step in (3, 4):
            link.put(Op.KEEP, step, np.full(2, step, np.float32))
        link.put(Op.KEPT)
        await ring.client.received(link)
        return await ring.client.received(link)

    kept = ring.do(ask())
    assert (kept.step, kept.arrays[0].tolist()) == (4, [4.0, 4.0])

    ring.world.tell(("server", 0), Op.LOAD, 0, {"epoch": 2})
    ring.world.run()

    async def again():
        link.put(Op.KEEP, 5, np.zeros(2, np.float32))  # of an epoch before that
        link.put(Op.KEPT)
        return await ring.client.received(link)

    assert ring.do(again()).arrays == ()


# --- Who is told to the timeline ---


class Noting:
    """A cursor that notes what it is told."""

    next_s, absorbed = 5.0, 0

    def __init__(self):
        self.told = []

    def strike(self):
        return Hit((0, 1), ())

    def replace(self, hit, now_s):
        self.told.append(("placed", hit.servers))

    def resume(self, now_s):
        self.told.append(("resumed", now_s))


@pytest.mark.parametrize("during_recovery", [True, False])
def test_a_server_counts_as_placed_once_it_serves_and_the_clock_starts_once(during_recovery):
    cursor, cluster = Noting(), SimpleNamespace(strike=lambda *_: True, dead=[])
    clock = StepClock(1.0, lambda: 5)
    strikes = Strikes(cluster, cursor, clock, InjectionMode(), during_recovery)
    strikes.strike()

    strikes.loading(())  # both in the background
    strikes.recovered()
    strikes.recovered()  # from something that the timeline knows nothing of
    strikes.placed({("server", 1)})

    assert cursor.told == [("resumed", 5), ("placed", (1,))]
