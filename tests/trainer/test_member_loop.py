"""The loop of a member's process, here in a thread: sockets that are full, and errors."""

import contextlib
import socket
import threading

import numpy as np
import pytest

from cprsim.trainer.members.member_loop import MemberLoop, errors_reported
from cprsim.trainer.members.server import Server, ServerSpec
from cprsim.trainer.members.waiting import Wait, received, sent
from cprsim.trainer.members.wire import Link, Op, PeerLostError, listening
from tests.waiting import HANGS_S


class EndedError(Exception):
    """Ends a loop in a thread."""


def looping(live):
    """A loop that takes the steps that `live` returns for it, and the controller's end."""
    mine, its = socket.socketpair()
    loop = MemberLoop(its)
    raised = []

    def run():
        try:
            with errors_reported(loop.control):
                loop.begin(live(loop))
                loop.run()
        except Exception as error:
            raised.append(error)
        loop.drain()
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return contextlib.closing(Link(mine, HANGS_S)), thread, raised


def test_an_error_in_a_connection_is_told_to_the_controller(tmp_path):
    """Whoever asked would take the server for silent (fault D of the findings)."""
    address = tmp_path / "s"

    def live(loop):
        server = Server(ServerSpec(0, 6, 2, 1, 0.5, 0.1, None, (), tmp_path), loop)
        loop.listen(listening(address), server.serve)
        return server.obey()

    opened, thread, raised = looping(live)
    with opened as control:
        assert control.receive().op == Op.READY
        with contextlib.closing(Link.to(address, HANGS_S)) as link:
            link.send(Op.LOOKUP, 0, np.array([17]))  # no row of this server
            told = control.receive()
            thread.join(HANGS_S)

    assert told.op == Op.FAILED
    assert "out of range" in told.facts["error"]
    assert len(raised) == 1


def test_a_message_that_no_socket_takes_at_once_goes_on_as_the_other_side_reads():
    large = np.arange(1_000_000)
    mine, its = socket.socketpair()

    def live(loop):
        link = loop._link(its)
        link.put(Op.ROWS, 7, large)
        link.put(Op.SYNC, 8)
        loop.control.put(Op.SYNC, int(not link.sent))
        yield from sent([link])
        yield from received(link)
        loop.control.put(Op.READY)
        yield Wait(lambda: link.gone)
        link.close()
        raise EndedError

    opened, thread, raised = looping(live)
    with opened as control:
        assert control.receive().step == 1
        with contextlib.closing(Link(mine, HANGS_S)) as link:
            first, second = link.receive(), link.receive()
            assert np.array_equal(np.frombuffer(first.parts[0], np.int64), large)
            assert (first.step, second.op, second.step) == (7, Op.SYNC, 8)
            link.send(Op.ROWS, 0, large, large)
            assert control.receive().op == Op.READY
        thread.join(HANGS_S)
    assert [type(each) for each in raised] == [EndedError]


def test_who_is_not_there_is_lost_at_once(tmp_path):
    control, its = socket.socketpair()
    loop = MemberLoop(its)

    with control, pytest.raises(PeerLostError):
        loop.connect(str(tmp_path / "nobody"))
    loop.close()


def test_limits_pass_and_what_is_done_beside_is_noticed():
    def live(loop):
        yield Wait(lambda: False, loop.now_s())
        done = loop.beside(lambda: 5)
        yield Wait(done.done)
        loop.control.put(Op.READY, done.result())
        raise EndedError

    opened, thread, raised = looping(live)
    with opened as control:
        assert control.receive().step == 5
        thread.join(HANGS_S)
    assert [type(each) for each in raised] == [EndedError]
