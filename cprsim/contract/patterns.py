"""Schedules of saves, and sequences where schedules alone don't say what the next save is.

They are data. `cprsim.machine.schedules` carries them out.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple, get_args

from cprsim.contract.actions import ALL_BITS, Recover, Save, Since

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
    merge_s: float = inf

    @property
    def since(self) -> Since:
        """The save that differences are taken from."""
        return "save" if self.variant == "consecutive" else "baseline"


Sequence = Chains | Growing | Learned | Rotations | Differences
