"""A plan: every number of a policy, resolved for one scenario.

Its schedules of saves, and its sequence where schedules alone don't say what the next save is, are
data that `cprsim.machine.schedules` carries out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from cprsim.contract.actions import (
    ALL_BITS,
    Controller,
    Draining,
    EmergencySave,
    Loss,
    Recover,
    Save,
    Since,
)
from cprsim.contract.answers import Answers
from cprsim.job.costs import CostModel
from cprsim.job.severity import Severity
from cprsim.job.start import mean_start
from cprsim.job.tiers import REMOTE, Tier
from cprsim.job.transfer import Transfer
from cprsim.machine import rules
from cprsim.rows.names import TrackerName

if TYPE_CHECKING:
    from cprsim.job.derived import OwnCost

Variant = Literal["intermittent", "one-shot", "consecutive"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)


class Schedule(NamedTuple):
    """Saves to one tier, and how often they are made.

    `interval_s`: useful seconds in which as much is saved as one full checkpoint holds; infinite
    for none. `save` is due every `interval_s * save.portion`, counted from the end of the one
    before. `max_pending`: background saves that may be under way at once.
    """

    interval_s: float
    save: Save = Save()
    max_pending: int = 1

    @property
    def period_s(self) -> float:
        """Useful seconds from the end of one save to the start of the next."""
        return self.interval_s * self.save.portion

    def saves_in(self, useful_time_s: float) -> float:
        """Saves in so much training, with a part of one; none is due at the end."""
        return useful_time_s / self.period_s


#: A blocking save of everything to the remote store.
WHOLE_SAVE = Save()


def every(interval_s: float, save: Save = WHOLE_SAVE, max_pending: int = 1) -> tuple[Schedule, ...]:
    """The schedules of a plan that saves to one tier only."""
    return (Schedule(interval_s, save, max_pending),)


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains of checkpoints: the saves of each schedule are a base and its differences, in turn.

    `chains`: those of each schedule, which has at most one background save under way.
    """

    chains: tuple[tuple[Save, ...], ...]


@dataclass(frozen=True, slots=True)
class Growing:
    """An interval that grows while saves cost too much: CheckFreq's adaptation.

    The plan has one schedule. Its saves are `first_s` of training apart at first, and `more_s` more
    after each save that cost too much: the time since the save before, without the training in it,
    was more than `max_overhead` of that training. The plan's interval is an expected one.
    """

    first_s: float
    more_s: float
    max_overhead: float


class Accepted(NamedTuple):
    """Lost samples that are accepted: partial recovery in place of full while it costs less.

    `mtbfs`: MTBFs of training between its saves, by (E6) of CPR; infinite where no shard is ever
    lost. `spared_s`: seconds by which its recovery is shorter than a full one. `partial`, `full`:
    the answers to a loss.
    """

    mtbfs: float
    spared_s: float
    partial: Recover = Recover("lost")
    full: Recover = Recover("all")


@dataclass(frozen=True, slots=True)
class Learned:
    """The interval by (E3) of CPR for the MTBF and the cost of a save that a run has seen so far.

    `mtbf_s`: the MTBF that is assumed at first, with the weight of `weight` failures. `save_s`: the
    time that a save is assumed to take from training, with the weight of one save. The interval is
    planned again after each save and each recovery. So is the choice between partial and full
    recovery where `accepted` is given. The plan has one schedule, whose interval is the first one,
    and its rule for losses is the first answer.
    """

    mtbf_s: float
    weight: float
    save_s: float
    accepted: Accepted | None = None


class Rotation(NamedTuple):
    """The saves for one number of experts: to the store, and to the hosts' memory if any."""

    stored: Save
    kept: Save | None


@dataclass(frozen=True, slots=True)
class Rotations:
    """Saves by the first of `rotations`, by the next one after each failure beyond a limit.

    `limit_s`: updates that may be lost, in useful seconds of the whole job on its `servers`. The
    plan's schedules are those of the first rotation: the hosts' memory, if it keeps any, then the
    store.
    """

    rotations: tuple[Rotation, ...]
    servers: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class Differences:
    """Background saves of the rows modified since a baseline or since the save before.

    `whole`: size of a baseline, and `rows` that of its tracked rows, in full checkpoints. `shares`:
    share of these rows that is modified in `at` intervals, which ascend from 0; it is interpolated
    in between, and the last share holds for all more. `bits`: of a stored element of a row.
    `merge_s`: consecutive differences are merged into a new baseline in every so many useful
    seconds, by another machine; infinite for never.
    """

    variant: Variant
    interval_s: float
    whole: float
    rows: float
    at: tuple[float, ...]
    shares: tuple[float, ...]
    bits: int = ALL_BITS
    merge_s: float = math.inf

    @property
    def since(self) -> Since:
        """The save that differences are taken from."""
        return "save" if self.variant == "consecutive" else "baseline"


