"""What the cluster says, heard in one place: what comes late finds whom it concerns."""

import math
from collections.abc import Callable

from cprsim.trainer.cluster import Answer, Death, LocalCluster


class Hearing:
    """Hears the cluster for all that wait for something.

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
        self.listeners: list[Callable[[Answer | Death], None]] = []
        self.news = False

    def next(self, timeout_s: float = math.inf) -> Answer | Death | None:
        """What happens next, as `LocalCluster.next` has it; listeners know it already."""
        event = self._cluster.next(timeout_s)
        if event is not None:
            for each in self.listeners:
                each(event)
        return event
