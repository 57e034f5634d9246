"""What the search of schedules is good for: faults that are put into the protocol, it finds."""

from contextlib import nullcontext

import pytest

from cprsim.trainer.coordinator.owed import Owed
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.remote import RemoteRows
from cprsim.trainer.members.server import Server
from cprsim.trainer.members.shard_state import ShardState
from cprsim.trainer.members.trainer import Trainer
from cprsim.trainer.members.wire import Op
from tests.plain import plain_numbers
from tests.trainer import interleavings
from tests.trainer.interleavings import FailedAtError, main, of_three_copies, search


def _nothing(*_):
    yield from ()


def _awaits_no_earlier(server, greeted, forwarder):
    server._open.append(greeted)
    yield from forwarder.greeted(server._around.now_s() + server._spec.deadlines.greeted_s)


_end_copy, _expect = ShardState.end_copy, Owed.expect


def _nothing_changed_since(state, marks):
    applied, ids, _ = _end_copy(state, marks)
    return applied, ids[:0], state.shard.arrays(ids[:0])


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
        pytest.param(ShardState, "_has", lambda *_: False, "wrong rows", id="updates done twice"),
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
@pytest.mark.parametrize("arrays", [nullcontext, plain_numbers])
def test_a_fault_of_the_protocol_is_found(monkeypatch, arrays, where, name, instead, found):
    monkeypatch.setattr(where, name, instead)
    with arrays(), pytest.raises(FailedAtError, match=found):
        search(range(3000))


def test_plain_numbers_are_tried_with_three_copies_alone(capsys):
    with plain_numbers(), pytest.raises(SystemExit) as ended:
        main(["--schedules", "9", "--seed", "3", "--workers", "1"], which=of_three_copies)

    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("6 schedules, 0 broken, ")
    assert said.endswith("; 4 servers with 3 copies: 6\n")


def test_many_are_tried_in_a_command_that_says_how_many(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--schedules", "9", "--seed", "3", "--workers", "1"])

    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("9 schedules, 0 broken, ")
    assert "4 servers with 2 copies: 2; 4 servers with 3 copies: 6; " in said
    assert "parity of" in said


def test_a_broken_one_is_told_with_the_seed_that_gives_it_again(capsys, monkeypatch):
    def check(case, *_):
        raise AssertionError(f"{case.copies} copies")

    monkeypatch.setattr(interleavings, "check", check)
    monkeypatch.setattr(interleavings, "_length", lambda *_: 100)
    with pytest.raises(SystemExit) as ended:
        main(["--schedules", "2", "--seed", "4", "--workers", "1"])

    assert ended.value.code == 1
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == [
        "broken: --schedules 1 --seed 4: AssertionError('3 copies')",
        "broken: --schedules 1 --seed 5: AssertionError('2 copies')",
    ]
    assert said[2].startswith("2 schedules, 2 broken, ")
