"""How long a stretch of training is, and how new servers are: why it and saves take longer.

Both are scales that were found by setting many real runs side by side (docs/predicted.md); what 1
of them takes is measured in each rehearsal.
"""

import math

from cprsim.failures.hit import Hit

#: Steps before a save whose time is told: between what is rehearsed and what most jobs have.
USUAL = 16
#: Steps of a stretch that is 1 long.
_STEPS = 6
#: Saves of a new server until it is like any other.
_NEW = 4


def longness(steps: int) -> float:
    """How long a stretch is: 1 for six steps, with twice as many less than twice that.

    What a longer one adds to its steps, or to the save after it, grows ever more slowly.
    """
    return math.log2(1 + steps / _STEPS)


class Newness:
    """How new servers are: of each 1 when it starts, a third as much after each save, added up.

    The first saves of a new process take longer, each by about a third as much as the one before.
    After `_NEW` of them it is new no more: a fit makes anything of what is nearly nothing.
    """

    def __init__(self, servers: int) -> None:
        self._saves = dict.fromkeys(range(servers), 0)

    def failed(self, hit: Hit) -> None:
        """Others start in the place of these servers; a trainer's loss leaves them as they are."""
        self._saves |= dict.fromkeys(hit.servers, 0)

    def saved(self) -> float:
        """What it is of a save that is made now."""
        found = math.fsum(3.0**-saves for saves in self._saves.values() if saves < _NEW)
        self._saves = {server: saves + 1 for server, saves in self._saves.items()}
        return found
