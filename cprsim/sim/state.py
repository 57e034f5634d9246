"""What the job has learned, what of it is safe and where, and what was lost."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cprsim.contract import Mirror, Save, Schedule, rules
from cprsim.failures.silent import SilentFaults
from cprsim.job.tiers import Medium, Tier


class Checkpoint(NamedTuple):
    """What the job returns to: useful seconds done, and how much longer than that they took.

    `updates_lost`: share of all updates that it doesn't have, of those made by then. `reads`: bytes
    that are read to return to it, as a share of those of a whole checkpoint. `marks`: what is wrong
    and right with it (`rules.CORRUPT`, ...).
    """

    progress_s: float
    slowdown_s: float
    updates_lost: float = 0.0
    reads: float = 1.0
    marks: int = 0


_START = Checkpoint(0.0, 0.0, marks=rules.VERIFIED)
_NONE: frozenset[int] = frozenset()


class _TierContents:
    """What one tier holds: its last save, and the last that completed a round of portions.

    `start_s`: progress when all that it holds was last filled anew, where not shard by shard. It
    keeps up to `older` older ones besides, and the initial state.
    """

    __slots__ = (
        *("_kept", "_older", "_starts_s", "last", "period_s", "portions", "start_s"),
        *("unsaved_s", "whole"),
    )

    def __init__(self, period_s: float, older: int) -> None:
        self._older = older
        self._kept: list[_Record] = []
        self.last = self.whole = _START
        self.unsaved_s: Sequence[float] = (0.0,)
        self.start_s = 0.0
        self._starts_s: dict[int, float] = {}
        self.period_s = period_s
        self.portions = 0.0  # saved since `whole`

    def put(self, taken: Checkpoint, save: Save) -> None:
        if taken.progress_s < self.last.progress_s:
            return  # a newer one was usable before it
        if self._older:
            self._kept = [*self._kept, self._record()][-self._older :]
        self.last, self.unsaved_s = taken, save.unsaved_s
        complete, self.portions = rules.r25_round(self.portions, save.portion)
        if complete:
            self.whole = taken

    def _record(self) -> "_Record":
        return _Record(self.last, self.whole, self.unsaved_s, self.portions)

    def _pop(self) -> None:
        """The last one is of no use: what was before it is what it holds."""
        record = self._kept.pop() if self._kept else _Record(_START, _START, (0.0,), 0.0)
        self.last, self.whole, self.unsaved_s, self.portions = record

    def fall_back(self, verified: bool) -> int:
        """Hold the last that serves, if need be that was verified; how many were tried before."""
        tried = 0
        while not rules.r35_serves(self.last.marks, verified):
            tried += rules.r35_is_tried(self.last.marks, verified)
            self._pop()
        return tried

    def last_verified_s(self) -> float:
        """Progress of the last one that was verified."""
        newest_first = (self.last, *(each.last for each in reversed(self._kept)))
        verified = (each.progress_s for each in newest_first if each.marks & rules.VERIFIED)
        return next(verified, 0.0)

    def forget_after(self, progress_s: float) -> None:
        """Older ones are what it holds, where it has any that are no newer than that."""
        while self._kept and self.last.progress_s > progress_s:
            self._pop()

    def clear(self) -> None:
        """Keep none that is older."""
        self._kept.clear()

    def become(self, checkpoint: Checkpoint, servers: Iterable[int] | None = None) -> None:
        """Hold what the job has returned to; only these servers' rows are no older than that."""
        self.last = self.whole = checkpoint
        self.portions = 0.0
        if servers is None:
            self.start_s = checkpoint.progress_s
            self._starts_s.clear()
        else:
            self._starts_s.update(dict.fromkeys(servers, checkpoint.progress_s))

    def whole_s(self, server: int) -> float:
        """Progress when it last held all of that shard."""
        return self._starts_s.get(server, self.start_s)

    @property
    def leaves_nothing(self) -> bool:
        """Whether its saves hold all rows."""
        return len(self.unsaved_s) == 1 and self.unsaved_s[0] == 0.0

    def unsaved_of(self, whole_s: float) -> float:
        """What its saves leave of a shard that was whole at `whole_s`, useful seconds of updates.

        A first period that is shorter than the others, since the shard was set back within it,
        counts as that part of one.
        """
        if self.leaves_nothing:
            return 0.0
        saves = (self.last.progress_s - whole_s) / self.period_s
        return float(rules.r25_unsaved_s(self.unsaved_s, saves))


class _Record(NamedTuple):
    """What a tier held."""

    last: Checkpoint
    whole: Checkpoint
    unsaved_s: Sequence[float]
    portions: float


