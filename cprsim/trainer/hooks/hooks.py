"""Checkpoints and recovery, by the policies of cprsim, for a training loop of your own."""

import signal
import threading
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Generic, TypeVar

from cprsim.basics.files import check_writable
from cprsim.contract import Train, rules
from cprsim.errors import CprsimError, UsageError
from cprsim.scenario import Scenario
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.member import JobMember
from cprsim.trainer.hooks.observer import HooksObserver, HooksWarning, tell
from cprsim.trainer.hooks.process_state import ProcessState
from cprsim.trainer.hooks.ranks import OneProcess, Ranks
from cprsim.trainer.hooks.recovery import JobRecovery
from cprsim.trainer.hooks.running_job import RunningJob
from cprsim.trainer.hooks.saves import Saves
from cprsim.trainer.hooks.summary import Summary
from cprsim.trainer.hooks.twins import TwinShards
from cprsim.trainer.hooks.updates import share
from cprsim.trainer.support import HOOKS

_Batch = TypeVar("_Batch")


class TrainerHooks(Generic[_Batch]):
    """Saves and recovers a training loop as a policy says.

    In a loop::

        hooks = TrainerHooks(scenario, "cpr-mfu", adapter, "checkpoints", steps=1000)
        for step in range(hooks.restore(), 1000):
            ...  # train on a batch
            hooks.after_step(batch)

    Parameters
    ----------
    scenario, policy
        What the policy plans with, and its name there. Failures are those that come.
    adapter
        Leads to the tensors and the lookups of the loop.
    folder
        For the checkpoints of this process, which nobody else writes to.
    steps
        Of the whole job: a step is `job.useful_time / steps` of progress. A job that continues may
        be given more than before, which prolongs it.
    ranks
        The processes of the job, `ProcessGroup()` where torch.distributed has them. One process
        needs none. All must make the same calls in the same order.
    seed
        Of what trackers draw.
    earlier
        Folders of the processes that the job had before, where it is divided again into other
        processes and `folder` is new. All rows that are here are taken out of them; they are only
        read, and may be removed once all processes have begun.
    observers
        Called at saves, losses, loads and steps.

    Raises
    ------
    ScenarioError
        Where the policy can't be carried out.
    UsageError
        Where the adapter gives what can't be used, or the folder is of another job.

    Attributes
    ----------
    notice
        Whether a signal has given notice (`saving_on`), known in all processes after the step.
    noticed
        Whether all is saved since.
    """

    def __init__(
        self,
        scenario: Scenario,
        policy: str,
        adapter: ShardAdapter[_Batch],
        folder: str | Path,
        steps: int,
        ranks: Ranks | None = None,
        seed: int = 0,
        earlier: Sequence[str | Path] = (),
        observers: Sequence[HooksObserver] = (),
    ) -> None:
        _check_kinds(scenario, policy, folder, steps)
        (self._policy,) = scenario.select([policy])
        system = scenario.policies[self._policy].system
        plan = scenario.plan(policy)
        HOOKS.check_plan(policy, plan, scenario.plans_of)
        if steps < 1:
            raise UsageError(f"steps = {steps}: give those of the whole job, 1 or more")
        check_writable(Path(folder), option="folder")
        self._servers = scenario.cluster.parameter_servers
        folders = Path(folder), [Path(each) for each in earlier]
        self._state = ProcessState(adapter, *folders, scenario, plan, seed, system)
        self._checkpoints = self._state.checkpoints
        self._ranks = OneProcess() if ranks is None else ranks
        self._plan, self._final_save = plan, scenario.job.final_save
        planned_save_s = 0.0
        with suppress(CprsimError):  # not every policy needs to know
            planned_save_s = scenario.context.save_s
        self._job = RunningJob(HOOKS.start(plan), steps, scenario.job.useful_time_s / steps)
        self._unchecked = self._just_restored = False
        self._listening = self._signalled = self.notice = self.noticed = False
        self._thread = threading.get_ident()  # the loop's
        self._until = 0  # the controller decides again at this step
        self._observers = list(observers)
        self._twins = TwinShards(adapter, self._state, self._ranks) if plan.live_tiers else None
        member = JobMember(self._state, self._job, self._ranks, plan, self._observers, self._twins)
        self._saves = Saves(member)
        self._recovery = JobRecovery(member, self._saves, planned_save_s)
        if plan.note is not None:
            warnings.warn(
                f"policy {self._policy!r} ({system}) plans {plan.recovery} recovery: {plan.note}",
                HooksWarning,
                stacklevel=2,
            )

    # --- What a loop calls ---

    def restore(self) -> int:
        """Begin the job, or return all of it to its last checkpoint; gives the steps done by then.

        To be called once, before the first step. Where the folder is empty, the state as it is now
        becomes the first checkpoint.

        Raises `RunError` where no checkpoint is sound, or where other processes have none.
        """
        if self._job.started:
            raise UsageError("restore() was called before; after a failure call on_failure(shards)")
        self._thread = threading.get_ident()
        self._job.watch.start()
        self._job.watch.reattribute("load")
        state = self._state
        begun = self._checkpoints.begin(self._ranks)
        self._just_restored = True
        done = self._ranks.least(self._checkpoints.newest)
        if done > self._job.steps:
            raise UsageError(
                f"steps = {self._job.steps}: the folder {self._checkpoints.path} has a checkpoint "
                f"of step {done}; give as many or more, those of the whole job"
            )
        for each in [*state.missing(self._ranks.total)]:  # which all ask for before any may raise
            warnings.warn(f"shards(): {each}", HooksWarning, stacklevel=2)
        if begun:
            planned = bool(self._ranks.least(int(self._checkpoints.was_stopped)))
            return self._recover(range(self._servers), True, start=True, planned=planned)
        self._saves.first(0)
        self._job.started = self._unchecked = True
        self._job.watch.reattribute("train")
        self._job.watch.start()  # what the job begins with costs it nothing
        self._act()
        return 0

    def after_step(self, batch: _Batch) -> None:
        """A step is done, its updates are in the rows. Saves where the policy says so.

        A save that fails, of a full disk or a state that can't be stored, ends nothing; a
        `HooksWarning` says so.
        """
        job = self._job
        if not self._job.started:
            raise UsageError("after_step() before restore(): call that once, before the first step")
        if job.step == job.steps:
            raise UsageError(f"after_step(): all {job.steps} steps are done; give more as `steps`")
        self._thread = threading.get_ident()
        self._checkpoints.folder.stopped = self._just_restored = False
        job.watch.stop()
        if self._unchecked:  # state that an optimiser makes in its first step
            for name, table in self._state.check():
                warnings.warn(
                    f"dense(): {name!r} keeps state of the rows of table {table} that shards() "
                    "does not give: it is whole in every save, and does not return with a lost "
                    "shard; give it as `state` of their TablePart, and the optimizer of the rows "
                    "not in dense()",
                    HooksWarning,
                    stacklevel=2,
                )
            self._unchecked = False
        self._state.observe(job.step, batch)
        job.did()
        if self._saves.landed() or job.step >= self._until:
            self._act()
        tell(self._observers, "stepped", job.step)
        if self._listening and not self.noticed:  # if there was no room, after the next step
            self.notice = self.notice or bool(self._ranks.least(-int(self._signalled)))
            self.noticed = self.notice and self.save_now()
            if self.noticed:
                tell(self._observers, "noticed", job.step)

    def save_now(self) -> bool:
        """Save all rows and the dense part after the step that was done last; whether it is stored.

        To be called between steps, in the thread that trains. The policy's next save is due a
        period later. Where there are several processes all call it.
        """
        if not self._job.started:
            raise UsageError("save_now() before restore(): call that once, before the first step")
        if threading.get_ident() != self._thread:
            raise UsageError(
                "save_now() in another thread than the loop's, which may be in the middle of a "
                "step: call it between steps there, or send a signal that saving_on() listens for"
            )
        self._checkpoints.folder.stopped = self._saves.everything(self._plan.last_save)
        return self._checkpoints.folder.stopped

    def updating(self) -> AbstractContextManager[None]:
        """In this block rows may be updated, in any thread: no save copies them meanwhile.

        For a loop whose threads train on the same tables. Each holds it while it writes weights and
        optimizer state, so that a save has both of a row from one instant. `after_step` is called
        outside it, in one thread.
        """
        return self._state.gate.updating()

    def settle(self) -> bool:
        """Wait until no save is written in the background; whether the last one is stored.

        To be called after `after_step`, where training is to wait after all; all processes call it.
        """
        if not self._saves.under_way:
            return True
        watch = self._job.watch
        watch.switch("stall")
        stored = self._saves.settle()
        watch.switch("train")
        self._until = min(self._until, self._job.step + 1)  # the controller may go by that
        return stored

    @property
    def whole_step(self) -> int:
        """The step by which the last usable checkpoint had as much saved as all rows are.

        (E4) counts the steps since.
        """
        return self._job.usable.last.whole

    @contextmanager
    def saving_on(self, *signals: signal.Signals) -> Iterator[None]:
        """In this block a signal (SIGTERM, if none is named) has all saved after the next step.

        Then `noticed` is True, for the loop to end by; `notice` is so even if there was no room for
        the save, which is tried again after each step. Where there are several processes, all enter
        such a block; one that is given notice is enough. Only the main thread may.
        """
        if threading.current_thread() is not threading.main_thread():
            raise UsageError("saving_on(): signals reach the main thread alone; call it there")

        def note(*_: object) -> None:
            self._signalled = True

        before = {each: signal.signal(each, note) for each in signals or (signal.SIGTERM,)}
        self._listening = True
        try:
            yield
        finally:
            self._listening = False
            for number, handler in before.items():
                signal.signal(number, handler)

    def on_failure(self, lost: Collection[int], dense: bool = False) -> int:
        """Shards are lost: return to checkpoints as the policy says; gives the step to go on from.

        What was lost has to be there again, with any values in it. Under partial recovery the
        others keep theirs; under full recovery everything returns to the last checkpoint. Where
        there are several processes all call it; one that replaces another calls it in place of
        `restore`, and loads all that it holds.

        Parameters
        ----------
        lost
            The numbers of the shards, in whatever process they are.
        dense
            Whether the dense part is lost as well.
        """
        given: object = lost
        if not isinstance(given, Collection):
            raise UsageError(f"on_failure({given!r}): give the numbers of shards, {{{given!r}}}")
        unknown = [shard for shard in lost if shard not in range(self._servers)]
        if unknown:
            raise UsageError(
                f"on_failure(): {unknown[0]!r} is none of the shards 0 to {self._servers - 1}"
            )
        self._thread = threading.get_ident()
        if self._job.started:
            self._job.watch.reattribute("reschedule")
        else:
            missing = sorted({*self._state.shards} - {*lost})
            if missing:
                raise UsageError(
                    f"on_failure(): shard {missing[0]} of a process that has just been started is "
                    "lost as well; name it in all processes"
                )
            self._checkpoints.replace()
            self._job.watch.start()
            self._job.watch.reattribute("load")
        return self._recover(lost, dense)

    def adopt(self, step: int) -> None:
        """Continue from `step`, to which something else has brought the state; nothing is loaded.

        For a peer's state (torchft) or a library's own restore, which may be of an earlier step or
        of a later one. Call `restore` once before, which brings the accounts of the job. All rows
        and the dense part are saved at once, and the policy's next save is due a period later. It
        counts as a failure unless it follows `restore`, which counted the start; no update counts
        as lost. Where there are several processes, all call it, with the same step.

        Raises `UsageError` for a step that the job does not have and for groups of twins, and
        `RunError` where no earlier checkpoint is left and this one can't be stored.
        """
        job = self._job
        if not self._job.started:
            raise UsageError("adopt() before restore(): call that once, which brings the accounts")
        if self._twins is not None:
            raise UsageError("adopt() with groups of twins: call on_failure(), which fills them")
        if not isinstance(step, Integral) or isinstance(step, bool) or not 0 <= step <= job.steps:
            raise UsageError(f"adopt({step!r}): give a step of the job, 0 to {job.steps}")
        self._thread = threading.get_ident()
        self._recovery.adopt(int(step), self._just_restored)  # NumPy's are no JSON
        self._go_on(0)

    @property
    def step(self) -> int:
        """Steps that are done."""
        return self._job.step

    @property
    def summary(self) -> Summary:
        """The result so far."""
        job = self._job
        return Summary(
            policy=self._policy,
            recovery=self._plan.recovery,
            step=job.step,
            steps=job.steps,
            seconds=dict(job.watch.seconds),
            pls=job.lost_steps / rules.all_samples(job.steps, self._servers),
            updates_lost=share(*self._state.updates.lost_and_all(job.steps)),
            checkpoint=job.usable.last.step,
            **self._saves.counts,
        )

    def job_summary(self) -> Summary:
        """The summary of all processes together, which all call: what was lost, and bytes."""
        mine, total = self.summary, self._ranks.total
        lost, of = self._state.updates.lost_and_all(mine.steps)
        return replace(
            mine,
            pls=total(mine.pls),
            updates_lost=share(total(lost), total(of)),
            bytes_saved=round(total(mine.bytes_saved)),
            bytes_loaded=round(total(mine.bytes_loaded)),
        )

    # --- Saving ---

    def _act(self) -> None:
        """Do what the controller says until it says to train, or all is done."""
        job = self._job
        stored = True
        while job.step < job.steps:
            action = job.controller.ask(job.clock)
            if isinstance(action, Train):
                self._until = job.step_at(action.until_s)
                return
            if not stored:  # it would have the same again
                self._until = job.step + 1
                return
            stored = self._saves.do(action)
        self._saves.settle()
        if not rules.is_over(self._final_save, job.usable.last.step, job.steps):
            self._saves.do(self._plan.last_save._replace(blocking=True))
        self._checkpoints.folder.stopped = True  # a job that is prolonged has not failed

    # --- Recovery ---

    def _recover(
        self, lost: Collection[int], dense: bool, start: bool = False, planned: bool = False
    ) -> int:
        """Return to checkpoints, and go on; gives the step from which training continues."""
        before = self._saves.counts["bytes_loaded"]
        self._recovery.recover(lost, dense, start, planned)
        self._unchecked = True
        self._go_on(self._saves.counts["bytes_loaded"] - before)
        return self._job.step

    def _go_on(self, size: int) -> None:
        """Training continues, once so many bytes were loaded."""
        job = self._job
        job.watch.switch("train")
        tell(self._observers, "loaded", job.step, size)
        self._until = job.step
        self._act()


def _check_kinds(scenario: object, policy: object, folder: object, steps: object) -> None:
    """Raise `UsageError` for what is of another kind than hooks take."""
    is_count = isinstance(steps, Integral) and not isinstance(steps, bool)
    loads = 'what cprsim.load_scenario("job.toml") gives'
    for name, given, is_right, way_out in (
        ("scenario", scenario, isinstance(scenario, Scenario), loads),
        ("policy", policy, isinstance(policy, str), "the name of one of its policies"),
        ("folder", folder, isinstance(folder, str | Path), "a path"),
        ("steps", steps, is_count, "how many the whole job has, a whole number"),
    ):
        if not is_right:
            raise UsageError(f"{name} = {given!r:.60}: give {way_out}")
