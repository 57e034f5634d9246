"""The job as one SimPy process: it trains, saves, fails and recovers as a plan's controller says.

docs/semantics.md states the rules that are carried out here.
"""

import math

import simpy

from cprsim.contract import Action, Clock, Drain, Save, Saved, Train, Void, rules
from cprsim.contract.ledger import Ledger
from cprsim.errors import RunError
from cprsim.failures.timeline import Cursor
from cprsim.job.start import Starts
from cprsim.job.transfer import Transfer
from cprsim.sim.attempts import Attempts
from cprsim.sim.background import BackgroundSaves, Dialogue
from cprsim.sim.limits import Limits
from cprsim.sim.notices import Herald
from cprsim.sim.observer import Observer
from cprsim.sim.recovery import Delays, Recovery
from cprsim.sim.resolved import ResolvedPlan
from cprsim.sim.starts import Attempted
from cprsim.sim.state import State
from cprsim.sim.withdrawals import Withdrawals
from cprsim.sim.work import WAIT, Process, Work


class JobRun:
    """One run of the job under one plan on one failure timeline.

    Start `process()` in `env`; when it has ended, `ledger()` tells where the time went.
    """

    def __init__(
        self,
        env: simpy.Environment,
        resolved: ResolvedPlan,
        cursor: Cursor,
        delays: Delays,
        attempts: Attempts,
        starts: Starts,
        observer: Observer | None = None,
    ) -> None:
        self._resolved, plan = resolved, resolved.plan
        self._known_save: Save | None = None
        self._save_s = 0.0  # what that takes
        self._nearly_done_s = rules.r4_nearly_done_s(resolved.useful_time_s)
        self._unslowed = resolved.training(0.0)[1] == 1.0  # with nothing beside it
        self._cursor, self._attempts = cursor, attempts
        self._state = state = State(
            resolved.useful_time_s,
            resolved.servers,
            plan.schedules,
            plan.mirror,
            resolved.update_shares,
            None if plan.tracking is None else plan.tracking.left,
            plan.keep - 1 if resolved.marked else None,
            attempts.faults,
            plan.tiers,
        )
        self._begun = 0  # saves since it was last verified
        self._began_s = 0.0  # progress when the job got the nodes that it has
        self._work = work = Work(env, cursor, resolved.costs.capacities, observer)
        self._dialogue = dialogue = Dialogue(resolved, state, work)
        self._limits = limits = Limits(resolved, state, work)
        self._background = background = BackgroundSaves(
            resolved, state, work, dialogue, limits, attempts
        )
        self._attempted = attempted = Attempted(resolved, work, cursor, starts)
        self._recovery = recovery = Recovery(
            *(resolved, state, work, cursor, delays, dialogue, limits, background, attempts),
            attempted,
        )
        self._herald: Herald | None = None
        if attempts.notices is not None and resolved.notices is not None:
            of = resolved.notices, resolved.servers
            self._herald = Herald(attempts.notices, *of, work, cursor, dialogue, recovery)
        self._withdrawals = Withdrawals(resolved, work, self._recovery, attempted)

    def process(self) -> Process:
        """Run the job from start to end."""
        resolved, state, work, cursor = self._resolved, self._state, self._work, self._cursor
        ask, herald, useful_time_s = self._dialogue.ask, self._herald, resolved.useful_time_s
        withdrawals = self._withdrawals
        yield from self._attempted.first()
        withdrawals.await_next()
        while True:
            if self._at_end:  # an end and a failure: the end comes first
                done = state.progress_s >= useful_time_s
                saves = resolved.final_save or not done
                over = rules.r4_is_over(saves, self._saved_s, state.progress_s)
                if not done:
                    self._recovery.end()
                if over and not self._verifies:
                    if not done:
                        yield from self._hand_over()
                        continue
                    self._recovery.end()
                    work.end()
                    yield from self._attempted.end()
                    return
                if cursor.next_s > work.now:
                    yield from self._verify() if over else self._save_the_end()
                    continue
            if cursor.next_s <= work.now or withdrawals.due:
                yield from self._interrupted()
            else:
                now = Clock(work.now, state.progress_s)
                action = ask(now) if herald is None else herald.ask(now)
                event = self._uncontended(action)
                if event is not None:
                    yield event
                elif type(action) is Train:
                    yield from self._train(action.until_s)
                elif type(action) is Save:
                    yield from self._save(action)
                elif type(action) is Drain:
                    yield from self._recovery.drain(action)

    def ledger(self) -> Ledger:
        """Where the time of the finished run went."""
        resolved, state, work = self._resolved, self._state, self._work
        # Training time is split anew: what counts at full speed, what slowed it, what was lost.
        spent = work.spent | {"train": resolved.useful_time_s}
        spent |= {"slowdown": state.slowdown_s, "lost": state.lost_s}
        return Ledger(
            **spent,
            wall=work.now,
            pls=state.pls,
            updates_lost=state.updates_lost,
            failures=self._limits.failures,
            absorbed=self._cursor.absorbed + self._recovery.absorbed,
            saves=state.saves,
            stored=state.stored,
            sent=state.sent,
            corrupt=int(state.is_corrupt),
        )

    def _interrupted(self) -> Process:
        """A failure strikes, or servers are to go."""
        if self._cursor.next_s <= self._work.now:
            return self._recovery.recover()
        return self._withdrawals.take()

    # --- Training and saving ---------------------------------------------------------------------

    def _uncontended(self, action: Action) -> simpy.Event | None:
        """Do it, if nothing can slow it or come in between: the common case, and quick.

        What comes of it is known at once (see `Work.uncontended`), and settled before its end is
        waited for.
        """
        if type(action) is Train:
            alone = self._unslowed and not self._work.background
            return self._train_uncontended(action.until_s) if alone else None
        if type(action) is Save:
            self._resolved.check_save(action)
            return self._save_uncontended(action)
        if type(action) is Drain:
            return None
        raise RunError(
            f"policy {self._resolved.policy!r}: nothing has failed, but its controller answered "
            f"{action}"
        )

    def _train_uncontended(self, until_s: float) -> simpy.Event:
        state, work = self._state, self._work
        until_s = self._ahead(until_s)
        start, start_s = work.now, state.progress_s
        event = work.uncontended("train", until_s - start_s)
        state.progress_s = start_s + work.now - start if work.cut else until_s
        return event

    def _train(self, until_s: float) -> Process:
        state, work = self._state, self._work
        until_s = self._ahead(until_s)
        start, start_s = work.now, state.progress_s
        training, rate = self._resolved.training(self._recovery.degraded)
        volume = until_s - start_s

        def trained(done: float) -> None:
            state.progress_s = start_s + done

        done = yield from work.do("train", training, volume, rate, trained)
        state.progress_s = until_s if done == volume else start_s + done
        slower_s = work.now - start - done
        if slower_s > rules.ROUNDING * work.now:
            state.slowdown_s += slower_s
            work.see_slowdown(slower_s)

    def _ahead(self, until_s: float) -> float:
        """The progress to train to: what was asked for, or the end."""
        self._limits.train(until_s - self._state.progress_s)
        if until_s >= self._nearly_done_s:
            return self._resolved.useful_time_s
        if not until_s > self._state.progress_s:  # nor is it where it is no number
            raise RunError(f"the controller asked to train until {until_s} s, which is not ahead")
        return until_s

    def _save_uncontended(self, save: Save) -> simpy.Event | None:
        work = self._work
        resolved = self._resolved
        if work.background or not save.blocking or resolved.store_fails or resolved.plan.verifies:
            return None
        if save is not self._known_save:  # most saves are alike
            transfer, rate = self._resolved.save(save)
            self._known_save, self._save_s = save, transfer.volume / rate
        if not self._save_s or work.now + self._save_s > self._cursor.next_s:
            return None
        self._limits.save()
        event = work.uncontended("save", self._save_s)
        self._stored(save)
        return event

    @property
    def _verifies(self) -> bool:
        """Whether what is trained now is verified before it is saved, or the job is over."""
        verifies, state = self._resolved.plan.verifies, self._state
        if verifies is None or state.is_verified:
            return False
        return rules.r34_verifies(self._begun, verifies.every, self._at_end)

    def _verify(self) -> Process:
        """Verify what was trained; whether it is sound, and no failure has taken the job back."""
        verifies = self._resolved.plan.verifies
        assert verifies is not None
        if not (yield from self._hold_up("verify", WAIT, verifies.takes_s, 1.0)):
            return False
        self._begun = 0
        if self._state.verify():
            return True
        self._limits.corrupt()
        yield from self._recovery.return_to_verified()
        return False

    def _save(self, save: Save) -> Process:
        self._limits.save()
        if not self._verifies:
            self._begun += 1
        elif not (yield from self._verify()):
            return
        if save.blocking:
            cause, (hold, rate) = "save", self._resolved.save(save)
            volume = hold.volume
        else:
            cause, hold, volume, rate = "stall", WAIT, self._resolved.snapshot_s(save), 1.0
        while True:
            start_s = self._work.now
            if not (yield from self._hold_up(cause, hold, volume, rate)):
                return
            if not (save.blocking and self._is_void(save, start_s)):
                self._held_up(save)
                break
            self._state.wrote(*self._resolved.amount(save))
            self._limits.vain()
            if not self._tries_again(save):
                self._dialogue.tell(Void(self._dialogue.now(), save))
                break
        if self._work.background:
            self._work.settle()

    def _hold_up(self, cause: str, hold: Transfer, volume: float, rate: float) -> Process:
        """Hold training up for so much of a save; whether that isn't void for a rollback."""
        left = volume - (yield from self._work.do(cause, hold, volume, rate))
        while left > 0:
            depth = yield from self._recovery.recover()
            if rules.r9_is_void(depth, 0, trained_on=False):
                return False
            left -= yield from self._work.do(cause, hold, left, rate)
        return True

    def _held_up(self, save: Save) -> None:
        """Training may go on."""
        if save.blocking:
            self._stored(save)
        else:
            self._background.start(save, self._state.taken(save))
            self._dialogue.tell(Saved(self._dialogue.now(), save, stored=False))

    def _is_void(self, save: Save, start_s: float) -> bool:
        return self._attempts.save_is_void(save, start_s, self._work.now)

    def _tries_again(self, save: Save) -> bool:
        """Whether a void save is: without the last one the job isn't over."""
        return self._at_end or self._resolved.plan.tries_again(save)

    def _stored(self, save: Save) -> None:
        """The last byte of a blocking save is stored."""
        state = self._state
        state.wrote(*self._resolved.amount(save))
        state.usable(state.taken(save), save, self._attempts.torn)
        self._dialogue.tell(Saved(Clock(self._work.now, state.progress_s), save, True))

    @property
    def _at_end(self) -> bool:
        """Whether nothing more is trained, or not before the job has other nodes."""
        return self._state.progress_s >= self._resolved.useful_time_s or self._attempted.stops

    def _hand_over(self) -> Process:
        """What was trained in this allocation is saved; the next one goes on with it."""
        if self._state.progress_s <= self._began_s:
            longer = "give a longer job.allocation, or " * (self._resolved.allocation_s < math.inf)
            self._limits.vain(f"{longer}make failures rarer")
        yield from self._recovery.hand_over()
        self._began_s = self._state.progress_s
        self._withdrawals.await_next()

    @property
    def _saved_s(self) -> float:
        """Progress of the checkpoint that the job ends with."""
        return self._state.saved(self._resolved.plan.last_save.tier).progress_s

    def _save_the_end(self) -> Process:
        """`final_save`: the job isn't over until a checkpoint of all of it is usable."""
        save, schedules = self._resolved.plan.last_save, self._resolved.plan.schedules
        most = schedules[-1].max_pending if schedules else 1
        under_way = sum(each.tier == save.tier for each in self._background.saves)
        if self._background.holds(self._state.progress_s) or under_way >= most:
            yield from self._work.await_background("save")
        else:
            yield from self._save(save)
