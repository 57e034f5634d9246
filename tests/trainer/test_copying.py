"""Rows that one server fetches from another while they are trained; threads, no processes."""

import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from cprsim.contract import Copies
from cprsim.failures.hit import Hit
from cprsim.trainer.coordinator.strikes import StepClock, Strikes
from cprsim.trainer.manner import Deadlines, InjectionMode
from cprsim.trainer.members.connections import Connections, ServerLostError
from cprsim.trainer.members.copying import Fetching, SourceLostError
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.remote import RemoteRows
from cprsim.trainer.members.server import Server, ServerSpec, _accept, with_copies
from cprsim.trainer.members.shard_state import ShardState
from cprsim.trainer.members.wire import Link, Op, listening
from tests.waiting import HANGS_S, wait_until

ROWS, DIM = 60, 4
PATIENT = Deadlines(60.0, 60.0)


@pytest.fixture
def servers(tmp_path):
    """Two servers that hold each other's rows, and where they answer."""
    specs = [
        ServerSpec(
            number,
            ROWS // 2,
            DIM,
            number,
            0.1,
            0.05,
            None,
            (),
            tmp_path / str(number),
            deadlines=PATIENT,
        )
        for number in range(2)
    ]
    found = []
    for spec in with_copies(specs, Copies("copies", 2)):
        server, address = Server(spec), tmp_path / f"{spec.number}.socket"
        door = listening(address)
        threading.Thread(target=_accept, args=(door, server), daemon=True).start()
        found.append((server, str(address)))
    return found


def update(held, step, ids):
    ids = torch.tensor(ids)
    with held.lock:
        held.update(step, ids, torch.ones_like(ids), torch.full((len(ids), DIM), step + 1.0))


def test_rows_that_change_while_they_are_fetched_are_fetched_again(servers):
    (server, address), _ = servers
    source = server._states
    update(source[0], 0, [1, 2, 3])
    empty = {shard: ShardState(server._spec.copies_of[1].shard()) for shard in (0, 1)}
    fetching = Fetching(60.0)
    fetching.begin({0: (0, address), 1: (0, address)}, empty)
    assert empty[0].applied == 1
    update(source[0], 1, [3, 7])
    update(source[1], 0, [29])
    assert empty[0].shard.digest() != source[0].shard.digest()

    fetching.end()

    for shard in (0, 1):
        assert empty[shard].shard.digest() == source[shard].shard.digest()
        assert empty[shard].applied == source[shard].applied
        assert source[shard]._marks == []


def test_an_update_that_is_there_already_is_not_applied_twice(servers):
    (server, _), _ = servers
    update(server._own, 4, [0])
    once = server._own.shard.digest()
    update(server._own, 4, [0])

    assert server._own.shard.digest() == once


def test_a_source_that_is_gone_is_named(tmp_path):
    with pytest.raises(SourceLostError) as error:
        Fetching(1.0).begin({0: (3, str(tmp_path / "gone"))}, {})

    assert error.value.server == 3


def test_updates_go_to_all_copies_and_one_that_is_gone_is_named(servers, tmp_path):
    links = Connections(60.0)
    rows = RemoteRows(Placement((ROWS,), 2), DIM, links)
    (first, at_first), (second, at_second) = servers
    links.connect([[(0, at_first), (1, at_second)], [(1, at_second), (0, at_first)]], 1)
    found = rows.lookup(0, np.arange(ROWS).reshape(-1, 1))
    rows.update(0, found, torch.ones(ROWS, 1, DIM))
    links.sync()
    for shard in (0, 1):
        assert first._states[shard].shard.digest() == second._states[shard].shard.digest()
        assert first._states[shard].applied == 1
    before = first._states[0].shard.digest()

    # The second is gone; the first answers for both shards, and has the update already.
    links.connect([[(0, at_first)], [(0, at_first)]], 2)
    rows.push_again()
    links.sync()
    assert first._states[0].shard.digest() == before

    gone = (1, str(tmp_path / "gone"))
    with pytest.raises(ServerLostError) as error:
        links.connect([[(0, at_first), gone], [(0, at_first)]], 3)
    assert error.value.server == 1
    links.close()


class Slow:
    """A lock whose first holder takes its time: until it is told to go on."""

    def __init__(self, lock, done):
        self._lock, self._done = lock, done
        self.asked, self.go_on = threading.Event(), threading.Event()

    def __enter__(self):
        self.asked.set()
        assert self.go_on.wait(HANGS_S)
        self._lock.acquire()

    def __exit__(self, *_):
        self._done.append("copied")
        self._lock.release()


def test_what_is_pushed_again_is_in_all_copies_before_anything_else_is_done(servers, monkeypatch):
    links = Connections(60.0)
    rows = RemoteRows(Placement((ROWS,), 2), DIM, links)
    (first, at_first), (second, at_second) = servers
    links.connect([[(0, at_first)], [(1, at_second)]], 1)
    found = rows.lookup(0, np.arange(ROWS).reshape(-1, 1))
    rows.update(0, found, torch.ones(ROWS, 1, DIM))
    links.connect([[(0, at_first), (1, at_second)], [(1, at_second), (0, at_first)]], 2)
    done = []

    def push():
        rows.push_again()
        done.append("pushed")

    slow = Slow(second._states[0].lock, done)
    monkeypatch.setattr(second._states[0], "lock", slow)
    pushing = threading.Thread(target=push)
    pushing.start()
    assert slow.asked.wait(HANGS_S)
    wait_until(lambda: first._states[0].applied == 1)  # all else that there is to do is done
    assert done == []
    slow.go_on.set()
    pushing.join()

    assert done[0] == "copied"
    assert done[-1] == "pushed"
    assert second._states[0].applied == 1
    assert second._states[0].shard.digest() == first._states[0].shard.digest()
    links.close()


def test_what_a_dead_server_passed_on_comes_before_what_is_pushed_again(servers):
    """The second takes its time over what the first had passed on to it before it died."""
    _, (second, at_second) = servers
    copy, expected = second._states[0], second._spec.copies_of[0].shard()
    ids, times = np.arange(3), np.ones(3, np.int32)
    gradients = [np.full((3, DIM), 1.0 + step, np.float32) for step in range(2)]
    for each in gradients:
        expected.update(torch.from_numpy(ids), torch.from_numpy(each))
    passing, pushing = (Link.to(Path(at_second), 60.0) for _ in range(2))
    with copy.lock:
        passing.tell(Op.GREET, 1, {"shard": 0, "copies": []})
        passing.receive()
        passing.send(Op.UPDATE, 0, ids, times, gradients[0])
        passing.close()
        pushing.tell(Op.GREET, 2, {"shard": 0, "copies": []})
        pushing.send(Op.UPDATE, 1, ids, times, gradients[1])
        pushing.send(Op.SYNC)
    for _ in range(2):
        pushing.receive()
    pushing.close()

    assert copy.shard.digest() == expected.digest()


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
