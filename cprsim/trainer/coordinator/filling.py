"""Copies and parities are filled: those of a server that is back, or all of them."""

from collections.abc import Collection, Mapping

from cprsim.trainer.coordinator.cluster import LocalCluster
from cprsim.trainer.coordinator.mailbox import Mailbox
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.strikes import Strikes
from cprsim.trainer.members.copying import Ring
from cprsim.trainer.members.member import Name, numbers
from cprsim.trainer.members.stripes import Stripes
from cprsim.trainer.members.wire import Message, Op


class Filling:
    """Has servers fetch shards from each other while nobody trains.

    Each says whether all went well: if not, a member has died.
    """

    def __init__(
        self,
        job: RunningJob,
        cluster: LocalCluster,
        mailbox: Mailbox,
        strikes: Strikes,
        ring: Ring | Stripes,
    ) -> None:
        self._job, self._cluster, self._mailbox = job, cluster, mailbox
        self._strikes, self._ring = strikes, ring

    def catch_up(self, servers: set[Name]) -> bool:
        """Servers fetch what has changed since they were filled."""
        epoch = self._job.next_epoch()
        for name in sorted(servers):
            self._cluster.ask(name, Op.CATCH_UP, epoch=epoch)
        return self._fetched(servers, epoch)

    def copy_all(self, away: Collection[Name] = ()) -> bool:
        """All but those away fill their copies with what those hold that answer for the shards."""
        if not self._ring.copied(0):
            return True
        servers = {name for name in self._cluster.names if name[0] == "server"}.difference(away)
        return self.begin(servers, away) and self.catch_up(servers)

    def begin(self, servers: Collection[Name], away: Collection[Name] = ()) -> bool:
        """Servers are told where to fetch what they hold of others, and begin to."""
        epoch, down = self._job.next_epoch(), numbers("server", away)
        for name in sorted(servers):
            self._cluster.fill(name, epoch, self._ring.sources(name[1], down) or {})
        return self._fetched({*servers}, epoch)

    def _fetched(self, servers: set[Name], epoch: int) -> bool:
        replies: Mapping[Name, Message] = self._mailbox.replies(
            servers, Op.LOADED, epoch=epoch, strikes=self._strikes
        )
        for message in replies.values():
            self._cluster.end_lost(message)
        return not self._cluster.dead