class State:
    """Progress of one run.

    `progress_s`: useful seconds done. `slowdown_s`: how much longer than that they took. `lost_s`:
    wall-clock seconds of training that was rolled back. `pls` and `updates_lost`: shares of
    learning lost (see `Ledger`). `stored` and `sent`: what saves wrote to the store and to peers,
    in full checkpoints. `schedules` and `mirror`: those of the plan, nearest tier first; every tier
    holds the initial state. `update_shares`: of all updates, by server; alike if None, and so are
    `left_shares` of what saves of chosen rows leave. `older`: how many checkpoints each tier of the
    store keeps beside its last; None where all are alike but for their age. `faults`: silent ones,
    if there are any. `tiers`: those of the plan.
    """

    def __init__(
        self,
        useful_time_s: float,
        servers: int,
        schedules: Sequence[Schedule] = (),
        mirror: Mirror | None = None,
        update_shares: Sequence[float] | None = None,
        left_shares: Sequence[float] | None = None,
        older: int | None = None,
        faults: SilentFaults | None = None,
        tiers: Sequence[Tier] = (),
    ) -> None:
        self.progress_s = 0.0
        self.slowdown_s = 0.0
        self.saves = 0
        self.stored = 0.0
        self.sent = 0.0
        self.lost_s = 0.0
        self.pls = 0.0
        self.updates_lost = 0.0
        self._per_shard = 1.0 / rules.r23_all(useful_time_s, servers)
        self._update_shares, self._left_shares = update_shares, left_shares
        self._servers = servers
        self._mirror = mirror
        keeps = {tier.name: older or 0 for tier in tiers if tier.keeps_older}
        self._tiers = {
            each.save.tier: _TierContents(each.period_s, keeps.get(each.save.tier, 0))
            for each in schedules
        }
        live = {tier.name for tier in tiers if tier.live}
        self._live = [each.save.tier in live for each in schedules]
        self._marked, self._faults = older is not None, faults
        self._corrupt = False
        self._verified_s = 0.0  # progress where it last was, if it still is there
        self._redone_s = 0.0  # useful seconds that were rolled back
        self._in_order = list(self._tiers.values())
        self._number = {tier: i for i, tier in enumerate(self._tiers)}
        self._one_tier = len(self._tiers) == 1
        self._start = _START  # where the job last returned to
        self._set_back: dict[int, float] = {}  # server: progress when its shard was last set back

    def saved(self, tier: str) -> Checkpoint:
        """What the job would return to from that tier; its initial state where nothing is saved."""
        if self._mirror is not None and tier == self._mirror.tier:
            return self._mirrored(self._mirror)
        held = self._tiers.get(tier)
        return _START if held is None else held.last

    def taken(self, save: Save) -> Checkpoint:
        """What a save that starts now will hold."""
        taken = Checkpoint(self.progress_s, self.slowdown_s, self.updates_lost, save.reads)
        if not self._marked:
            return taken
        return taken._replace(marks=rules.r34_marks(self.is_corrupt, self.is_verified))

    def usable(self, taken: Checkpoint, save: Save, torn: bool = False) -> None:
        """The last byte of `taken` is stored; a blocking save is in the nearer tiers, too."""
        self.saves += 1
        if self._marked:
            self._put_marked(taken, save, torn)
            return
        if self._one_tier:
            self._tiers[save.tier].put(taken, save)
            return
        number = self._number[save.tier]
        for i in range(rules.r5_nearest(number, save.blocking), number + 1):
            self._in_order[i].put(taken, save)

    def _put_marked(self, taken: Checkpoint, save: Save, torn: bool) -> None:
        number = self._number[save.tier]
        alone = not save.leaves and taken.reads <= 1.0
        for i in range(rules.r5_nearest(number, save.blocking), number + 1):
            held = self._in_order[i]
            own, live = torn and i == number, self._live[i]
            marks = rules.r35_marks(taken.marks, own, alone, held.last.marks, live)
            held.put(taken._replace(marks=marks), save)

    @property
    def is_corrupt(self) -> bool:
        """Whether a silent fault is in what was trained."""
        faults = self._faults
        while faults is not None and faults.next_s <= self._redone_s + self.progress_s:
            self._corrupt = True
            faults.move_on()
        return self._corrupt

    @property
    def is_verified(self) -> bool:
        """Whether nothing was trained since it was last found that none is."""
        return self._verified_s == self.progress_s

    def verify(self) -> bool:
        """Whether none is."""
        if self.is_corrupt:
            return False
        self._verified_s = self.progress_s
        return True

    def last_verified(self) -> str | None:
        """The tier with the last checkpoint that was verified; None where that is the start."""
        latest, found = 0.0, None
        for tier, held in self._tiers.items():
            if (verified_s := held.last_verified_s()) > latest:
                latest, found = verified_s, tier
        return found

    def fall_back(self, source: str, verified: bool = False) -> int:
        """Leave out what can't be returned to in that tier; how often it is loaded in vain."""
        held = self._tiers.get(source)
        return 0 if held is None else held.fall_back(verified)

    def wrote(self, medium: Medium, amount: float) -> None:
        """A save came to its end, void or not, and has written so much, in full checkpoints."""
        if medium == "store":
            self.stored += amount
        elif medium == "peers":
            self.sent += amount

    def roll_back(
        self, source: str, lost: frozenset[int] = _NONE, healthy: str | None = None
    ) -> None:
        """The whole job returns to the last usable checkpoint of the tier `source`.

        Where its saves were of portions, the rows that the last one left are older, and what they
        had learned is lost for good. Servers but the `lost` ones may hold fresher rows in the tier
        `healthy`.
        """
        to = self.saved(source)
        if self._marked:
            to = self._return_marked(to, source)
        self.lost_s += self.progress_s - to.progress_s + self.slowdown_s - to.slowdown_s
        self.progress_s, self.slowdown_s = to.progress_s, to.slowdown_s
        self.updates_lost = to.updates_lost + self._stale(source, lost, healthy)
        to = self._start = to._replace(updates_lost=self.updates_lost)
        self._set_back.clear()
        nearer = source in self._tiers  # a mirror is nearer than all of them
        for tier, held in self._tiers.items():
            # Nearer tiers are filled on the way; none may hold what the job has yet to do again.
            if tier == source:
                held.become(to, None if healthy is None else lost)
            elif nearer or held.last.progress_s > to.progress_s:
                held.become(to._replace(reads=1.0))
            nearer = nearer and tier != source

    def _return_marked(self, to: Checkpoint, source: str) -> Checkpoint:
        """What was trained is as sound as what the job returns to; newer ones are forgotten."""
        corrupt = self.is_corrupt  # by what was trained until now
        mirrored = self._mirror is not None and source == self._mirror.tier
        to = to._replace(marks=rules.r35_returned(to.marks, mirrored, corrupt))
        self._corrupt = to.marks & rules.CORRUPT != 0
        self._redone_s += self.progress_s - to.progress_s
        self._verified_s = to.progress_s if to.marks & rules.VERIFIED else -1.0
        nearer = source in self._tiers
        for tier, held in self._tiers.items():
            if tier == source:
                nearer = False
            elif nearer:
                held.clear()
            else:
                held.forget_after(to.progress_s)
        return to

    def lose(self, servers: Iterable[int], source: str) -> None:
        """The shards of these servers alone return to the last usable checkpoint of a tier.

        (E4) counts all samples since that checkpoint, even those that an earlier failure of the
        same shard had already cost; `updates_lost` counts each update once, and not those that a
        later rollback of the whole job has trained again.
        """
        held = self._tiers.get(source) or _TierContents(math.inf, 0)
        lost_s = rules.r23_lost(self.progress_s, held.whole.progress_s)
        for server in servers:
            self.pls += lost_s * self._per_shard
            whole_s = self._whole_s(server)
            unsaved_s = self.progress_s - max(whole_s, held.last.progress_s)
            unsaved_s = self._share(self._update_shares, server, unsaved_s)
            if whole_s < held.last.progress_s:
                unsaved_s += self._share(self._left_shares, server, held.unsaved_of(whole_s))
            self.updates_lost += unsaved_s * self._per_shard
            self._set_back[server] = self.progress_s

    def refill(self, servers: Iterable[int]) -> None:
        """These shards serve again; what was trained while they were down passed them by."""
        for server in servers:
            trained_s = self.progress_s - self._whole_s(server)
            missed_s = self._share(self._update_shares, server, trained_s)
            self.updates_lost += missed_s * self._per_shard
            self._set_back[server] = self.progress_s

    def _whole_s(self, server: int) -> float:
        """Progress when that shard was last set back."""
        return self._set_back.get(server, self._start.progress_s)

    def _stale(self, source: str, lost: frozenset[int], healthy: str | None) -> float:
        """Share of updates that the last saves have left of the rows that the job returns to."""
        held = self._tiers.get(source)
        if held is None or held.leaves_nothing:
            return 0.0
        total_s = 0.0
        for server in range(self._servers):
            fresher = healthy is not None and server not in lost
            tier = self._tiers[healthy] if fresher and healthy is not None else held
            # Rows that came back from a nearer tier are as old in this one as they were.
            whole_s = self._set_back.get(server, tier.whole_s(server))
            if whole_s < tier.last.progress_s:
                total_s += self._share(self._left_shares, server, tier.unsaved_of(whole_s))
        return total_s * self._per_shard

    def _share(self, shares: Sequence[float] | None, server: int, mean_s: float) -> float:
        """What this shard has of updates of which a mean one has so many useful seconds."""
        return mean_s if shares is None else mean_s * shares[server] * self._servers

    def _mirrored(self, mirror: Mirror) -> Checkpoint:
        """The end of the last full step since the job returned, or so many steps before it."""
        start, trained_s = self._start, self.progress_s - self._start.progress_s
        steps = math.floor(trained_s / mirror.step_s) - mirror.behind
        if steps <= 0:
            return start._replace(reads=1.0)
        share = min(steps * mirror.step_s / trained_s, 1.0)
        slower_s = self.slowdown_s - start.slowdown_s
        return Checkpoint(
            start.progress_s + share * trained_s,
            start.slowdown_s + share * slower_s,
            start.updates_lost,
        )
