"""What oracles of whole runs share: the job goes on from save to save, and fails meanwhile."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Strike:
    """One failure: the second at which it comes, and the servers that it hits."""

    at_s: float
    servers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every job is, what its stages take, and when which servers fail; s, all of it."""

    useful_s: float
    servers: int
    interval_s: float
    save_s: float
    detect_s: float
    load_s: float
    strikes: tuple[Strike, ...]


def learning_lost(lacks: Sequence[float], useful_s: float) -> float:
    """The mean over shards of -ln of what each has kept; of nothing kept, of a ten-thousandth."""
    kept = (max(1 - each / useful_s, 1e-4) for each in lacks)
    return -math.fsum(map(math.log, kept)) / len(lacks)


@dataclass
class OneRun:
    """One run of a job; s, all of it."""

    job: Any
    now: float = 0.0
    progress: float = 0.0
    saved: float = 0.0  # progress
    told: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.learned = [0.0] * self.job.servers  # progress that a shard lacks nothing since

    def run(self) -> dict[str, float]:
        """Play the job to its end: entries of the ledger that may differ from 0."""
        self.strikes, self.due = list(self.job.strikes), self.job.interval_s
        causes = ("save", "load", "detect", "reschedule", "lost", "failures", "absorbed", "saves")
        self.told = dict.fromkeys((*causes, "pls", "updates_lost", "learning_lost"), 0.0)
        self.lacks = [0.0] * self.job.servers  # useful seconds that a shard has lost for good
        while self.progress < self.job.useful_s:
            if self.progress == self.due:
                self.save()
            else:
                self.train()
        stored = {"stored": self.told["saves"]}
        return self.told | stored | {"train": self.job.useful_s, "wall": self.now}

    def save(self) -> None:
        """Save, whatever fails meanwhile."""
        if self.written():
            self.usable()

    def written(self) -> bool:
        """Spend what a save takes; it goes on after a recovery, unless the whole job went back."""
        left = self.job.save_s
        while left > 0:
            took = min(left, self.fails_at - self.now)
            self.spend("save", took)
            left -= took
            if left > 0 and self.recover():
                return False
        return True

    def usable(self) -> None:
        """A save holds all that was learned."""
        self.saved, self.due = self.progress, self.progress + self.job.interval_s
        self.learned = [self.progress] * self.job.servers
        self.told["saves"] += 1

    def recover(self) -> bool:
        """From a failure until training can go on; whether the whole job went back."""
        raise NotImplementedError

    def lose(self, servers: set[int]) -> None:
        """These shards alone return to the last save."""
        share = self.job.useful_s * self.job.servers
        for server in servers:
            self.told["pls"] += (self.progress - self.saved) / share
            self.told["updates_lost"] += (self.progress - self.learned[server]) / share
            self.lacks[server] += self.progress - self.learned[server]
            self.told["learning_lost"] = learning_lost(self.lacks, self.job.useful_s)
            self.learned[server] = self.progress

    @property
    def fails_at(self) -> float:
        return self.strikes[0].at_s if self.strikes else math.inf

    def train(self) -> None:
        goal = min(self.due, self.job.useful_s)
        end = self.now + goal - self.progress
        if end <= self.fails_at:
            self.now, self.progress = end, goal
        else:
            self.progress += self.fails_at - self.now
            self.now = self.fails_at
            self.recover()

    def spend(self, cause: str, seconds: float) -> None:
        self.told[cause] += seconds
        self.now += seconds

    def roll_back(self) -> None:
        """The whole job returns to its last save."""
        self.told["lost"] += self.progress - self.saved
        self.progress = self.saved
        self.due = min(self.due, self.saved + self.job.interval_s)
