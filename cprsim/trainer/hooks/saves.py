"""Saves of a training loop: a snapshot, written while the loop waits or in the background."""

import platform
import shutil
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cprsim.basics.interrupts import held_back
from cprsim.basics.units import format_bytes
from cprsim.contract import Save, Saved, Stored, Void
from cprsim.errors import RunError, UsageError
from cprsim.job.tiers import REMOTE
from cprsim.trainer.hooks import accounts
from cprsim.trainer.hooks.member import JobMember
from cprsim.trainer.hooks.observer import HooksWarning, StoredSave, tell
from cprsim.trainer.hooks.ranks import agreed, everyone
from cprsim.trainer.hooks.running_job import UsableCheckpoints
from cprsim.trainer.hooks.snapshot import Image, Snapshot
from cprsim.trainer.store.store import most_bytes

#: Dense parts at a time if rows lie in chains: four that stay, and the one being written.
_MOST_DENSE = 5
#: The end of a save in a process. The job takes the worst: if it fails in one, it counts in none.
_STORED, _FAILED, _NEVER = 2, 1, 0


@dataclass
class _UnderWay:
    """A save whose snapshot is taken, and the usable checkpoints once it is written."""

    step: int
    save: Save
    usable: UsableCheckpoints
    start_s: float
    snapshot: Snapshot = field(default_factory=Snapshot)


