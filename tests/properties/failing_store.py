"""Saves that turn out void and loads that fail, after docs/semantics.md; no code of cprsim."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.properties import one_run
from tests.properties.one_run import OneRun


@dataclass(frozen=True, kw_only=True)
class Job(one_run.Job):
    """What the job is, what its stages take, and when what fails; all in seconds.

    `partial`: lost shards alone return to a checkpoint. `retry`: a void save is tried again, else
    left out. `voids`, `failed`: of each save and load in turn whether it is in vain. `outages`:
    from when to when the store is away.
    """

    partial: bool
    retry: bool
    final_save: bool
    reschedule_s: float
    voids: Iterator[bool]
    failed: Iterator[bool]
    outages: tuple[tuple[float, float], ...] = ()


class FailingStore(OneRun):
    """One run."""

    job: Job

    def __init__(self, job: Job) -> None:
        super().__init__(job)
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
        """From a failure until training can go on; one while loading has it begin again."""
        self.unloaded: set[int] = set()
        loaded = False
        while not loaded:
            self.fail({*self.strikes.pop(0).servers})
            self.spend("detect", self.job.detect_s)
            self.spend("reschedule", self.job.reschedule_s)
            while self.fails_at < self.now:
                self.strikes.pop(0)
                self.told["absorbed"] += 1
            loaded = self.load()
        return not self.job.partial

    def load(self) -> bool:
        """Load until that succeeds; whether it did before the next failure."""
        while True:
            took, since = min(self.job.load_s, self.fails_at - self.now), self.now
            self.spend("load", took)
            if took < self.job.load_s:
                return False
            if not self.job.load_s or not (next(self.job.failed) | self.was_away(since)):
                return True
            self.in_vain["load"] += 1

    def was_away(self, since: float) -> bool:
        """Whether the store was for some of the time."""
        return any(start < self.now and since < end for start, end in self.job.outages)

    def fail(self, hit: set[int]) -> None:
        self.told["failures"] += 1
        if not self.job.partial:
            self.roll_back()
            return
        self.lose(hit - self.unloaded)
        self.unloaded |= hit
