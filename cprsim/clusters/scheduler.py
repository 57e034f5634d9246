"""The queue, and the nodes and spare machines that it gives: which job gets nodes next."""

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from cprsim.clusters.job_run import JobRun
from cprsim.clusters.spec import ClusterSpec, Scheduler

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


class SharedSpares:
    """Machines held ready (rule 14), as one job sees them, whose time counts from its start.

    `ready_s`: a heap of when each is ready, s; it is repaired until then.
    """

    def __init__(self, ready_s: list[float], start_s: float) -> None:
        self._ready_s, self._start_s = ready_s, start_s

    def __getitem__(self, place: int) -> float:
        return self._ready_s[place] - self._start_s

    def __setitem__(self, place: int, ready_s: Any) -> None:
        self._ready_s[place] = float(ready_s) + self._start_s


class Queue:
    """Jobs that wait for nodes, and jobs that have them.

    `start`: called with a job that has got nodes. `stop`: called with one that is to give its
    nodes back.
    """

    def __init__(
        self,
        rules: Scheduler,
        nodes: Nodes,
        now: Callable[[], float],
        start: Callable[[JobRun], None],
        stop: Callable[[JobRun], None],
    ) -> None:
        self._rules, self._nodes, self._now = rules, nodes, now
        self._start, self._stop = start, stop
        self.waiting: list[JobRun] = []
        self.running: list[JobRun] = []

    def arrive(self, *jobs: JobRun) -> None:
        """Let jobs wait for nodes; they may get them at once."""
        self.waiting += jobs
        by_priority = self._rules.order == "priority"
        self.waiting.sort(key=lambda j: (-j.priority if by_priority else 0, j.arrives_s, j.number))
        self.schedule()

    def leave(self, job: JobRun) -> None:
        """Take the nodes of a job that has ended, or gives them back."""
        self._nodes.give_back(job.racks)
        job.racks = []
        self.running.remove(job)

    def schedule(self) -> None:
        """Give nodes to jobs that wait, as far as there are any."""
        while self.waiting and self._fits(self.waiting[0]):
            self._begin(self.waiting[0])
        if not self.waiting:
            return
        if self._rules.preempt:
            self._preempt(self.waiting[0])
        if self._rules.backfill:
            self._backfill()

    def _fits(self, job: JobRun) -> bool:
        return job.nodes <= self._nodes.free(self._now())

    def _begin(self, job: JobRun) -> None:
        self.waiting.remove(job)
        job.racks = self._nodes.take(job.nodes, self._now())
        job.expected_s, job.stops = self._now() + job.left_s, False
        self.running.append(job)
        self._start(job)

    def _backfill(self) -> None:
        """Start jobs that don't delay the first of the queue (EASY: Lifka, JSSPP 1995)."""
        now_s, head = self._now(), self.waiting[0]
        free, at_s = self._nodes.free(now_s), math.inf
        ends = {j: now_s if j.stops else max(j.expected_s, now_s) for j in self.running}
        for each in sorted(self.running, key=lambda j: (ends[j], j.number)):
            if free >= head.nodes:
                break
            free, at_s = free + each.nodes, ends[each]
        if free < head.nodes:
            at_s = math.inf  # it waits for a rack that is down
        extra = free - head.nodes  # nodes that it leaves when it starts
        for job in list(self.waiting[1:]):
            ends_before = now_s + job.left_s <= at_s
            if self._fits(job) and (ends_before or job.nodes <= extra):
                extra -= 0 if ends_before else job.nodes
                self._begin(job)

    def _preempt(self, head: JobRun) -> None:
        """Let jobs of lower priority give their nodes to the first of the queue."""
        free = self._nodes.free(self._now()) + sum(j.nodes for j in self.running if j.stops)
        lower = [j for j in self.running if j.priority < head.priority and not j.stops]
        # Of the lowest priority the youngest first, which has the least to do again.
        lower.sort(key=lambda j: (j.priority, -j.arrives_s, -j.number))
        if free + sum(each.nodes for each in lower) < head.nodes:
            return
        for job in lower:
            if free >= head.nodes:
                return
            free += job.nodes
            job.stops = True
            self._stop(job)
