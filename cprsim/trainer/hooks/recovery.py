"""Recovery of a job: the return to checkpoints after a failure or at a start, and adoption."""

import sys
import warnings
from collections.abc import Collection

from cprsim.contract import Clock, Loss, Recover, Resumed, Saved
from cprsim.trainer.hooks import accounts
from cprsim.trainer.hooks.member import JobMember
from cprsim.trainer.hooks.observer import HooksWarning, tell
from cprsim.trainer.hooks.running_job import UsableCheckpoint, UsableCheckpoints
from cprsim.trainer.hooks.saves import Saves
from cprsim.trainer.hooks.twins import TwinShards

#: A step that no job reaches.
_ANY = sys.maxsize


class JobRecovery:
    """Brings a process of a job to the state from which training continues.

    `planned_save_s`: what a save takes by the scenario, s, for a controller to go by before one was
    timed.
    """

    def __init__(self, member: JobMember, saves: Saves, planned_save_s: float) -> None:
        self._state, self._job, self._ranks = member.state, member.job, member.ranks
        self._plan, self._observers, self._twins = member.plan, member.observers, member.twins
        self._saves, self._planned_save_s = saves, planned_save_s

    def recover(self, lost: Collection[int], dense: bool, start: bool, planned: bool) -> None:
        """Return as the controller says, or everything at the `start` of a whole job.

        A `planned` start is no failure: the controller has no part in it.
        """
        job, counts = self._job, self._saves.counts
        self._saves.settle_with_the_lost()
        answer = None if planned else self._answer(lost, dense)
        job.watch.switch("load")
        if answer is not None and answer.rollback == "all":
            self._return_all()
        elif start:
            whole = self._return_all()
            for _ in self._state.shards:
                job.lose(whole)
        else:
            assert answer is not None
            by_twins = answer.source in self._plan.live_tiers
            self._return_lost(lost, dense, self._twins if by_twins else None)
        self._state.checkpoints.folder.stopped = False
        if start:
            self._saves.adopt(job.step)
        latest = self._latest(job.usable.last.step)  # which all processes ask for
        counts["failures"] = self._latest(counts["failures"])  # a new process knows of fewer
        if job.started:
            job.controller.tell(Resumed(job.clock, ()))
        else:
            self._catch_up(latest, planned)
        job.started = True

    def adopt(self, step: int, just_restored: bool) -> None:
        """Take the state as it is for that of a step, and save it.

        `just_restored`: the start was counted for the failure. Raises `RunError` where no earlier
        checkpoint is left and this one can't be stored.
        """
        job, state = self._job, self._state
        job.watch.reattribute("load")
        self._saves.settle()
        if just_restored:
            if before := state.accounts:  # what the start took for lost
                job.lost_steps = accounts.lost_steps(before, state.servers)
                state.updates.adopt(before["updates"])
        else:
            self._answer(range(state.servers), dense=True)
        # Checkpoints of later steps no longer count, nor does the training since.
        usable = [each for each in job.usable if each.step <= step]
        if step < job.step:
            # What it took from the last checkpoint on, as if all steps since took as long.
            last = usable[-1] if usable else UsableCheckpoint(0, 0, 0.0)
            since = (step - last.step) / (job.step - last.step)
            job.watch.undo(last.trained_s + since * (job.trained_s - last.trained_s))
        known = UsableCheckpoints(usable) if usable else job.usable
        job.step = step
        job.controller.tell(Resumed(job.clock, ()))
        state.forget()
        state.checkpoints.folder.stopped = False
        job.watch.switch("save")
        job.usable = UsableCheckpoints([UsableCheckpoint(step, step, job.trained_s)])
        error = self._saves.renew(step)
        if error is None:
            job.controller.tell(Saved(job.clock, self._plan.last_save, stored=True))
        elif known.last.step > step:  # there is none to return to
            raise error
        else:
            job.usable = known
            self._saves.counts["saves_failed"] += 1
            tell(self._observers, "save_failed", step, error)
            warnings.warn(
                f"adopt({step}): {error}; training continues, the last checkpoint is of step "
                f"{known.last.step}",
                HooksWarning,
                stacklevel=3,
            )

    def _answer(self, lost: Collection[int], dense: bool) -> Recover:
        """Count a failure; return what the controller says to it."""
        self._saves.counts["failures"] += 1
        tell(self._observers, "lost", frozenset(lost), dense)
        loss = Loss(frozenset(lost), frozenset({0} if dense else ()))
        return self._job.controller.answer(self._job.clock, loss)

    def _return_all(self) -> int:
        """Return to the last checkpoint; gives the step at which as much as all had been saved."""
        job, fresh = self._job, not self._job.started
        step, size = self._state.load_all(_ANY if fresh else job.usable.last.step, self._ranks)
        self._loaded(size)
        self._state.updates.return_to(self._state.accounts["updates"], 0, fresh)
        whole = job.usable.at(step).whole
        job.watch.undo(job.usable.back_to(step).trained_s)
        job.step = step
        if self._twins is not None:
            self._twins.averaged = step  # as before each save
        return whole

    def _return_lost(self, lost: Collection[int], dense: bool, twins: TwinShards | None) -> None:
        """Return the shards that are lost here, to checkpoints or to what their twins have."""
        job, held = self._job, self._state
        mine = [shard for shard in held.shards if shard in lost]
        # A lost process may have stored the dense part of a save that was never usable.
        fresh, size = not job.started, 0
        at_most = self._saves.everywhere if fresh else job.usable.last.step
        if dense or fresh:
            step, size = held.load_dense(at_most)
            if fresh:  # rows may have been stored where the dense part was not any more
                at_most = step
        if twins is not None:
            loaded = twins.fill(lost)
        else:
            loaded = [held.load_shard(shard, at_most) for shard in mine]
        size += sum(size for _, size in loaded)
        size += held.copy_dense(self._ranks, lost=dense or fresh)
        self._loaded(size)
        job.step = self._latest(job.step)
        if fresh:
            last = job.usable.last.step if twins is None else twins.averaged
            held.updates.return_to(held.accounts["updates"], job.step - last, fresh=True)
        for step, _ in loaded:
            job.lose(job.usable.at(step).whole if twins is None else step)

    def _loaded(self, size: int) -> None:
        """Count it; a process that has just been started continues from the accounts of another."""
        counts, state = self._saves.counts, self._state
        counts["bytes_loaded"] += size
        if not self._job.started:
            accounts.go_on(state.accounts, self._job, counts, state.servers)

    def _catch_up(self, latest: int, planned: bool) -> None:
        """A new controller hears of what was before it: it may go by what it has seen.

        Of this failure's end, unless the start was planned, of the failures before, and of the last
        save, of step `latest`, so that it saves when those of other processes do; that took as long
        as the others in the mean.
        """
        job, counts, seconds = self._job, self._saves.counts, self._job.watch.seconds
        saved = [latest]
        if self._twins is not None:  # to the furthest tier first, which serves the nearer ones
            saved.append(self._twins.averaged)
        now, timed = job.clock, counts["saves"] - 1  # the last had yet to take its time then
        save_s = self._planned_save_s
        if timed > 0:
            save_s = (seconds["save"] + seconds["stall"]) * job.pace / timed
        before = Clock(now.wall_s - min(save_s, now.wall_s), saved[0] * job.step_s)
        job.controller.tell(Resumed(before, ()))
        for _ in range(counts["failures"] - (not planned)):
            job.controller.answer(before, Loss(frozenset({0}), frozenset()))
            job.controller.tell(Resumed(before, ()))
        for step, schedule in zip(saved, reversed(self._plan.schedules), strict=False):
            clock = Clock(now.wall_s, step * job.step_s)
            job.controller.tell(Saved(clock, schedule.save, stored=True))

    def _latest(self, step: int) -> int:
        return -self._ranks.least(-step)
