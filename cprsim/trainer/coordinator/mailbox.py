"""All messages of the cluster come in at one place, and are shown to all who listen."""

import math
from collections.abc import Callable

from cprsim.trainer.coordinator.cluster import Death, LocalCluster, Reply
from cprsim.trainer.coordinator.strikes import Strikes
from cprsim.trainer.members.member import Name
from cprsim.trainer.members.wire import Message, Op


class Mailbox:
    """Receives what members say, for whoever waits for it.

    Attributes
    ----------
    listeners
        Called with each event, whoever waits: for what goes on in the background.
    news
        Set by them when something ends that the controller has to be asked about, and cleared by
        whoever trains.
    """

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self.listeners: list[Callable[[Reply | Death], None]] = []
        self.news = False

    def next(self, timeout_s: float = math.inf) -> Reply | Death | None:
        """What happens next, as `LocalCluster.next` has it; listeners have been told."""
        event = self._cluster.next(timeout_s)
        if event is not None:
            for each in self.listeners:
                each(event)
        return event

    def replies(
        self, asked: set[Name], *ops: Op, epoch: int = 0, strikes: Strikes | None = None
    ) -> dict[Name, Message]:
        """What all of those asked answer, but for those that die instead.

        Answers to what was asked in another epoch are passed over, if one is given; failures can
        strike meanwhile, if `strikes` are.
        """
        found: dict[Name, Message] = {}
        while asked - found.keys() - set(self._cluster.dead):
            event = self.next(math.inf if strikes is None else strikes.wait_s)
            if event is None and strikes is not None:
                strikes.strike()
            elif (
                isinstance(event, Reply)
                and event.message.op in ops
                and (not epoch or event.message.facts["epoch"] == epoch)
            ):
                found[event.name] = event.message
        return found