class Saves:
    """Carries out the saves of a controller, one at a time.

    A save that fails in one process counts in none: a warning says so, the controller learns of it,
    and training continues. Training ends in all if each later save would fail as well: tables of
    other shapes, state that can't be stored.

    Attributes
    ----------
    counts
        The counts of the job in this process.
    everywhere
        The last step of which every process has all.
    """

    def __init__(self, member: JobMember) -> None:
        self.counts = dict.fromkeys(accounts.COUNTS, 0)
        self._state, self._job, self._ranks = member.state, member.job, member.ranks
        self._observers, self._twins = member.observers, member.twins
        self._checkpoints = member.state.checkpoints
        self._under_way: _UnderWay | None = None
        self.everywhere = 0
        self._all_rows: int | None = None  # the step of the last save of all rows

    @property
    def under_way(self) -> bool:
        """True if a save is being written in the background."""
        return self._under_way is not None

    def first(self, step: int) -> Snapshot:
        """Store the first state of the job, or the loaded one in folders that have nothing yet.

        Raises `RunError` in all processes if one can't, or has no room for the saves that follow.
        """
        state = self._state
        snapshot = state.snapshot(step, Save(), step, self._accounts(self._job.usable))
        self._check_room(snapshot.images)
        with agreed(self._ranks, *self._checkpoints.unstored):
            state.write(step, snapshot, returns_to=())
            _, error = snapshot.result()
            if error is not None:
                raise error
            self._checkpoints.keep_names()
        self.everywhere = step
        return snapshot

    def adopt(self, step: int) -> None:
        """Store what was loaded from folders of processes before, if it was."""
        if self._checkpoints.moved:
            self.first(step)
            self._checkpoints.claim(self._ranks)

    def renew(self, step: int) -> RunError | None:
        """Store everything apart from all checkpoints before, which go once all have stored it.

        So no start after a kill takes some of it, and some of a checkpoint of the same step.
        Returns the error if it is not stored; the checkpoints before then stay as they were. Raises
        if a claim can't be written, since then nothing says which of both count.
        """
        state, snapshot = self._state, None
        try:
            self._checkpoints.renew(self._ranks)
            snapshot = self.first(step)
        except RunError as error:
            return error
        finally:
            self._checkpoints.settle_on(snapshot is not None, self._ranks)
        self._all_rows = step
        state.saved(snapshot, sure=True)
        return None

    def do(self, save: Save) -> bool:
        """Save; return False if training waited for it and it failed."""
        job = self._job
        job.watch.switch("save")
        self.settle()
        if self._twins is not None:
            job.watch.switch("stall")
            self._twins.average(job.step)
            if save.tier != REMOTE.name:
                job.controller.tell(Saved(job.clock, save, stored=True))
                job.watch.switch("train")
                return True
            job.watch.switch("save")
        if not save.blocking:
            job.watch.switch("stall")
        copied = self._copied(save)
        with held_back():  # else there might be writers that the next save does not wait for
            self._begin(copied)
        stored = self.settle() if save.blocking else True
        job.watch.switch("train")
        return stored

    def everything(self, save: Save) -> bool:
        """Save all there is, unless that was done after this step; return whether it is stored."""
        self._job.watch.stop()
        done = self.settle() and self._all_rows == self._job.usable.last.step == self._job.step
        # A process that replaces another does not know what was saved before.
        return bool(self._ranks.least(int(done))) or self.do(save._replace(blocking=True))

    def landed(self) -> bool:
        """Settle the save under way if all processes have written theirs; return whether so."""
        under_way = self._under_way
        if under_way is None or not self._ranks.least(int(under_way.snapshot.done())):
            return False
        self.settle()
        return True

    def settle(self) -> bool:
        """Wait until no save is under way; return False if it failed, here or elsewhere."""
        under_way = self._under_way
        if under_way is None:
            return True
        size, error = under_way.snapshot.result()
        # A save that one process lacks counts for none, nor is an older one dropped for it. A
        # process that is lost here leaves it under way.
        outcome = _STORED if error is None else _FAILED
        if isinstance(error, UsageError):  # state that will be the same at the next save
            outcome = _NEVER
        worst = self._ranks.least(outcome)
        if worst == _STORED and self._state.tells_modified:
            # Known by now; a new process may expect other saves, so all add up.
            total = self._ranks.total
            writes = total(size) / total(under_way.snapshot.whole_bytes)
            if under_way.save.expects:
                under_way.save = under_way.save._replace(writes=writes)
        self._under_way = None
        if worst == _STORED:
            self._stored(under_way, size)
            return True
        self._job.controller.tell(Void(self._job.clock, under_way.save))
        if worst == _NEVER:
            raise error or RunError("another process can't store its state; see its error")
        self._failed(under_way, error)
        return False

    def settle_with_the_lost(self) -> None:
        """Settle after a failure: a save under way counts if all processes have it."""
        under_way = self._under_way
        size, error = (0, None) if under_way is None else under_way.snapshot.result()
        self.everywhere = self._ranks.least(self._checkpoints.newest)
        self._under_way = None  # not before: another may be lost here, and then all begin again
        if under_way is None:
            return
        if error is None and self.everywhere >= under_way.step:
            self._stored(under_way, size)
        else:
            self._failed(under_way, error)

    def _copied(self, save: Save) -> _UnderWay:
        """Take the snapshot; an error shows when the save is settled."""
        job = self._job
        first = min(self._checkpoints.steps, default=0)
        usable = job.usable.with_save(job.step, save.portion, job.trained_s, first)
        found = _UnderWay(job.step, save, usable, time.monotonic())
        job.watch.stop()
        known = self._accounts(usable)
        known["counts"]["saves"] += 1  # this one, once it is there to be returned to
        del job.watch.spans[:-1]  # a loop has no use for them, and it may be a long one
        try:
            found.snapshot = self._state.snapshot(job.step, save, min(self._returns_to), known)
        except Exception as error:  # known once all processes have come so far
            found.snapshot.fail(error)
        return found

    def _begin(self, copied: _UnderWay) -> None:
        """Begin to write a snapshot, unless that has failed."""
        self._under_way, save, snapshot = copied, copied.save, copied.snapshot
        if not snapshot.files:
            try:
                if not save.blocking:  # what is used from now on is in the next
                    self._state.saved(snapshot, sure=False)
                self._state.write(copied.step, snapshot, self._returns_to)
            except Exception as error:
                snapshot.fail(error)
        if not save.blocking:
            self._job.controller.tell(Saved(self._job.clock, save, stored=False))

    @property
    def _returns_to(self) -> set[int]:
        """Steps that the job may have to return to until all processes have the next save."""
        return {self.everywhere, self._job.usable.last.step}

    def _stored(self, under_way: _UnderWay, size: int) -> None:
        job, snapshot = self._job, under_way.snapshot
        job.usable, self.everywhere = under_way.usable, under_way.step
        if snapshot.chosen is None:
            self._all_rows = under_way.step
        self.counts["saves"] += 1
        self.counts["bytes_saved"] += size
        if under_way.save.blocking:
            self._state.saved(snapshot, sure=True)
            job.controller.tell(Saved(job.clock, under_way.save, stored=True))
        else:
            self._state.updates.settle(stored=True)
            job.controller.tell(Stored(job.clock, under_way.save))
        took_s = time.monotonic() - under_way.start_s
        rows = None if snapshot.chosen is None else len(snapshot.chosen)
        stored = StoredSave(under_way.step, size, snapshot.whole, took_s, rows)
        tell(self._observers, "saved", stored)

    def _failed(self, under_way: _UnderWay, error: Exception | None) -> None:
        """Warn of it; the checkpoints before are as they were. None: it failed elsewhere."""
        if error is None:
            error = RunError("another process has not stored its part")
        self.counts["saves_failed"] += 1
        if not under_way.save.blocking:
            self._state.save_failed(under_way.snapshot)
        tell(self._observers, "save_failed", under_way.step, error)
        warnings.warn(
            f"the save of step {under_way.step} failed: {type(error).__name__}: {error}; training "
            f"continues, the last checkpoint is of step {self._job.usable.last.step}",
            HooksWarning,
            stacklevel=6,
        )

    def _accounts(self, usable: UsableCheckpoints) -> dict[str, Any]:
        return accounts.document(self._job, usable, self.counts, self._state.servers)

    def _check_room(self, images: Sequence[Image]) -> None:
        """Check that the disk of each process has room for all checkpoints kept at a time.

        `images`: those of a checkpoint of everything, of the dense part last. Older checkpoints go
        once the first new one is stored. Raises `RunError` in all processes, which all call this,
        if one disk has too little room: from some save on, all would fail.
        """
        *rows, dense = (sum(each.nbytes for each in image.arrays) for image in images)
        # If saves are of some rows, they are kept on top of earlier ones, and of the dense part
        # there are as many as there are checkpoints of rows to return to.
        by_rows = self._state.by_rows
        most = sum(most_bytes(size, by_rows) for size in rows)
        most += _MOST_DENSE * dense if by_rows else most_bytes(dense, deltas=False)
        need, folder = (
            max(sum(rows) + dense, most - self._checkpoints.freed),
            self._checkpoints.path,
        )
        folder.mkdir(parents=True, exist_ok=True)
        free, disk = shutil.disk_usage(folder).free, f"{platform.node()} {folder.stat().st_dev}"
        mine = {"need": need, "free": free, "disk": disk, "folder": str(folder)}
        all_said = everyone(self._ranks, mine)
        for each in all_said:
            needed = sum(other["need"] for other in all_said if other["disk"] == each["disk"])
            if needed > each["free"]:
                raise RunError(
                    f"folder {each['folder']}: checkpoints take {format_bytes(needed)} on its "
                    "disk, older ones and the one that is written included, and it has "
                    f"{format_bytes(each['free'])}; make room, or give another folder"
                )
