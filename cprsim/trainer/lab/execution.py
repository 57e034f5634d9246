"""A real job: it trains, is struck, and is brought back; saves are its processes' own."""

import math
from collections.abc import Callable, Collection

from cprsim.contract import Loss, Plan, rules
from cprsim.errors import RunError
from cprsim.failures.timeline import Cursor
from cprsim.trainer.hooks.running_job import Stopwatch
from cprsim.trainer.lab.cluster import LocalCluster, Said
from cprsim.trainer.lab.members import MemberSpec, Message
from cprsim.trainer.lab.strikes import Strikes

#: Attempts to bring the job back from one failure: processes that die so often are not killed.
_MOST_ATTEMPTS = 100


class Execution:
    """Trains a job to its end on a cluster, while failures strike that.

    `spec`: of its processes. `cursor`: of the failures. `progress` is called with the steps done
    and those in all.

    `strikes`: the failures as they strike.
    `executed`: steps that were trained, those that were rolled back as well. `lost_steps`: steps
    since the last whole checkpoint, summed over servers that return alone: (E4)'s numerator.
    `saved_rows`: of each server, how many rows its saves of chosen rows had.
    """

    def __init__(
        self,
        cluster: LocalCluster,
        spec: MemberSpec,
        plan: Plan,
        cursor: Cursor,
        progress: Callable[[int, int], None],
    ) -> None:
        self._cluster, self._plan, self._progress = cluster, plan, progress
        self.steps, self.watch = spec.data.steps, Stopwatch()
        self.strikes = Strikes(cluster, cursor, self, spec)
        self.step = self.executed = self.lost_steps = self.replaced = 0
        self.saved_rows: dict[int, list[int]] = {}
        self._trained_s = {0: 0.0}  # seconds of training up to each step that was done

    def _did(self, step: int) -> None:
        """Steps up to that one are done."""
        self.executed += step - self.step
        self.step = step
        self.watch.stop()
        self._trained_s[step] = self.watch.seconds["train"]

    def run(self) -> None:
        """Train to the end, whatever happens."""
        cluster, strikes = self._cluster, self.strikes
        cluster.start(cluster.members)
        if self._gather("ready", cluster.members, struck=False) is not None:
            cluster.resume(None)
            self._gather("resumed", cluster.members, struck=False)
        for each in sorted(cluster.dead):
            raise RunError(f"{cluster.called(each)} died as it was started")
        cluster.on_agreeing = strikes.saving
        self.watch.start()
        while self.step < self.steps or cluster.dead or strikes.unnoticed:
            if cluster.dead:
                self._recover()
            elif self.step == self.steps:
                self.watch.switch("detect")
                self._counted()  # what hangs does not answer
            elif strikes.due:
                self.watch.switch("detect")
                strikes.strike()
            else:
                self._train()
        self.watch.stop()

    def predict(self, first: int, end: int) -> Message:
        """Return the probabilities and labels of the batches from one step to another."""
        trainer = self._cluster.trainer
        self._cluster.tell(trainer, "predict", first, end)
        return _whole(self._gather("predicted", {trainer}, struck=False))[trainer]

    def counts(self) -> list[int]:
        """Return the updates that are left in each server's rows, then the steps in the MLPs."""
        return [message[1] for _, message in sorted(_whole(self._counted()).items())]

    def _counted(self) -> dict[int, Message] | None:
        for each in self._cluster.members:
            self._cluster.tell(each, "count")
        return self._gather("counted", self._cluster.members, struck=False)

    # --- Training ---

    def _train(self) -> None:
        """Train to the end or to the next failure, or until a process is lost."""
        cluster, strikes = self._cluster, self.strikes
        if not strikes.unnoticed:
            self.watch.switch("train")
        end = int(min(self.steps, self.step + strikes.steps_ahead))
        cluster.tell(cluster.trainer, "train", self.step, end)
        while True:
            event = cluster.next(strikes.wait_s)
            if event is None:
                self.watch.switch("detect")
                strikes.strike()
            elif event.message[0] == "died":
                self.watch.switch("detect")
                return
            elif event.message[0] == "trained":
                return
            else:
                self._note(event)

    def _note(self, said: Said) -> None:
        kind, *facts = said.message
        if kind == "stepped":
            self._did(facts[0])
            self._progress(self.step, self.steps)
        elif kind == "spent":
            self.watch.reattribute(facts[0])
            self.watch.switch("train")
        elif kind == "saved":
            self.saved_rows.setdefault(said.member, []).append(facts[0])

    # --- Recovery ---

    def _recover(self) -> None:
        """Replace what is dead, and have the hooks of all return to what they return to."""
        cluster, strikes = self._cluster, self.strikes
        lost: set[int] = set()
        found: dict[int, Message] | None = None
        attempts = 0
        while found is None:
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                raise RunError(
                    f"the job can't be brought back: processes died in {_MOST_ATTEMPTS} attempts"
                )
            died = set(cluster.dead)
            lost |= died
            self.watch.switch("reschedule")
            cluster.start(died)
            self.replaced += len(died)
            strikes.replaced(died)
            if self._gather("ready", died) is None:
                continue
            self.watch.switch("load")
            # Where nothing is left of a job, it is started again.
            cluster.resume(None if lost == {*cluster.members} else lost)
            strikes.loading(lost)
            found = self._gather("resumed", cluster.members)
        strikes.recovered()
        self._account(lost, found)

    def _account(self, lost: set[int], resumed: dict[int, Message]) -> None:
        """Count what was set back to where."""
        _, _, step, whole = resumed[max(resumed.keys() - lost, default=self._cluster.trainer)]
        hit = self._cluster.hit(lost)
        answer = self._plan.recover(Loss(frozenset(hit.servers), frozenset(hit.trainers)))
        if answer.rollback == "all" or lost == {*self._cluster.members}:
            self.watch.undo(self._trained_s[step])
            self.step = step
            return
        if step > self.step:  # all of a step was done but that the trainer said so
            self._did(step)
        self.lost_steps += len(hit.servers) * rules.lost_samples(step, whole)

    def _gather(
        self, kind: str, members: Collection[int], struck: bool = True
    ) -> dict[int, Message] | None:
        """Return what all of these say of that kind, or None if a process is lost meanwhile."""
        found: dict[int, Message] = {}
        while not self._cluster.dead and {*members} - found.keys():
            event = self._cluster.next(self.strikes.wait_s if struck else math.inf)
            if event is None:
                self.strikes.strike()
            elif event.message[0] == kind:
                found[event.member] = event.message
            else:
                self._note(event)
        return None if self._cluster.dead else found


def _whole(found: dict[int, Message] | None) -> dict[int, Message]:
    """Return what all have said; raise `RunError` where one was lost instead."""
    if found is None:
        raise RunError("a process was lost after the last step, though no failure had struck it")
    return found
