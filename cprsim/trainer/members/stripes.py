"""Which rows share a parity, and which servers hold them."""

from collections.abc import Collection
from typing import NamedTuple


class Stripes(NamedTuple):
    """Groups of `data` + 1 consecutive servers on the ring: rows on `data`, their parity on one.

    A group starts at every server. Row i of a server is in the group in which the server has the
    place i mod `data`, in its stripe i div `data`; the last server of the group has the place
    `data`, and holds the parity of each stripe. So every server holds the parity of one group, and
    rows in `data` others: places rotate, as in RAID 5 and in ECRec (PVLDB 16(11), 2023).
    """

    servers: int
    data: int

    def member(self, server: int, place: int, other: int) -> int:
        """The server at the place `other` of the group in which `server` has that place."""
        return (server - place + other) % self.servers

    def place(self, source: int, server: int) -> int:
        """The place of `source` in the group whose parity `server` holds."""
        return (source - server + self.data) % self.servers

    @property
    def decodes(self) -> bool:
        """Whether a server answers for a lost shard while it is filled."""
        return True

    def copied(self, server: int) -> list[int]:
        """Servers of whose rows it holds the parity, by their places."""
        return [self.member(server, self.data, place) for place in range(self.data)]

    def holders(self, shard: int, without: Collection[int] = ()) -> list[int]:  # noqa: ARG002
        """The server that answers for a shard, and those that hold parities of its rows."""
        return [self.member(shard, place, self.data) for place in (self.data, *range(self.data))]

    def sources(self, server: int, without: Collection[int] = ()) -> dict[int, int] | None:
        """All servers that share a group with that one; None if one of them is away."""
        near = {(server + each) % self.servers for each in range(-self.data, self.data + 1)}
        found = near - {server}
        return None if found.intersection(without) else {each: each for each in sorted(found)}
