"""The job as one SimPy process: it trains, saves, fails and recovers as a plan's controller says.

docs/semantics.md states the rules that are carried out here.
"""

from typing import NamedTuple, NoReturn, Protocol

import simpy

from cprsim.contract import Clock, Failed, Loss, Recover, Resumed, Save, Saved, Stored, Train
from cprsim.costs import Rollback
from cprsim.errors import RunError
from cprsim.failures.hit import Hit
from cprsim.failures.timeline import Cursor
from cprsim.ledger import Ledger
from cprsim.sim.fabric import Flow
from cprsim.sim.setting import Setting
from cprsim.sim.state import Checkpoint, State
from cprsim.sim.work import Observer, Process, Work
from cprsim.transfer import Transfer

#: A wait that draws on no link; its volume is in seconds.
_WAIT = Transfer(0.0, cap=1.0)
#: Shares of a time below which lies only the rounding of what was added up to it.
_ROUNDING = 1e-12
#: A job that has taken this many times its useful time, and failed and saved so often in it, will
#: not end in any time worth waiting for.
_HOPELESS = 100.0
_OFTEN = 1000
#: Nor will one that failed so often, even if its failures take no time.
_MOST_FAILURES = 1_000_000
#: Nor will one whose policy saves so often without training in between.
_MOST_IDLE_SAVES = 1000
#: How far an answer sets the job back.
_DEPTH: dict[Rollback, int] = {"none": 0, "lost": 1, "all": 2}
_NOBODY = Loss(frozenset(), frozenset())


class Delays(Protocol):
    """Rescheduling delays by the number of the failure, s."""

    def __getitem__(self, index: int) -> float:
        """The delay after failure `index`, from 0."""


class _Pending(NamedTuple):
    """What a background save will hold, and of which portion of the rows."""

    checkpoint: Checkpoint
    portion: float


