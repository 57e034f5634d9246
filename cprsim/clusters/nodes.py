"""Nodes in racks and pods, and spare machines that all jobs share."""

from collections.abc import Iterable
from typing import Any, Final

from cprsim.clusters.spec import ClusterSpec

_NEVER: Final = 0.0


class Nodes:
    """Free nodes of each rack; racks are numbered through all pods."""

    def __init__(self, spec: ClusterSpec) -> None:
        cluster = spec.cluster
        self._per_pod, self._packs = cluster.racks, spec.scheduler.placement == "pack"
        self._free = [cluster.nodes] * (cluster.pods * cluster.racks)
        self._down_until_s = [_NEVER] * len(self._free)

    def free(self, now_s: float) -> int:
        """Return the number of free nodes in racks that are up."""
        up = zip(self._free, self._down_until_s, strict=True)
        return sum(free for free, until_s in up if until_s <= now_s)

    def take(self, count: int, now_s: float) -> list[int]:
        """Take free nodes; return the rack of each. There have to be so many."""
        left = [
            free if until_s <= now_s else 0
            for free, until_s in zip(self._free, self._down_until_s, strict=True)
        ]
        racks = self._packed(count, left) if self._packs else _spread(count, left)
        for rack in racks:
            self._free[rack] -= 1
        return racks

    def give_back(self, racks: Iterable[int]) -> None:
        """Give nodes back, each by its rack."""
        for rack in racks:
            self._free[rack] += 1

    def fail(self, racks: Iterable[int], until_s: float) -> None:
        """Let no job have nodes of these racks until then."""
        for rack in racks:
            self._down_until_s[rack] = max(self._down_until_s[rack], until_s)

    def _packed(self, count: int, left: list[int]) -> list[int]:
        """Return the nodes that lie in the fewest racks, and if possible in one pod.

        The fullest rack or pod that has room is taken, so that large gaps stay for large jobs.
        """
        numbers = range(len(left))
        fitting = [rack for rack in numbers if left[rack] >= count]
        if fitting:
            return [min(fitting, key=left.__getitem__)] * count
        pods = [numbers[i : i + self._per_pod] for i in range(0, len(left), self._per_pod)]
        room = {pod: sum(left[rack] for rack in pod) for pod in pods}
        within = [pod for pod in pods if room[pod] >= count]
        chosen = min(within, key=room.__getitem__) if within else numbers
        found: list[int] = []
        for rack in sorted(chosen, key=lambda rack: -left[rack]):
            found += [rack] * min(left[rack], count - len(found))
        return found


def _spread(count: int, left: list[int]) -> list[int]:
    """Return nodes of as many racks as possible, the emptiest racks first."""
    found: list[int] = []
    while len(found) < count:
        open_racks = [rack for rack in range(len(left)) if left[rack]]
        for rack in sorted(open_racks, key=lambda rack: -left[rack])[: count - len(found)]:
            found.append(rack)
            left[rack] -= 1
    return found


class SparePool:
    """Machines held ready (rule 14): when each is ready, s, in order; until then it is repaired."""

    def __init__(self, count: int) -> None:
        self.ready_s = [0.0] * count

    def ready(self, now_s: float) -> int:
        """Return how many are ready."""
        return sum(each <= now_s for each in self.ready_s)


class SharedSpares:
    """The pool as one job sees it, whose time counts from its start."""

    def __init__(self, pool: SparePool, start_s: float) -> None:
        self._ready_s, self._start_s = pool.ready_s, start_s

    def __getitem__(self, place: int) -> float:
        return self._ready_s[place] - self._start_s

    def __setitem__(self, place: int, ready_s: Any) -> None:
        self._ready_s[place] = float(ready_s) + self._start_s
