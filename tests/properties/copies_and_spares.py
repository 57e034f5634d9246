"""Replication as docs/semantics.md tells it, server by server; shares no code with cprsim."""

from dataclasses import dataclass

from tests.properties import one_run
from tests.properties.one_run import OneRun


@dataclass(frozen=True, kw_only=True)
class Job(one_run.Job):
    """What the job is, what its stages take, and when what fails; all in seconds.

    `copy_s`: filling a replacement from a copy; `takeover_s`: until copies serve in its place.
    `delays_s`: until other machines can be had, failure by failure.
    """

    copies: int
    spares: int
    takeover_s: float
    copy_s: float
    during_recovery: bool
    delays_s: tuple[float, ...]


class CopiesAndSpares(OneRun):
    """One run; `there_at` is when the machine of a server that is rebuilt stands in its place."""

    job: Job

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.there_at: dict[int, float] = {}
        self.pool = [0.0] * job.spares

    @property
    def rebuilt(self) -> set[int]:
        """Servers whose copies serve in their place, for they are not filled yet."""
        return {each for each, at_s in self.there_at.items() if at_s + self.job.copy_s > self.now}

    def absorb(self) -> None:
        while self.fails_at < self.now:
            self.strikes.pop(0)
            self.told["absorbed"] += 1

    def recover(self) -> bool:
        job = self.job
        waited_for: set[int] = set()
        rolled_back = False
        while True:
            rebuilt = self.rebuilt
            lost = set(self.strikes.pop(0).servers) - rebuilt
            self.told["failures"] += 1
            wait_s = self.machines(len(lost))
            waited_for |= lost
            if not rolled_back and not self.shard_gone(waited_for | rebuilt):
                self.keep_training(lost, wait_s)
                return False
            rolled_back = True
            self.roll_back()
            ready_at = [self.there_at[each] for each in rebuilt]
            waited_for, self.there_at = waited_for | rebuilt, {}
            self.spend("detect", job.detect_s)
            self.spend("reschedule", max([0.0, wait_s, *(at_s - self.now for at_s in ready_at)]))
            self.absorb()
            end = self.now + job.load_s
            if self.fails_at >= end or not job.during_recovery:
                self.spend("load", job.load_s)
                self.absorb()
                return True
            self.spend("load", self.fails_at - self.now)
            self.now = self.fails_at

    def keep_training(self, lost: set[int], wait_s: float) -> None:
        """The copies take over, and replacements are filled from them."""
        self.spend("detect", self.job.detect_s)
        self.there_at |= dict.fromkeys(lost, self.now + wait_s)
        if lost:
            self.spend("reschedule", self.job.takeover_s)
        self.absorb()

    def shard_gone(self, down: set[int]) -> bool:
        """Whether some shard has lost every copy; those of shard i are on i, i + 1, ..."""
        size, copies = self.job.servers, range(self.job.copies)
        return any(all((shard + copy) % size in down for copy in copies) for shard in range(size))

    def machines(self, count: int) -> float:
        """How long so many machines are waited for: the first that are ready go."""
        delay_s = self.job.delays_s[int(self.told["failures"]) - 1]
        if not self.job.spares:
            return delay_s
        ready = sorted([*self.pool, *[self.now + delay_s] * count])
        self.pool = ready[count:]
        return max(0.0, ready[count - 1] - self.now) if count else 0.0
