"""The queue: which job gets nodes next, and which gives them back for it."""

import math
from collections.abc import Callable

from cprsim.clusters.job_run import JobRun
from cprsim.clusters.nodes import Nodes
from cprsim.clusters.spec import Scheduler


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
