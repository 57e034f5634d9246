"""What the search of schedules is good for: faults that are put into the protocol, it finds."""

import pytest

from cprsim.trainer.coordinator.cluster import Owed
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.remote import RemoteRows
from cprsim.trainer.members.server import Server
from cprsim.trainer.members.shard import ShardState
from cprsim.trainer.members.trainer import Trainer
from cprsim.trainer.members.wire import Op
from tests.trainer import interleavings
from tests.trainer.interleavings import FailedAtError, search


async def _nothing(*_):
    """Leave it out."""


async def _awaits_no_earlier(server, link, greeted, forwarder):
    server._open.append(greeted)
    await forwarder.greeted(link, server._around.now_s() + server._spec.deadlines.greeted_s)


_end_copy, _update_by, _expect = ShardState.end_copy, ShardState.update_by, Owed.expect


def _nothing_changed_since(state, marks):
    applied, ids, _ = _end_copy(state, marks)
    return applied, ids[:0], state.shard.arrays(ids[:0])


def _again(state, message):
    state.applied = 0
    _update_by(state, message)


def _but_for(op):
    return lambda owed, name, answer, number=0: (
        None if answer == op else _expect(owed, name, answer, number)
    )


@pytest.fixture
def lengths():
    """Those of jobs that a fault makes shorter or longer are those of no others."""
    interleavings._length.cache_clear()
    yield
    interleavings._length.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize(
    ("where", "name", "instead", "found"),
    [
        pytest.param(ShardState, "update_by", _again, "wrong rows", id="updates done twice"),
        pytest.param(
            ShardState, "end_copy", _nothing_changed_since, "wrong rows", id="copies that are old"
        ),
        pytest.param(
            RemoteRows, "push_again", _nothing, "wrong rows", id="updates that some copies have"
        ),
        pytest.param(
            Server, "_opened", _awaits_no_earlier, "wrong rows", id="reads before what was sent"
        ),
        pytest.param(Trainer, "_take_copy", _nothing, "lost", id="the dense part lost"),
        pytest.param(
            Deadlines,
            "passed_s",
            property(lambda each: each.answer_s),
            "is well and was ended",
            id="as long for copies as for all",
        ),
        pytest.param(
            Deadlines,
            "ended_s",
            property(lambda each: 10 * each.answer_s),
            "is well and was ended",
            id="longer for connections that end",
        ),
        pytest.param(
            Owed, "expect", _but_for(Op.LOADED), "all wait for each other", id="who loads has ever"
        ),
    ],
)
def test_a_fault_of_the_protocol_is_found(monkeypatch, where, name, instead, found):
    monkeypatch.setattr(where, name, instead)
    with pytest.raises(FailedAtError, match=found):
        search(range(3000))
