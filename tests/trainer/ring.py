"""Servers in memory that hold each other's rows, and somebody who speaks to them."""

import numpy as np
import torch

from cprsim.contract import Redundancy
from cprsim.trainer.manner import Deadlines
from cprsim.trainer.members.connections import Connections, ServersLostError
from cprsim.trainer.members.copying import SourcesLostError
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.remote import RemoteRows
from cprsim.trainer.members.server import with_copies
from tests.trainer.modelled import ModelServer
from tests.trainer.runs import digest
from tests.trainer.world import ModelMember, World

ROWS, DIM = 60, 4
DEADLINES = Deadlines(answer_s=8.0, work_s=80.0)


class Ring:
    """So many servers, each with copies of all rows unless there is some other redundancy."""

    def __init__(self, folder, servers=2, redundancy=None):
        specs = [
            ModelServer(
                each, ROWS // servers, DIM, each, 0.1, 0.05, None, (), folder, deadlines=DEADLINES
            )
            for each in range(servers)
        ]
        copies = Redundancy("copies", 1, servers - 1)
        given = with_copies(specs, redundancy or copies)
        self.world = World({("server", each.number): each for each in given}, lambda _: 0)
        for each in range(servers):
            self.world.start(("server", each))
        self.client = self.world.members["trainer", 0] = ModelMember(self.world, ("trainer", 0))
        self.world.run()
        self.at = [self.world.address(("server", each)) for each in range(servers)]
        self.servers = [self.world.members["server", each].server for each in range(servers)]
        self.links = Connections(self.client, DEADLINES.answer_s)
        self.rows = RemoteRows(Placement((ROWS,), servers), DIM, self.links)

    def do(self, steps):
        """Take these steps to their end, with all that follows from them."""
        ended = []

        async def noted():
            try:
                ended.append(await steps)
            except (ServersLostError, SourcesLostError) as error:
                ended.append(error)

        self.client.begin(noted())
        self.world.run(lambda: ended)
        (found,) = ended
        return found

    def link(self, server):
        """To a server, by somebody who speaks to it."""
        return self.do(self.client.connect(self.at[server]))

    def routes(self, *shards):
        """Routes to these servers, for each shard."""
        return [[(server, self.at[server]) for server in each] for each in shards]

    def strike(self, server, hangs):
        member = self.world.members["server", server]
        if hangs:
            member.hang()
        else:
            member.end()

    def digests(self, shard, *servers):
        held = [self.servers[each] for each in servers] or self.servers
        return {digest(each._states[shard].shard) for each in held}


async def push(ring, step):
    found = await ring.rows.lookup(step, np.arange(ROWS).reshape(-1, 1))
    ring.rows.collect(step, found, torch.ones(ROWS, 1, DIM))
    await ring.rows.push()