Sequence = Chains | Growing | Learned | Rotations | Differences


# --- The plan -------------------------------------------------------------------------------------

#: After a failed save: try it again, or leave it out until the next is due.
AfterVoid = Literal["retry", "skip"]


class Mirror(NamedTuple):
    """A tier that holds the state of every step, too often to be simulated save by save.

    The job returns to the end of the last full step, or `behind` steps before it; what mirroring
    costs is the plan's `slowdown` and `peer_bytes_per_s`. Steps of `step_s` useful seconds are
    counted from where the job last returned to.
    """

    tier: str
    step_s: float
    behind: int = 0


class Tracking(NamedTuple):
    """The choice of rows for saves of a portion: a tracker of each table on each server.

    `fraction`: share of the rows that one save takes, for which SSU's list has room.
    `subsample`: of so many batches it looks at one. `left`: share of what saves leave unsaved that
    is on each server; alike on all if None.
    """

    tracker: TrackerName
    fraction: float
    subsample: int = 1
    left: tuple[float, ...] | None = None


class Redundancy(NamedTuple):
    """Data on other servers from which lost shards are rebuilt; every update is sent there.

    `tier`: what answers call it. `data` entries, each of another of so many consecutive servers,
    share `parity` blocks on the servers after them around the ring. With `data` = 1 these are
    copies: those of shard i are on the servers i + 1, i + 2, ...
    """

    tier: str
    data: int
    parity: int


class Verification(NamedTuple):
    """Before each save of that number it is verified that no silent fault is in what was trained.

    `takes_s`: time for which training stops, s. The end of the job is verified, too.
    """

    every: int
    takes_s: float


