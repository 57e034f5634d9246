"""A job in one replication of a cluster, as the scheduler, the links and the results know it."""

from dataclasses import dataclass, field
from typing import Any

from cprsim.clusters.jobs import ClusterJob
from cprsim.failures.hits import Hit
from cprsim.sim.observer import BackgroundTask, Observer

#: States of a job at the end of the simulation.
ENDED, RUNNING, WAITING, HOPELESS = "ended", "running", "waiting", "hopeless"


class JobWatch(Observer):
    """Failures of a job, and its time without training, in seconds of the cluster."""

    def __init__(self) -> None:
        self.start_s = 0.0
        self.waits = False
        self.spans: list[tuple[str, float, float]] = []
        self.in_background: list[tuple[float, float]] = []
        self.failures: list[float] = []

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Keep what is no training; the scheduler reports the wait for nodes."""
        if cause != "train" and start_s < end_s and not self.waits:
            self.spans.append((cause, self.start_s + start_s, self.start_s + end_s))

    def failure(self, at_s: float, hit: Hit) -> None:  # noqa: ARG002  (of the protocol)
        """Keep when a failure struck."""
        self.failures.append(self.start_s + at_s)

    def background(
        self,
        task: BackgroundTask,
        start_s: float,
        end_s: float,
        completed: bool,  # noqa: ARG002
    ) -> None:
        """Keep saves and loads that run during training."""
        if task.kind != "reschedule" and end_s > start_s:
            self.in_background.append((self.start_s + start_s, self.start_s + end_s))


@dataclass(eq=False)
class JobRun:
    """A job of a cluster under way.

    `job`, `number`: the job, and its place among all. `arrives_s`: when it comes. `state`: one of
    the states above.

    Of the scheduler: `racks`, the rack of each of its nodes, servers first, while it has them;
    `had`, when it had nodes, from and to, s; `expected_s`, when it is expected to end; `left_s`,
    how long it is expected to run once it has nodes; `stops`, whether it is to give them back.

    What came of it: `row`, the columns of its ledger, once it has ended; `alone`, those with the
    cluster to itself; `progress`, the share of its useful time that is done; `stretch`, how many
    times as long its saves took as they would have alone; `watch`, what it did when.
    """

    job: ClusterJob
    number: int
    arrives_s: float
    left_s: float
    watch: JobWatch | None = None
    state: str = WAITING
    racks: list[int] = field(default_factory=list)
    first_racks: list[int] = field(default_factory=list)
    had: list[list[float]] = field(default_factory=list)
    expected_s: float = 0.0
    stops: bool = False
    row: list[float] | None = None
    alone: list[float] | None = None
    progress: float = 0.0
    stretch: float = 1.0
    # While it runs: its player, its part of the links, its failures and its process.
    player: Any = None
    member: Any = None
    timeline: Any = None
    process: Any = None

    @property
    def name(self) -> str:
        """Name of the job."""
        return self.job.name

    @property
    def nodes(self) -> int:
        """Number of its nodes."""
        return self.job.nodes

    @property
    def priority(self) -> int:
        """Its priority; higher ones first."""
        return self.job.priority

    @property
    def useful_s(self) -> float:
        """Useful training time, s."""
        return self.job.scenario.job.useful_time_s

    def clear(self) -> None:
        """Let go of what it needs while it runs, tables as large as the job."""
        self.player = self.member = self.timeline = self.process = None
