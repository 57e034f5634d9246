"""Full and partial recovery after docs/semantics.md; no code of cprsim.

Nodes that are up can fail while others are waited for, saves turn out void, and loads fail.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.properties import one_run
from tests.properties.one_run import OneRun


@dataclass(frozen=True, kw_only=True)
class Job(one_run.Job):
    """What the job is, what its stages take, and when what fails; all in seconds.

    `partial`: lost shards alone return to a checkpoint. `held`: nodes that are up can fail while
    others are waited for. `retry`: a void save is tried again, else left out. `delays_s`: until
    other machines can be had, failure by failure. `voids`, `failed`: of each save and load in turn
    whether it is in vain. `outages`: from when to when the store is away.
    """

    partial: bool
    held: bool
    retry: bool
    final_save: bool
    delays_s: tuple[float, ...]
    voids: Iterator[bool]
    failed: Iterator[bool]
    outages: tuple[tuple[float, float], ...] = ()


class FullAndPartial(OneRun):
    """One run. `back_at`: when the machine of a server that is away is there."""

    job: Job

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.back_at: dict[int, float] = {}
        self.in_vain = Counter[str]()

    def run(self) -> dict[str, float]:
        """Play the job to its end, and its last save: rolled back there, it trains on."""
        told = super().run()
        while self.job.final_save and self.saved < self.job.useful_s:
            if self.progress in (self.due, self.job.useful_s):
                self.save()
            else:
                self.train()
        stored = self.told["saves"] + self.in_vain["save"]
        return told | self.told | {"stored": stored, "wall": self.now}

    def save(self) -> None:
        """Under partial recovery it goes on after each recovery, else it is given up."""
        while True:
            since = self.now
            if not self.written():
                return
            if not (next(self.job.voids) | self.was_away(since)):
                break
            self.in_vain["save"] += 1
            if not self.job.retry and self.progress < self.job.useful_s:
                self.due = self.progress + self.job.interval_s
                return
        self.usable()

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
            if self.load():
                return not self.job.partial

    def load(self) -> bool:
        """Load until that succeeds; whether it did before the next failure."""
        while True:
            since = self.now
            if self.pass_until(since + self.job.load_s, "load", True):
                return False
            if not self.job.load_s or not (next(self.job.failed) | self.was_away(since)):
                return True
            self.in_vain["load"] += 1

    def was_away(self, since: float) -> bool:
        """Whether the store was for some of the time."""
        return any(start < self.now and since < end for start, end in self.job.outages)

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
