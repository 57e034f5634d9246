"""What oracles of whole runs share: the job goes on from save to save, and fails meanwhile."""

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Strike:
    """One failure: the second at which it comes, and the servers that it hits."""

    at_s: float
    servers: tuple[int, ...]


@dataclass
class OneRun:
    """One run of a job that has `useful_s`, `interval_s` and `strikes`; s, all of it."""

    job: Any
    now: float = 0.0
    progress: float = 0.0
    saved: float = 0.0  # progress
    told: dict[str, float] = field(default_factory=dict)

    def run(self) -> dict[str, float]:
        """Play the job to its end: entries of the ledger that may differ from 0."""
        self.strikes, self.due = list(self.job.strikes), self.job.interval_s
        causes = ("save", "load", "detect", "reschedule", "lost", "failures", "absorbed", "saves")
        self.told = dict.fromkeys((*causes, "pls", "updates_lost"), 0.0)
        while self.progress < self.job.useful_s:
            if self.progress == self.due:
                self.save()
            else:
                self.train()
        stored = {"stored": self.told["saves"]}
        return self.told | stored | {"train": self.job.useful_s, "wall": self.now}

    def save(self) -> None:
        """Save, whatever fails meanwhile."""
        raise NotImplementedError

    def recover(self) -> object:
        """From a failure until training can go on."""
        raise NotImplementedError

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
