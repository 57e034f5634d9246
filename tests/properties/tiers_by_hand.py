"""Two tiers of checkpoints as docs/semantics.md tells them; shares no code with cprsim.

The near tier is local, with blocking saves, or mirrors every step in the memory of a neighbour;
the remote one is saved to in the background. The whole job returns to the nearest that survived.
"""

import math
from dataclasses import dataclass, field

SEVERITIES = ("process", "node", "cluster")


@dataclass(frozen=True)
class Strike:
    """One failure: the second at which it comes, the server that it hits, and how hard."""

    at_s: float
    server: int
    severity: str


@dataclass(frozen=True)
class Local:
    """Blocking saves in the hosts' own memory, s."""

    interval_s: float
    save_s: float
    load_s: float


@dataclass(frozen=True)
class Mirror:
    """Every step in the memory of the other server of a pair, `behind` steps late; s."""

    step_s: float
    behind: int
    load_s: float


@dataclass(frozen=True)
class Remote:
    """Saves in the background, s."""

    interval_s: float
    snapshot_s: float
    save_s: float
    load_s: float


@dataclass(frozen=True)
class Job:
    """What the job is, what its stages take, and when what fails; all in seconds."""

    useful_s: float
    servers: int
    near: Local | Mirror
    remote: Remote
    detect_s: float
    reschedule_s: float
    during_recovery: bool
    strikes: tuple[Strike, ...]


@dataclass
class TiersByHand:
    """One run. `landing`: when the save in the background is stored, and what progress it holds."""

    job: Job
    now: float = 0.0
    progress: float = 0.0
    returned_to: float = 0.0
    local: float = 0.0
    remote: float = 0.0
    landing: tuple[float, float] | None = None
    told: dict[str, float] = field(default_factory=dict)

    def run(self) -> dict[str, float]:
        """Play the job to its end: entries of the ledger that may differ from 0."""
        job, near = self.job, self.job.near
        self.strikes = list(job.strikes)
        self.local_due = near.interval_s if isinstance(near, Local) else math.inf
        self.remote_due = job.remote.interval_s
        causes = ("save", "stall", "load", "detect", "reschedule", "lost")
        counts = ("failures", "absorbed", "saves", "stored")
        self.told = dict.fromkeys(causes + counts, 0.0)
        while self.progress < job.useful_s:
            if self.progress >= self.remote_due and self.landing is None:
                self.save_to_remote()
            elif self.progress >= self.local_due:
                self.save_locally()
            else:
                self.train()
        return self.told | {"train": job.useful_s, "wall": self.now}

    @property
    def fails_at(self) -> float:
        return self.strikes[0].at_s if self.strikes else math.inf

    # --- Training and saving ---------------------------------------------------------------------

    def train(self) -> None:
        goals = [self.job.useful_s, self.local_due, self.remote_due]
        goal = min(each for each in goals if each > self.progress)
        landing = self.landing[0] if self.landing else math.inf
        end = self.now + goal - self.progress
        stop = min(end, landing, self.fails_at)
        self.progress = goal if stop == end else self.progress + stop - self.now
        self.go_on_to(stop)
        if stop == self.fails_at and self.progress < self.job.useful_s:
            self.recover()

    def save_to_remote(self) -> None:
        remote, progress = self.job.remote, self.progress
        if self.comes_through("stall", remote.snapshot_s):
            self.landing = (self.now + remote.save_s, progress)
            self.remote_due = progress + remote.interval_s

    def save_locally(self) -> None:
        near, progress = self.job.near, self.progress
        assert isinstance(near, Local)
        if self.comes_through("save", near.save_s):
            self.local, self.local_due = progress, progress + near.interval_s
            self.told["saves"] += 1

    def comes_through(self, cause: str, seconds: float) -> bool:
        """Spend the time of a save, unless a failure makes it worthless."""
        start, end = self.now, self.now + seconds
        self.go_on_to(min(end, self.fails_at))
        self.told[cause] += self.now - start
        if self.now < end:
            self.recover()
            return False
        return True

    def go_on_to(self, now: float) -> None:
        self.now = now
        if self.landing and self.landing[0] <= now:
            self.remote, self.landing = self.landing[1], None
            self.told["saves"] += 1
            self.told["stored"] += 1

    # --- Recovery --------------------------------------------------------------------------------

    def recover(self) -> None:
        """Failures while loading are part of it, and are answered together."""
        job = self.job
        hit: set[int] = set()
        worst, void = 0, self.landing is not None
        self.landing = None
        while True:
            strike = self.strikes.pop(0)
            self.told["failures"] += 1
            worst = max(worst, SEVERITIES.index(strike.severity))
            hit |= set(range(job.servers)) if strike.severity == "cluster" else {strike.server}
            near_survived = self.survives(hit, SEVERITIES[worst])
            self.roll_back(near_survived)
            self.spend("detect", job.detect_s)
            self.spend("reschedule", job.reschedule_s)
            self.absorb()
            load_s = job.near.load_s if near_survived else job.remote.load_s
            if near_survived and isinstance(job.near, Mirror) and worst == 0:
                load_s = 0.0  # their own memory is still there
            if self.fails_at >= self.now + load_s or not job.during_recovery:
                self.spend("load", load_s)
                self.absorb()
                self.schedule_anew(void and near_survived)
                return
            self.told["load"] += self.fails_at - self.now
            self.now = self.fails_at

    def survives(self, hit: set[int], severity: str) -> bool:
        """Whether the near tier can answer; pairs of servers mirror each other."""
        if severity == "node" and isinstance(self.job.near, Mirror):
            return not any(each ^ 1 in hit for each in hit)
        return severity == "process"

    def roll_back(self, near_survived: bool) -> None:
        near, to = self.job.near, self.remote
        if near_survived and isinstance(near, Local):
            to = self.local
        elif near_survived and isinstance(near, Mirror):
            steps = math.floor((self.progress - self.returned_to) / near.step_s) - near.behind
            to = self.returned_to + max(steps, 0) * near.step_s
        self.told["lost"] += self.progress - to
        self.progress = self.returned_to = to
        # The remote store never knows more than the job; loading from it fills the near tier.
        self.remote = min(self.remote, to)
        if not near_survived:
            self.local = to

    def schedule_anew(self, again: bool) -> None:
        """Saves are due one interval from where the job returned to; a void one, at once."""
        near, remote = self.job.near, self.job.remote
        self.remote_due = min(self.remote_due, self.progress + remote.interval_s)
        if isinstance(near, Local):
            self.local_due = min(self.local_due, self.progress + near.interval_s)
            if again:
                self.remote_due = self.progress

    def spend(self, cause: str, seconds: float) -> None:
        self.told[cause] += seconds
        self.now += seconds

    def absorb(self) -> None:
        while self.fails_at < self.now:
            self.strikes.pop(0)
            self.told["absorbed"] += 1
