"""Nodes that fail while others are waited for, after docs/semantics.md; no code of cprsim."""

from dataclasses import dataclass

from tests.properties import one_run
from tests.properties.one_run import OneRun


@dataclass(frozen=True, kw_only=True)
class Job(one_run.Job):
    """What the job is, what its stages take, and when what fails; all in seconds.

    `partial`: lost shards alone return to a checkpoint. `held`: nodes that are up can fail while
    others are waited for. `delays_s`: until other machines can be had, failure by failure.
    """

    partial: bool
    held: bool
    delays_s: tuple[float, ...]


class HeldNodes(OneRun):
    """One run. `back_at`: when the machine of a server that is away is there."""

    job: Job

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.back_at: dict[int, float] = {}

    def recover(self) -> bool:
        """From a failure until training can go on: notice, wait for all machines, load."""
        self.unloaded: set[int] = set()
        self.fail({*self.strikes.pop(0).servers})
        while True:
            waited_until = max(self.noticed_at, *self.back_at.values())
            if self.pass_until(self.noticed_at, "detect", self.job.held):
                continue
            if self.pass_until(waited_until, "reschedule", self.job.held):
                continue
            if not self.pass_until(self.now + self.job.load_s, "load", True):
                return not self.job.partial

    def pass_until(self, end: float, cause: str, can_fail: bool) -> bool:
        """Whether a failure has come before."""
        while self.fails_at < end:
            up = {s for s in self.strikes[0].servers if self.back_at.get(s, 0) <= self.fails_at}
            if can_fail and up:
                self.spend(cause, self.fails_at - self.now)
                self.strikes.pop(0)
                self.fail(up)
                return True
            self.strikes.pop(0)
            self.told["absorbed"] += 1
        self.spend(cause, end - self.now)
        return False

    def fail(self, hit: set[int]) -> None:
        job = self.job
        delay_s = job.delays_s[int(self.told["failures"])]
        self.told["failures"] += 1
        self.noticed_at = self.now + job.detect_s
        self.back_at |= dict.fromkeys(hit, self.noticed_at + delay_s)
        if job.partial:
            self.lose(hit - self.unloaded)
            self.unloaded |= hit
        else:
            self.roll_back()