class JobRun:
    """One run of the job under one plan on one failure timeline.

    Start `process()` in `env`; when it has ended, `ledger()` tells where the time went.
    """

    def __init__(
        self,
        env: simpy.Environment,
        setting: Setting,
        cursor: Cursor,
        delays: Delays,
        observer: Observer | None = None,
    ) -> None:
        self._set = setting
        self._cursor = cursor
        self._delays = delays
        self._observer = observer
        self._controller = setting.plan.start()
        plan = setting.plan
        left_s = [each * plan.interval_s if each else 0.0 for each in plan.left]
        self._state = State(setting.useful_time_s, setting.servers, left_s, plan.period_s)
        self._work = Work(env, cursor, setting.costs.capacities, observer)
        self._failures = 0
        self._idle_saves = 0  # saves since it last trained
        self._last_clock = Clock(0.0, 0.0)  # asking and telling at one instant share it
        self._pending: dict[Flow, _Pending] = {}  # background saves
        self._rebuilding: dict[Flow, Hit] = {}  # nodes that are replaced while the job trains on
        self._spares_ready = [0.0] * setting.spares

    def process(self) -> Process:
        """Run the job from start to end."""
        setting, state, work, cursor = self._set, self._state, self._work, self._cursor
        ask, useful_time_s = self._controller.ask, setting.useful_time_s
        while True:
            if state.progress_s >= useful_time_s:  # an end and a failure: the end comes first
                if not setting.final_save or state.saved.progress_s >= useful_time_s:
                    return
                if cursor.next_s > work.now:
                    yield from self._save_the_end()
                    continue
            if cursor.next_s <= work.now:
                yield from self._recover()
            else:
                action = ask(self._clock())
                if type(action) is Train:
                    yield from self._train(action.until_s)
                elif type(action) is Save:
                    yield from self._save(action)
                else:
                    raise RunError(f"nothing has failed, but the controller answered {action}")

    def ledger(self) -> Ledger:
        """Where the time of the finished run went."""
        setting, state, work = self._set, self._state, self._work
        # Training time is split anew: what counts at full speed, what slowed it, what was lost.
        spent = work.spent | {"train": setting.useful_time_s}
        spent |= {"slowdown": state.slowdown_s, "lost": state.lost_s}
        return Ledger(
            **spent,
            wall=work.now,
            pls=state.pls,
            updates_lost=state.updates_lost,
            failures=self._failures,
            absorbed=self._cursor.absorbed,
            saves=state.saves,
        )

    # --- Training and saving ---------------------------------------------------------------------

    def _train(self, until_s: float) -> Process:
        setting, state, work = self._set, self._state, self._work
        if setting.useful_time_s - until_s <= _ROUNDING * setting.useful_time_s:
            until_s = setting.useful_time_s
        start, volume, rate = work.now, until_s - state.progress_s, setting.training_rate
        self._idle_saves = 0
        if volume <= 0:
            raise RunError(f"the controller asked to train until {until_s} s, which is not ahead")
        if rate == 1.0 and not work.background:  # nothing can slow it: the common case, and quick
            yield work.alone("train", volume)
            state.progress_s = state.progress_s + work.now - start if work.cut else until_s
        else:
            done = yield from work.do("train", setting.training, volume, rate)
            state.progress_s = until_s if done == volume else state.progress_s + done
            slower_s = work.now - start - done
            if slower_s > _ROUNDING * work.now:
                state.slowdown_s += slower_s

    def _save(self, action: Save) -> Process:
        setting, state, work = self._set, self._state, self._work
        self._check_time("save less often")
        self._idle_saves += 1
        if self._idle_saves > _MOST_IDLE_SAVES:
            self._give_up("it only saves; give a longer interval")
        save, rate = setting.save(action.portion)
        if action.blocking:
            cause, hold, left = "save", save, save.volume
        else:
            cause, hold, left, rate = "stall", _WAIT, action.stall_s, 1.0
        if left and not work.background:  # the common case, and quick
            start = work.now
            yield work.alone(cause, left / rate)
            left = left - (work.now - start) * rate if work.cut else 0.0
        else:
            left -= yield from work.do(cause, hold, left, rate)
        while left > 0:
            rollback = yield from self._recover()
            # A rollback of the whole job voids what was being saved. Otherwise the healthy nodes
            # have kept what they had, and a lost shard's last checkpoint is what it has again: the
            # rest of the save goes on.
            if rollback == "all":
                return
            left -= yield from work.do(cause, hold, left, rate)
        taken = state.checkpoint()
        if action.blocking:
            state.usable(taken, action.portion)
        else:
            self._pending[work.start(save, self._land)] = _Pending(taken, action.portion)
        self._controller.tell(Saved(self._clock(), action.blocking))
        if work.background:
            work.settle()

    def _land(self, flow: Flow) -> None:
        """The last byte of a background save is stored."""
        self._state.usable(*self._pending.pop(flow))
        self._controller.tell(Stored(self._clock()))

    def _save_the_end(self) -> Process:
        """`final_save`: the job isn't over until a checkpoint of all of it is usable."""
        progress_s, plan = self._state.progress_s, self._set.plan
        taken = any(
            each.checkpoint.progress_s >= progress_s and each.portion == 1.0
            for each in self._pending.values()
        )
        if taken or len(self._pending) >= plan.max_pending:
            yield from self._work.await_background("save")
        else:
            yield from self._save(plan.save._replace(portion=1.0))

    # --- Failures --------------------------------------------------------------------------------

    def _recover(self) -> Process:
        """From a failure at this instant until training can go on; returns who was set back.

        Failures while loading are part of it: what the deepest rollback among their answers needs
        is what has to be loaded.
        """
        setting, work, cursor = self._set, self._work, self._cursor
        waiting = _NOBODY  # nodes that are waited for: this failure's, and those while loading
        rollback: Rollback = "none"
        while True:
            hit = self._strike()
            new = frozenset(hit.servers)
            if waiting is _NOBODY and not self._rebuilding:
                waiting = down = Loss(new, frozenset(hit.trainers))
            else:
                new -= self._down(waiting).servers
                waiting = Loss(waiting.servers | new, waiting.trainers.union(hit.trainers))
                down = self._down(waiting)
            answer = self._answer(down)
            self._set_back(answer, new)
            delay_s = self._replacement_delay_s(hit)
            if answer.rollback == "all" and self._rebuilding:
                waiting, hit, longest_s = self._take_over_rebuilding(waiting, hit)
                delay_s = max(delay_s, longest_s)
            if _DEPTH[answer.rollback] > _DEPTH[rollback]:
                rollback = answer.rollback
            if setting.detect_s:
                yield from work.do("detect", _WAIT, setting.detect_s, 1.0)
            if answer.keep_training and rollback != "all":
                if waiting.servers or waiting.trainers:
                    self._rebuild(waiting, rollback, delay_s)
                cursor.resume(work.now)
                break
            yield from work.do("reschedule", _WAIT, delay_s, 1.0)
            cursor.replace(hit, work.now)
            if setting.during_recovery:
                cursor.resume(work.now)
            load, rate = setting.load(rollback, len(waiting.servers))
            left = load.volume
            if left:
                left -= yield from work.do("load", load, left, rate)
            if not left:
                if not setting.during_recovery:
                    cursor.resume(work.now)
                break
        self._controller.tell(Resumed(self._clock(), len(self._pending)))
        return rollback

    def _strike(self) -> Hit:
        if self._failures >= _MOST_FAILURES:
            self._give_up("make failures rarer or saves cheaper")
        self._check_time("save more often, or make failures rarer or saves cheaper")
        hit = self._cursor.strike()
        self._failures += 1
        if self._observer is not None:
            self._observer.failure(self._work.now, hit)
        return hit

    def _check_time(self, way_out: str) -> None:
        # One long wait for machines takes its time as well, but it is over some day.
        often = self._failures + self._state.saves >= _OFTEN
        if often and self._work.now > _HOPELESS * self._set.useful_time_s:
            self._give_up(way_out)

    def _give_up(self, way_out: str) -> NoReturn:
        useful_time_s = self._set.useful_time_s
        raise RunError(
            f"policy {self._set.policy!r}: the job gets nowhere: "
            f"{self._work.now / useful_time_s:.3g} times its useful time is over, with "
            f"{self._failures} failures, and {self._state.progress_s / useful_time_s:.1%} of it "
            f"done; {way_out}"
        )

    def _answer(self, loss: Loss) -> Recover:
        now = self._clock()
        self._controller.tell(Failed(now, loss))
        answer = self._controller.ask(now)
        if not isinstance(answer, Recover):
            raise RunError(f"nodes have failed, but the controller answered {answer}")
        return answer

    def _set_back(self, answer: Recover, servers: frozenset[int]) -> None:
        """Return who has to return to the last checkpoint; `servers` have just lost their state."""
        if answer.rollback == "all":
            self._state.roll_back()
        elif answer.rollback == "lost":
            self._state.lose(servers)
        if self._pending and (answer.rollback == "all" or (answer.rollback == "lost" and servers)):
            # Lost nodes take their part of every background save with them.
            for flow in self._pending:
                self._work.abandon(flow)
            self._pending.clear()

    def _replacement_delay_s(self, hit: Hit) -> float:
        """Nothing if spares take over, else this failure's rescheduling delay."""
        delay_s, now = self._delays[self._failures - 1], self._work.now
        if not self._spares_ready:
            return delay_s
        rebuilding = self._down(_NOBODY)  # what is being replaced already needs no more
        nodes = len(set(hit.servers) - rebuilding.servers)
        nodes += len(set(hit.trainers) - rebuilding.trainers)
        ready = [i for i, at_s in enumerate(self._spares_ready) if at_s <= now]
        if len(ready) < nodes:
            return delay_s
        for i in ready[:nodes]:
            self._spares_ready[i] = now + delay_s
        return 0.0

    # --- Replacement in the background -----------------------------------------------------------

    def _down(self, waiting: Loss) -> Loss:
        """All that is down: who is waited for, and who is being rebuilt in the background."""
        rebuilding = self._rebuilding.values()
        return Loss(
            waiting.servers.union(*(hit.servers for hit in rebuilding)),
            waiting.trainers.union(*(hit.trainers for hit in rebuilding)),
        )

    def _rebuild(self, lost: Loss, rollback: Rollback, delay_s: float) -> None:
        """Replace and fill the lost nodes while the job trains on."""
        hit = Hit(tuple(lost.servers), tuple(lost.trainers))
        fill, _ = self._set.load(rollback, len(hit.servers))

        def replaced(flow: Flow) -> None:
            del self._rebuilding[flow]
            self._rebuilding[self._work.start(fill, filled)] = hit

        def filled(flow: Flow) -> None:
            del self._rebuilding[flow]
            # Its age counts from when it serves: until then it is down for every purpose.
            self._cursor.replace(hit, self._work.now)

        self._rebuilding[self._work.start(_WAIT, replaced, delay_s)] = hit
        self._work.settle()

    def _take_over_rebuilding(self, waiting: Loss, hit: Hit) -> tuple[Loss, Hit, float]:
        """A restart of the whole job waits for the nodes that were being rebuilt as well.

        Returns who is waited for, whom to replace, and how long those still have to be waited for.
        """
        down, hits = self._down(waiting), [hit, *self._rebuilding.values()]
        waits = [flow.ends_at for flow in self._rebuilding if flow.transfer is _WAIT]
        longest_s = max([at_s - self._work.now for at_s in waits], default=0.0)
        for flow in self._rebuilding:
            self._work.abandon(flow)
        self._rebuilding.clear()
        servers = tuple(server for each in hits for server in each.servers)
        trainers = tuple(trainer for each in hits for trainer in each.trainers)
        return down, Hit(servers, trainers), longest_s

    def _clock(self) -> Clock:
        last, wall_s, progress_s = self._last_clock, self._work.now, self._state.progress_s
        if last.wall_s != wall_s or last.progress_s != progress_s:
            last = self._last_clock = Clock(wall_s, progress_s)
        return last
