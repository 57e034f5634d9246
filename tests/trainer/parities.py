"""What servers hold, read from outside: their rows, and the parities of each other's."""

import numpy as np

from cprsim.trainer.coordinator.execution import Execution
from cprsim.trainer.members.stripes import Stripes
from cprsim.trainer.members.wire import Link, Op


def check_parities(cluster, servers, data):
    """Every parity is the exclusive or of its rows, and of their optimiser state, bit for bit.

    The parity on a server is of those of the `data` servers before it, row i * `data` + k of the
    k-th of them in stripe i.
    """
    rows = [_rows(cluster, each) for each in range(servers)]
    stripes = -(-max(len(each) for each in rows) // data)
    _check(rows, [_parity(cluster, each, data, stripes) for each in range(servers)], data)


def checked_at_the_end(monkeypatch):
    """Parities of runs in this process are checked before these predict; a note of each."""
    predict, checked = Execution.predict, []

    def check(self, first, end):
        ring = self.recovery._ring
        if isinstance(ring, Stripes):
            check_parities(self._cluster, ring.servers, ring.data)
            checked.append(ring)
        return predict(self, first, end)

    monkeypatch.setattr(Execution, "predict", check)
    return checked


def check_held(servers, data):
    """The same of servers in memory, which have worked out all that was lost."""
    held = [each._reconstruction.coded for each in servers]
    assert not any(each.lost.any() for each in held), "not all that was lost has been worked out"
    stripes = np.arange(held[0].lost.shape[1])
    rows = [np.column_stack(each.own.shard.arrays()).view(np.int32) for each in held]
    _check(rows, [np.column_stack(each.read(data, stripes)) for each in held], data)


def _check(rows, parities, data):
    for holder, parity in enumerate(parities):
        for place in range(data):
            part = rows[(holder - data + place) % len(rows)][place::data]
            parity[: len(part)] ^= part
        assert not parity.any(), f"the parity on server {holder} is not that of its rows"


def _rows(cluster, server):
    """Bits of weights and optimiser state of each row, shape (rows, dim + 1)."""
    (weights, squares) = _asked(cluster, server, Op.FETCH, server)[-2:]
    return np.column_stack((weights.reshape(len(squares), -1), squares))


def _parity(cluster, server, data, stripes):
    facts = np.array([-1, 0, *[0] * data])
    parts = _asked(cluster, server, Op.READ, data, facts, np.arange(stripes))
    (weights, squares) = parts[-2:]
    return np.column_stack((weights.reshape(stripes, -1), squares))


def _asked(cluster, server, op, step, *parts):
    link = Link.to(cluster.address(("server", server)), 60.0)
    try:
        link.send(op, step, *parts)
        answer = link.receive()
        assert answer.op == op
        return [np.frombuffer(part, np.int32) for part in answer.parts]
    finally:
        link.close()
