"""An observer that records a run, and finds out later which training was lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cprsim.contract import Plan, Recover
from cprsim.contract.ledger import Ledger
from cprsim.failures.hits import Hit
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from cprsim.sim.history.phases import Phase
from cprsim.sim.observer import BackgroundTask, Observer

#: Seconds below which lies only the rounding of what was added up.
_ROUNDING_S = 1e-9
#: Causes of the phases of a recovery.
_RECOVERY = ("detect", "reschedule", "load")


class Failure(NamedTuple):
    """When a failure struck, what it hit, and what was done about it."""

    at_s: float
    hit: Hit
    answer: Recover


class Background(NamedTuple):
    """A task during training, and whether it was completed or given up."""

    task: BackgroundTask
    start_s: float
    end_s: float
    completed: bool


class Recovery(NamedTuple):
    """A phase in which the job recovers, the servers that are down, and what those up load from.

    `loads_from`: tiers.
    """

    phase: Phase
    down: frozenset[int]
    loads_from: frozenset[str]


@dataclass(frozen=True, slots=True)
class History:
    """One run under one policy.

    `phases` tile the wall clock, and add up to the seconds of the `ledger` by cause. `failures` and
    `background` are in order of time; tasks in the background may overlap. `servers` and `trainers`
    are numbers of nodes. `recoveries`: the phases of all recoveries, in order.
    """

    policy: str
    plan: Plan
    seed: int
    replication: int
    servers: int
    trainers: int
    phases: list[Phase]
    failures: list[Failure]
    background: list[Background]
    recoveries: list[Recovery]
    ledger: Ledger


def record(scenario: Scenario, policy: str, seed: int = 0, replication: int = 0) -> History:
    """Play one replication of a scenario under one of its policies, and write it down.

    Raises
    ------
    ScenarioError
        For a policy that the scenario doesn't have.
    RunError
        If the job makes no progress.
    """
    (policy,) = scenario.select([policy])
    recorder = Recorder()
    ledger = play(scenario, policy, seed, replication, recorder)
    return History(
        policy=policy,
        plan=scenario.plan(policy),
        seed=seed,
        replication=replication,
        servers=scenario.cluster.parameter_servers,
        trainers=scenario.cluster.trainers,
        phases=recorder.phases(),
        failures=recorder.failures,
        background=sorted(recorder.tasks, key=lambda each: each.start_s),
        recoveries=recorder.recoveries,
        ledger=ledger,
    )


class Recorder(Observer):
    """Writes down what it sees.

    Training counts until a rollback takes it back: from the newest backwards, as many useful
    seconds, and as many that slowdown added, as the job has lost. So what is `lost` is known only
    at the end.
    """

    def __init__(self) -> None:
        self.failures: list[Failure] = []
        self.tasks: list[Background] = []
        self.recoveries: list[Recovery] = []
        self._down, self._loads_from = frozenset[int](), frozenset[str]()  # since it last trained
        self._fresh, self._fresh_from = frozenset[int](), frozenset[str]()  # since the last span
        self._spans: list[_Span] = []
        self._counting: list[_Span] = []  # training that has not been rolled back
        self._progress_s = 0.0
        self._slower_s = 0.0
        self._unanswered = False

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Write it down."""
        span = _Span(cause, start_s, end_s)
        self._spans.append(span)
        if end_s > start_s:
            recovers = cause in _RECOVERY
            self._down = self._fresh | self._down if recovers else self._fresh
            self._loads_from = self._fresh_from | self._loads_from if recovers else self._fresh_from
            self._fresh, self._fresh_from = frozenset(), frozenset()
            if recovers:
                phase = Phase(cause, start_s, end_s)
                self.recoveries.append(Recovery(phase, self._down, self._loads_from))
        if cause == "train":
            span.useful_s = end_s - start_s
            self._progress_s += span.useful_s
            self._counting.append(span)

    def slowed(self, by_s: float) -> None:
        """Part of the training that was seen last is slowdown."""
        span = self._counting[-1]
        span.useful_s -= by_s
        span.slower_s += by_s
        self._progress_s -= by_s
        self._slower_s += by_s

    def failure(self, at_s: float, hit: Hit) -> None:
        """Write it down; the answer comes next."""
        self.failures.append(Failure(at_s, hit, Recover("none")))
        self._fresh |= frozenset(hit.servers)
        self._unanswered = True

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        """Take back what the job has lost."""
        if self._unanswered:  # else a silent fault was found
            self.failures[-1] = self.failures[-1]._replace(answer=answer)
            if answer.loads == "all":
                self._fresh_from |= {answer.source}
        self._unanswered = False
        if answer.rollback != "all":
            return
        self._take_back(self._progress_s - progress_s, self._slower_s - slowdown_s)
        self._progress_s, self._slower_s = progress_s, slowdown_s

    def background(
        self, task: BackgroundTask, start_s: float, end_s: float, completed: bool
    ) -> None:
        """Write it down."""
        self.tasks.append(Background(task, start_s, end_s, completed))
        if not completed:  # the job waits for nodes whose rebuild was given up
            self._fresh |= task.servers

    def phases(self) -> list[Phase]:
        """All that was seen, in order."""
        return [
            phase for span in self._spans for phase in span.phases() if phase.end_s > phase.start_s
        ]

    def _take_back(self, useful_s: float, slower_s: float) -> None:
        # Two walks: a mirror's checkpoint may lie within one span by its useful seconds, and within
        # another by those that slowdown added.
        for span in reversed(self._counting):
            if useful_s <= 0:
                break
            taken_s = min(span.useful_s, useful_s)
            span.useful_s -= taken_s
            useful_s -= taken_s
        for span in reversed(self._counting):
            if slower_s <= 0:
                break
            taken_s = min(span.slower_s, slower_s)
            span.slower_s -= taken_s
            slower_s -= taken_s
        while self._counting and self._counting[-1].counts_s <= _ROUNDING_S:
            self._counting.pop()


class _Span:
    """Return the phases as seen; of training, the seconds that still count."""

    __slots__ = ("cause", "end_s", "slower_s", "start_s", "useful_s")

    def __init__(self, cause: str, start_s: float, end_s: float) -> None:
        self.cause, self.start_s, self.end_s = cause, start_s, end_s
        self.useful_s = self.slower_s = 0.0

    @property
    def counts_s(self) -> float:
        return self.useful_s + self.slower_s

    def phases(self) -> Iterator[Phase]:
        """Return the parts in order: training that counts comes before training that was lost."""
        if self.cause != "train":
            yield Phase(self.cause, self.start_s, self.end_s)
            return
        lost_from_s = self.start_s + self.counts_s
        if self.end_s - lost_from_s <= _ROUNDING_S:
            lost_from_s = self.end_s
        elif self.counts_s <= _ROUNDING_S:
            lost_from_s = self.start_s
        slower_s = min(self.slower_s, lost_from_s - self.start_s)
        yield Phase("train", self.start_s, lost_from_s, slower_s)
        yield Phase("lost", lost_from_s, self.end_s)
