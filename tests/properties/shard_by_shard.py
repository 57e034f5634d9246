"""Accepted loss as docs/semantics.md tells it, shard by shard; shares no code with cprsim.

Each shard knows how many useful seconds of training it holds. What is missing at the end was lost.
"""

import math
from dataclasses import dataclass, field

from tests.properties.one_run import learning_lost


@dataclass(frozen=True)
class Strike:
    """One failure: the second at which it comes, and whom it hits."""

    at_s: float
    servers: tuple[int, ...] = ()
    trainers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Job:
    """What the job is, what its stages take, and when what fails; all in seconds."""

    useful_s: float
    servers: int
    trainers: int
    interval_s: float
    snapshot_s: float
    save_s: float
    detect_s: float
    reschedule_s: float
    load_s: float
    strikes: tuple[Strike, ...]


class NobodyLeftError(Exception):
    """All servers or all trainers are down: then the job waits, which is not told here."""


Node = tuple[str, int]


@dataclass
class ShardByShard:
    """One run; a shard that is down learns nothing, and returns to its last usable checkpoint."""

    job: Job
    now: float = 0.0
    progress: float = 0.0
    due: float = math.inf
    saved_at: float = 0.0  # progress
    landing: tuple[float, float, list[float]] | None = None  # second, progress, what it holds
    back_at: dict[Node, float] = field(default_factory=dict)  # of nodes that are down
    told: dict[str, float] = field(default_factory=dict)

    def run(self) -> dict[str, float]:
        """Play the job to its end: entries of the ledger that may differ from 0."""
        job = self.job
        self.strikes = list(job.strikes)
        self.holds, self.saved = [0.0] * job.servers, [0.0] * job.servers
        self.due = job.interval_s
        causes = ("stall", "detect", "slowdown", "pls", "failures", "absorbed", "saves")
        self.told = dict.fromkeys(causes, 0.0)
        while self.progress < job.useful_s:
            if self.progress >= self.due and self.landing is None:
                self.snapshot()
            else:
                self.train()
        all_s = job.servers * job.useful_s
        self.told["pls"] /= all_s
        stored = {"stored": self.told["saves"]}
        lacks = [job.useful_s - each for each in self.holds]
        lost = {
            "updates_lost": math.fsum(lacks) / all_s,
            "learning_lost": learning_lost(lacks, job.useful_s),
        }
        return self.told | stored | lost | {"train": job.useful_s, "wall": self.now}

    @property
    def fails_at(self) -> float:
        return self.strikes[0].at_s if self.strikes else math.inf

    def train(self) -> None:
        """Train to the next thing that happens."""
        job = self.job
        down = sum(kind == "trainer" for kind, _ in self.back_at)
        pace = job.trainers / (job.trainers - down) if down else 1.0  # seconds per useful second
        goal = job.useful_s if self.progress >= self.due else min(job.useful_s, self.due)
        end = self.now + (goal - self.progress) * pace
        landing = self.landing[0] if self.landing else math.inf
        stop = min(end, self.fails_at, landing, *self.back_at.values())
        done = goal - self.progress if stop == end else (stop - self.now) / pace
        self.told["slowdown"] += stop - self.now - done
        for server in range(job.servers):
            if ("server", server) not in self.back_at:
                self.holds[server] += done
        self.progress = goal if stop == end else self.progress + done
        self.go_on_to(stop)
        if stop == self.fails_at and self.progress < job.useful_s:
            self.fail()

    def snapshot(self) -> None:
        """Hold training up, failures or not, and leave the rest to the background."""
        left = self.job.snapshot_s
        while left > 0:
            start, end = self.now, self.now + left
            self.go_on_to(min(end, self.fails_at))
            self.told["stall"] += self.now - start
            left = 0.0 if self.now == end else left - (self.now - start)
            if left:
                self.fail()
        self.landing = (self.now + self.job.save_s, self.progress, list(self.holds))
        self.due = self.progress + self.job.interval_s

    def go_on_to(self, now: float) -> None:
        """See off what ends in the background until then."""
        self.now = now
        if self.landing and self.landing[0] <= now:
            _, self.saved_at, self.saved = self.landing
            self.landing = None
            self.told["saves"] += 1
        self.back_at = {node: at_s for node, at_s in self.back_at.items() if at_s > now}

    def fail(self) -> None:
        """Set lost shards back; training stops only until the failure is noticed."""
        job, strike = self.job, self.strikes.pop(0)
        self.told["failures"] += 1
        servers = [each for each in strike.servers if ("server", each) not in self.back_at]
        trainers = [each for each in strike.trainers if ("trainer", each) not in self.back_at]
        for server in servers:
            self.told["pls"] += self.progress - self.saved_at
            self.holds[server] = self.saved[server]
        if servers:
            self.landing = None
        placed_at = self.now + job.detect_s + job.reschedule_s
        self.back_at |= {("server", each): placed_at + job.load_s for each in servers}
        self.back_at |= {("trainer", each): placed_at for each in trainers}
        kinds = [kind for kind, _ in self.back_at]
        if job.servers == kinds.count("server") or 0 < job.trainers == kinds.count("trainer"):
            raise NobodyLeftError
        self.told["detect"] += job.detect_s
        self.go_on_to(self.now + job.detect_s)
        while self.fails_at < self.now:
            self.strikes.pop(0)
            self.told["absorbed"] += 1