#: Checkpoints that a tier of the store keeps: torchtitan's `keep_latest_k`.
KEEP = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """A policy resolved for one scenario.

    `recovery`: the kind of system, which tables and pictures name. `recover`: the answer to each
    loss; as data (`Answers`), or any callable. `schedules`: nearest tier first; a blocking save to
    a tier serves the nearer ones as well. `tiers`: all that
    saves and answers name, nearest first. `tracking`: who chooses the rows, where saves are of a
    portion of them. `redundancy`: copies or parities on other servers, where there are any.
    `sequence`: which save comes next, where that is more than the schedule's own.

    `slowdown`: share of time added to every useful second. `peer_bytes_per_s`: what the servers
    send to each other in a useful second, all together, to keep copies and parities; it draws on
    their cards. `memory_overhead`: memory that the policy takes, as a share of that of the rows
    that it copies or tracks. `spares`: machines that it holds ready; None for the cluster's own.
    `after_void`: what follows a save that failed (see `tries_again`). `verifies`: when it
    is verified that no silent fault is in what was trained. `keep`: how many checkpoints each tier
    of the store keeps. `checksum`: whether saves to the store are checked, so that torn ones are
    discarded.
    `on_notice`: the answer to the notice of a failure; without it no notice arrives.
    `own_costs`: what the system itself costs, and where each value comes from.
    `note`: why it is not the usual plan of its system, for readers of its numbers.
    """

    recovery: Literal["full", "partial", "replica", "parity"]
    schedules: tuple[Schedule, ...]
    recover: Callable[[Loss], Recover]
    tiers: tuple[Tier, ...] = (REMOTE,)
    mirror: Mirror | None = None
    tracking: Tracking | None = None
    redundancy: Redundancy | None = None
    sequence: Sequence | None = None
    slowdown: float = 0.0
    peer_bytes_per_s: float = 0.0
    memory_overhead: float = 0.0
    spares: int | None = None
    after_void: AfterVoid | None = None
    verifies: Verification | None = None
    keep: int = KEEP
    checksum: bool = False
    on_notice: EmergencySave | Draining | None = None
    own_costs: "tuple[OwnCost, ...]" = ()
    note: str | None = None

    @property
    def unmet_s(self) -> float:
        """Useful seconds that a loss may take back which few jobs meet.

        Where most losses are made good by copies, parities or a near tier, others aren't: the
        interval of the farthest tier, infinite where nothing is saved. 0 where all losses are
        alike.
        """
        alike = self.mirror is None and len(self.schedules) <= 1
        if self.recovery in {"full", "partial"} and alike:
            return 0.0
        return self.schedules[-1].interval_s if self.schedules else math.inf

    @property
    def interval_s(self) -> float:
        """The checkpoint interval of the nearest tier, useful seconds; infinite for no saves."""
        return self.schedules[0].interval_s if self.schedules else math.inf

    @property
    def last_save(self) -> Save:
        """`final_save`: of everything as it is, to the furthest tier."""
        save = self.schedules[-1].save if self.schedules else Save()
        # Of all bytes, and as many times as there are copies.
        writes = max(save.writes, 1.0)
        whole = save._replace(portion=1.0, unsaved_s=(0.0,), writes=writes, reads=1.0)
        return whole._replace(since=None, bits=ALL_BITS)

    @property
    def tells_modified(self) -> bool:
        """Return whether rows must be distinguished by when they were modified."""
        return any(schedule.save.since is not None for schedule in self.schedules)

    @property
    def live_tiers(self) -> tuple[str, ...]:
        """The tiers that are trained on themselves, such as other groups with the same rows."""
        return tuple(tier.name for tier in self.tiers if tier.live)

    def costs_document(self) -> dict[str, dict[str, object]]:
        """Return its own costs as plain data, by key: value, unit, basis, and what it follows."""
        return {cost.key: cost.document() for cost in self.own_costs}

    def makes_anew(self, tier: str) -> bool:
        """Return whether lost shards come from its tiers: copies, parities, other groups."""
        held = (each.tier for each in (self.redundancy, self.mirror) if each is not None)
        return tier in (*held, *self.live_tiers)

    def tier(self, name: str) -> Tier:
        """The tier of that name."""
        return next(tier for tier in self.tiers if tier.name == name)

    def transfer(self, save: Save, costs: CostModel) -> Transfer:
        """Return the transfer of a save to one of its tiers."""
        tier = self.tier(save.tier)
        extra_s = save.extra_s + costs.check_s(tier, self.checksum)
        return costs.save(tier, save.portion, save.writes, extra_s)

    def stop_s(self, costs: CostModel) -> float:
        """Return the mean time of a planned stop: the last save with all it needs, and the end.

        With the links to itself, s.
        """
        save = self.last_save
        snapshot_s = 0.0 if save.blocking else self.tier(save.tier).snapshot_s
        verify_s = 0.0 if self.verifies is None else self.verifies.takes_s
        save_s = snapshot_s + costs.seconds(self.transfer(save, costs))
        return verify_s + save_s + mean_start(costs.costs).shutdown_s

    def machines_ready(self, of_cluster: int) -> int:
        """Return the number of ready spares: its own, or those of the cluster."""
        return of_cluster if self.spares is None else self.spares

    def restarts_in_place(self, costs: CostModel) -> tuple[Severity, ...]:
        """Severities of failures that are cured by a restart on the same nodes.

        None where the plan has ready machines, which take over.
        """
        return () if self.spares else costs.restarts_in_place

    def tries_again(self, save: Save) -> bool:
        """Return whether a save that failed is tried again at once."""
        return rules.retries_save(self.after_void, save.blocking, save.leaves)

    def start(self) -> Controller:
        """Return a controller that saves by the plan's schedules, and by its sequence if any.

        A sequence of another package has a method `controller(plan)`.
        """
        # Whoever only plans needs none of the machine's schedules.
        from cprsim.contract.controller import ScheduledController  # noqa: PLC0415

        make = getattr(self.sequence, "controller", None)
        own: Controller | None = None if make is None else make(self)
        if own is not None and self.on_notice is None:
            return own
        return ScheduledController(self.schedules, self.recover, self.sequence, self.on_notice, own)


def user_code(plan: Plan) -> str | None:
    """Return what the plan decides by code and not by data, as a reason; None if nothing."""
    if type(plan).start is not Plan.start:
        return "its own controller decides while the job runs"
    if type(plan.recover).__call__ is not Answers.__call__:
        return "its rule for losses is user code"
    if plan.sequence is not None and type(plan.sequence) not in get_args(Sequence):
        return "its sequence of saves is user code"
    return None
