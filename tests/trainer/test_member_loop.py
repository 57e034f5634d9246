"""The process of a member, here in a thread: sockets that are full, and errors."""

import asyncio
import contextlib
import socket
import threading

import numpy as np
import pytest

from cprsim.trainer.members.around import MemberLoop
from cprsim.trainer.members.server import Server, ServerSpec
from cprsim.trainer.members.wire import Arriving, Message, Op, PeerLostError, packed
from tests.trainer.runs import asked, connected
from tests.waiting import HANGS_S


def looping(obey):
    """A member that obeys so, and the controller's end."""
    mine, its = socket.socketpair()
    mine.settimeout(HANGS_S)
    raised = []

    def run():
        try:
            asyncio.run(MemberLoop().live(its, obey))
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return contextlib.closing(mine), thread, raised


def heard(link, count=1):
    arriving, found = Arriving(), []
    while len(found) < count:
        found += arriving.take(link.recv(1 << 16))
    return found


def test_an_error_in_a_connection_is_told_to_the_controller(tmp_path):
    """Whoever asked would take the server for silent (fault D of the findings)."""
    address = tmp_path / "s"

    async def obey(loop):
        server = Server(ServerSpec(0, 6, 2, 1, 0.5, 0.1, None, (), tmp_path), loop)
        await loop.listen(address, server.serve)
        await server.obey()

    opened, thread, raised = looping(obey)
    with opened as control:
        assert heard(control)[0].op == Op.READY
        with contextlib.closing(connected(address)) as link:
            with pytest.raises(PeerLostError):
                asked(link, Op.LOOKUP, 0, np.array([17]))  # no row of this server
            (told,) = heard(control)
            thread.join(HANGS_S)

    assert told.op == Op.FAILED
    assert "out of range" in told.facts["error"]
    assert len(raised) == 1


def test_a_message_that_no_socket_takes_at_once_goes_on_as_the_other_side_reads():
    large = np.arange(1_000_000)

    async def obey(loop):
        loop.control.put(Op.ROWS, 7, large)
        loop.control.put(Op.SYNC, int(not loop.control.sent))
        message = await loop.received(loop.control)
        loop.control.put(Op.READY, len(message.arrays))
        await loop.received(loop.control)

    opened, thread, raised = looping(obey)
    with opened as control:
        first, second = heard(control, 2)
        assert np.array_equal(first.arrays[0], large)
        assert (first.step, second.op, second.step) == (7, Op.SYNC, 1)
        control.sendall(packed(Message(Op.ROWS, 0, (large, large))))
        assert heard(control)[0].step == 2
    thread.join(HANGS_S)
    assert not thread.is_alive()  # it ends with the controller, and that is no error
    assert raised == []


def test_who_is_not_there_is_lost_limits_pass_and_what_is_done_beside_is_noticed(tmp_path):
    async def obey(loop):
        with pytest.raises(PeerLostError):
            await loop.connect(str(tmp_path / "nobody"))
        await loop.until(lambda: False, loop.now_s() + 0.01)
        done = loop.beside(lambda: 5)
        await loop.until(done.done)
        loop.control.put(Op.READY, done.result())

    opened, thread, raised = looping(obey)
    with opened as control:
        assert heard(control)[0].step == 5
        thread.join(HANGS_S)
    assert raised == []
