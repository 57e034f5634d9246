"""Saves that are under way: who has taken a copy, who has stored it, when a checkpoint counts."""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cprsim.contract import Save, Saved, Stored, rules
from cprsim.contract.actions import ALL_BITS
from cprsim.job.costs import Rollback
from cprsim.trainer.coordinator.cluster import Death, LocalCluster, Reply
from cprsim.trainer.coordinator.history import RowsSaved
from cprsim.trainer.coordinator.roster import Name, numbers
from cprsim.trainer.coordinator.running_job import RunningJob, ShardSave
from cprsim.trainer.members.wire import Message, Op


@dataclass(eq=False)
class SaveUnderWay:
    """A save from when members are asked for it until all have stored their parts.

    `trained_s`: seconds of training up to it. `unasked`: members that are to take their part yet,
    since they have been replaced or are still down; `taking`: those that are at it; `writing`:
    those that have taken it and not stored it. `rows`: of servers that store chosen rows alone,
    which. `sizes`: what members have written, and what all that they hold takes, bytes. `happened`:
    what history is told; None until training may go on.
    """

    save: Save
    number: int
    step: int
    trained_s: float
    unasked: set[Name]
    taking: set[Name] = field(default_factory=set)
    writing: set[Name] = field(default_factory=set)
    rows: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    sizes: dict[Name, tuple[int, int]] = field(default_factory=dict)
    happened: RowsSaved | None = None

    @property
    def stored(self) -> bool:
        """Whether all members have stored their parts."""
        return not (self.unasked or self.taking or self.writing)

    @property
    def counted(self) -> Save:
        """The save, with what was written where that could only be expected."""
        if not self.save.expects:
            return self.save
        written, of_all = map(sum, zip(*self.sizes.values(), strict=True))
        return self.save._replace(writes=written / of_all)


class SavesUnderWay:
    """All saves that are under way, in the order in which they were taken."""

    def __init__(self, job: RunningJob, cluster: LocalCluster) -> None:
        self._job, self._cluster = job, cluster
        self._number = 0
        self.under_way: list[SaveUnderWay] = []
        cluster.listeners.append(self._hear)

    @property
    def pending(self) -> tuple[Save, ...]:
        """Those in the background, as the controller is told."""
        return tuple(each.save for each in self.under_way if each.happened is not None)

    def begin(self, save: Save) -> SaveUnderWay:
        """A save of the rows as they are now; nobody is asked for it yet."""
        job = self._job
        self._number += 1
        each = SaveUnderWay(save, self._number, job.step, job.trained_s, set(self._cluster.names))
        self.under_way.append(each)
        return each

    def ask(self, up: Collection[Name]) -> bool:
        """Ask members that are up for the parts that they are to take; whether there were any."""
        asked = False
        for each in self.under_way:
            for name in sorted(each.unasked & set(up)):
                self._ask(each, name)
                asked = True
        return asked

    @property
    def taking(self) -> bool:
        """Whether a member has still to take its part of one: training must not go on."""
        return any(each.taking for each in self.under_way)

    def go_on(self, each: SaveUnderWay) -> None:
        """All members that are up have taken their parts: training may go on."""
        job = self._job
        each.happened = RowsSaved(each.step, each.rows)
        job.row_events.append(each.happened)
        if each.save.blocking:
            self._count(each)
            job.controller.tell(Saved(job.clock, each.counted, stored=True))
            return
        job.controller.tell(Saved(job.clock, each.save, stored=False))
        self._land()

    def lose(self, died: Collection[Name], rollback: Rollback) -> None:
        """Members have died, and the answer to that is `rollback`.

        Where a save is not void by that, who has died takes its part anew once it is back.
        """
        depth, servers = rules.DEPTH[rollback], len(numbers("server", died))
        for each in list(self.under_way):
            if rules.r9_is_void(depth, servers, trained_on=each.happened is not None):
                self._abandon(each)
            else:
                each.unasked |= set(died)
                each.taking -= set(died)
                each.writing -= set(died)

    def _abandon(self, each: SaveUnderWay) -> None:
        self.under_way.remove(each)
        if each.happened is not None:
            self._job.row_events = [it for it in self._job.row_events if it is not each.happened]

    def _ask(self, each: SaveUnderWay, name: Name) -> None:
        each.unasked.discard(name)
        each.taking.add(name)
        before = self.under_way[: self.under_way.index(each)]
        save, of_rows = each.save, name[0] == "server"  # the dense part is always stored as it is
        self._cluster.ask(
            name,
            Op.SAVE,
            each.number,
            at=each.step,
            portion=save.portion,
            since=save.since if of_rows else None,
            bits=save.bits if of_rows else ALL_BITS,
            returns_to=[self._job.usable.last.step, *(other.step for other in before)],
        )

    def _hear(self, event: Reply | Death) -> None:
        if isinstance(event, Death):
            return  # recovery says what becomes of its part
        (role, index), message = event
        if message.op not in (Op.TAKEN, Op.SAVED):
            return
        for each in self.under_way:
            if each.number != message.step:
                continue
            if message.op == Op.TAKEN:
                each.taking.discard(event.name)
                each.writing.add(event.name)
            else:
                each.writing.discard(event.name)
                each.sizes[event.name] = message.facts["bytes"], message.facts["of_bytes"]
                if role == "server":
                    self._note(each, index, message)
        self._land()

    def _note(self, each: SaveUnderWay, server: int, message: Message) -> None:
        """What a server's part took, and which rows it has stored, if not all of them."""
        facts, chosen = message.facts, None
        if not facts["whole"]:
            each.rows[server] = message.arrays[0]
            chosen = each.rows[server].size
        took_s = (facts[key] for key in ("select_s", "gather_s", "write_s"))
        self._job.parts.append(ShardSave(each.step, server, facts["bytes"], chosen, *took_s))

    def _land(self) -> None:
        """Count the background saves that all members have stored by now."""
        for each in list(self.under_way):
            if each.happened is not None and each.stored:
                self._count(each)
                self._job.controller.tell(Stored(self._job.clock, each.counted))
                self._cluster.news = True

    def _count(self, each: SaveUnderWay) -> None:
        self.under_way.remove(each)
        self._job.usable.put(each.step, each.save.portion, each.trained_s)
