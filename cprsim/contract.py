"""The policy contract: a policy is a value, and everything that runs it reads this module alone.

    Policy.plan(context) -> Plan      every number resolved; pure
    Plan.start() -> Controller        the state of one run, driven by tell(event) and ask(now)

Actions and events are plain data: the simulator charges them, a trainer carries them out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Protocol

from pydantic import BeforeValidator, PlainSerializer

from cprsim import units
from cprsim.costs import CostModel, Rollback
from cprsim.rows.model import RowModel
from cprsim.schema import Section

# --- Actions: what a controller asks for ---------------------------------------------------------


class Train(NamedTuple):
    """Train until the job's progress is `until_s` useful seconds, or until something happens."""

    until_s: float


class Save(NamedTuple):
    """Save to the remote store.

    `blocking`: training waits until the last byte is stored. Otherwise it waits `stall_s` seconds
    for a snapshot, and the save goes on in the background. `portion`: the share of the rows that
    is saved, those that a tracker selects; below 1 it goes with `Plan.left`.
    """

    blocking: bool = True
    stall_s: float = 0.0
    portion: float = 1.0


class Recover(NamedTuple):
    """Bring a job that lost nodes back to training.

    `rollback`: who returns to the last checkpoint: `"all"` nodes, the `"lost"` shards alone, or
    `"none"` (lost shards, if any, are copied from replicas). `keep_training`: the rest trains on
    while the lost nodes are replaced and filled; otherwise it waits for them.
    """

    rollback: Rollback
    keep_training: bool = False


Action = Train | Save | Recover

# --- Events: what a controller is told ----------------------------------------------------------


class Clock(NamedTuple):
    """Now: wall-clock seconds since the start, and useful seconds of training done."""

    wall_s: float
    progress_s: float


class Loss(NamedTuple):
    """What is down after a failure: servers without their state, and trainers, by index."""

    servers: frozenset[int]
    trainers: frozenset[int]


class Saved(NamedTuple):
    """Training may go on after a save; the checkpoint is usable if `stored`, else later."""

    now: Clock
    stored: bool


class Stored(NamedTuple):
    """The last byte of a background save is stored: its checkpoint is usable from now on."""

    now: Clock


class Failed(NamedTuple):
    """Nodes failed; the next `ask` must answer with `Recover`. Background saves may be void."""

    now: Clock
    loss: Loss


class Resumed(NamedTuple):
    """Training can go on after a recovery, from `now.progress_s`; `pending` background saves."""

    now: Clock
    pending: int


Event = Saved | Stored | Failed | Resumed


class Controller(Protocol):
    """The state of one run of a policy. It has no clock of its own: its caller tells the time."""

    def tell(self, event: Event) -> None:
        """Something has happened."""

    def ask(self, now: Clock) -> Action:
        """What to do next; after `Failed` a `Recover`, otherwise `Train` or `Save`."""


# --- Plan: every number of a policy, resolved ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """What a policy comes to in one scenario.

    `interval_s`: useful seconds in which as much is saved as one full checkpoint holds; infinite
    for none. `save` is due every `interval_s * save.portion`, counted from the end of the one
    before. `left`: updates that a shard would lose just after the 1st, 2nd, ... save since it was
    last whole, in units of those of one interval; the last holds for all later saves.
    `max_pending`: background saves that may be under way at once. `recover`: the answer to each
    loss. `slowdown`: share of time added to every useful second; `push_factor`: how often each
    update is pushed; `memory_overhead`: memory that the policy takes, as a share of that of the
    rows that it copies or tracks.
    """

    recovery: Literal["full", "partial", "replica"]
    interval_s: float
    save: Save
    recover: Callable[[Loss], Recover]
    max_pending: int = 1
    slowdown: float = 0.0
    push_factor: float = 1.0
    memory_overhead: float = 0.0
    left: tuple[float, ...] = (0.0,)

    @property
    def period_s(self) -> float:
        """Useful seconds from the end of one save to the start of the next."""
        return self.interval_s * self.save.portion

    def start(self) -> Controller:
        """A controller that saves at the plan's interval."""
        return ScheduledController(self)


class ScheduledController:
    """Saves at a fixed interval, answers losses by the plan's rule: all a static policy needs."""

    __slots__ = ("_due_s", "_loss", "_pending", "_period_s", "_plan", "_train")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._period_s = plan.period_s
        self._schedule(0.0)
        self._pending = 0
        self._loss: Loss | None = None

    def tell(self, event: Event) -> None:
        """Move the schedule on."""
        if isinstance(event, Saved):
            self._schedule(event.now.progress_s)
            self._pending += not event.stored
        elif isinstance(event, Stored):
            self._pending -= 1
        elif isinstance(event, Failed):
            self._loss = event.loss
        elif self._due_s - event.now.progress_s > self._period_s:
            # Progress went back: the next save is one period of training away from there.
            self._schedule(event.now.progress_s)
            self._pending = event.pending
        else:
            self._pending = event.pending

    def ask(self, now: Clock) -> Action:
        """Recover after a failure; save when one is due and none too many are under way; train."""
        if self._loss is not None:
            loss, self._loss = self._loss, None
            return self._plan.recover(loss)
        if now.progress_s < self._due_s:
            return self._train
        if self._pending < self._plan.max_pending:
            return self._plan.save
        return Train(math.inf)

    def _schedule(self, progress_s: float) -> None:
        """The next save is due one period of training after `progress_s`."""
        self._due_s = progress_s + self._period_s
        self._train = Train(self._due_s)


# --- Policy: what a scenario file names ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Context:
    """What a policy may know when it plans: the job and the cluster, never the timeline.

    `mtbf_s`: mean time between failures of the job, s (infinite for none). `servers_hit`: mean
    number of parameter servers that one failure takes down, `trainers_hit` of trainers.
    `server_failure_share`: share of the failures that take down at least one parameter server.
    `samples`: of the whole job, `rows`: those of its model; None where the scenario doesn't tell.
    """

    useful_time_s: float
    servers: int
    trainers: int
    costs: CostModel
    mtbf_s: float
    servers_hit: float
    server_failure_share: float
    trainers_hit: float = 0.0
    samples: int | None = None
    rows: RowModel | None = None

    def portion_save_s(self, portion: float) -> float:
        """One save of `portion` of the rows with the links to itself, s."""
        return self.costs.seconds(self.costs.save_portion(portion))

    @property
    def save_s(self) -> float:
        """One save of everything with the links to itself, s."""
        return self.costs.seconds(self.costs.save)


class Policy(Section):
    """What is done about failures; one `[policies.NAME]` table of a scenario.

    A subclass names its `system` (a `Literal`), its own keys, and `plan`. Its docstring names the
    paper, the equations and the assumptions. `plan` must be pure: the same context, the same plan.
    """

    system: str

    def plan(self, context: Context) -> Plan:
        """Resolve every number for one scenario."""
        raise NotImplementedError(f"{type(self).__name__} must define plan(context)")


def _parse_interval(value: object) -> str | float:
    if value in ("optimal", "exact"):
        return str(value)
    try:
        interval_s = units.parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}; or 'optimal' or 'exact'") from None
    if interval_s <= 0:
        raise ValueError(f"{value!r} is out of range: an interval must be > 0")
    return interval_s


#: A checkpoint interval: seconds of training, or the rule that finds it.
Interval = Annotated[
    str | float,
    BeforeValidator(_parse_interval),
    PlainSerializer(lambda v: v if isinstance(v, str) else units.format_exact(v, units.SECONDS)),
]
