"""A real job: it trains, is struck, and is brought back; saves are its processes' own."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from cprsim.contract import Loss, Plan, rules
from cprsim.errors import RunError
from cprsim.trainer.hooks.running_job import Stopwatch
from cprsim.trainer.lab.cluster import TRAINER, Death, LocalCluster, Name, Said, numbers
from cprsim.trainer.lab.members import Message
from cprsim.trainer.lab.strikes import Strikes

#: Attempts to bring the job back from one failure: processes that die so often are not killed.
_MOST_ATTEMPTS = 100


@dataclass
class RunProgress:
    """How far a job is, and where its time went.

    `executed`: steps that were trained, those that were rolled back as well. `lost_steps`: steps
    since the last whole checkpoint, summed over servers that return alone: (E4)'s numerator.
    `saved_rows`: of each server, how many rows its saves of chosen rows had. `trained_s`: seconds
    of training up to each step that was done.
    """

    steps: int
    watch: Stopwatch = field(default_factory=Stopwatch)
    step: int = 0
    executed: int = 0
    lost_steps: int = 0
    replaced: int = 0
    saved_rows: dict[int, list[int]] = field(default_factory=dict)
    trained_s: dict[int, float] = field(default_factory=lambda: {0: 0.0})

    def did(self, step: int) -> None:
        """Steps up to that one are done."""
        self.executed += step - self.step
        self.step = step
        self.watch.stop()
        self.trained_s[step] = self.watch.seconds["train"]


@dataclass
class Execution:
    """Trains a job to its end on a cluster, while failures strike that.

    `progress` is called with the steps done.
    """

    job: RunProgress
    cluster: LocalCluster
    plan: Plan
    strikes: Strikes
    progress: Callable[[int], None]

    def run(self) -> None:
        """Train to the end, whatever happens."""
        job, cluster, strikes = self.job, self.cluster, self.strikes
        cluster.start(cluster.names)
        if self._gather("ready", cluster.names, struck=False) is not None:
            cluster.resume(None)
            self._gather("resumed", cluster.names, struck=False)
        for role, number in sorted(cluster.dead):
            raise RunError(f"{role} {number} died as it was started")
        cluster.on_agreeing = strikes.saving
        job.watch.start()
        while job.step < job.steps or cluster.dead or strikes.unnoticed:
            if cluster.dead:
                self._recover()
            elif job.step == job.steps:
                job.watch.switch("detect")
                self._counted()  # what hangs does not answer
            elif strikes.due:
                job.watch.switch("detect")
                strikes.strike()
            else:
                self._train()
        job.watch.stop()

    def predict(self, first: int, end: int) -> Message:
        """Return the probabilities and labels of the batches from one step to another."""
        self.cluster.tell(TRAINER, "predict", first, end)
        return _whole(self._gather("predicted", {TRAINER}, struck=False))[TRAINER]

    def counts(self) -> dict[Name, int]:
        """Return the updates that are left in each server's rows, and the steps in the MLPs."""
        return {name: message[1] for name, message in _whole(self._counted()).items()}

    def _counted(self) -> dict[Name, Message] | None:
        for name in self.cluster.names:
            self.cluster.tell(name, "count")
        return self._gather("counted", self.cluster.names, struck=False)

    # --- Training ---

    def _train(self) -> None:
        """Train to the end or to the next failure, or until a process is lost."""
        job, cluster, strikes = self.job, self.cluster, self.strikes
        if not strikes.unnoticed:
            job.watch.switch("train")
        end = int(min(job.steps, job.step + strikes.steps_ahead))
        cluster.tell(TRAINER, "train", job.step, end)
        while True:
            event = cluster.next(strikes.wait_s)
            if event is None:
                job.watch.switch("detect")
                strikes.strike()
            elif isinstance(event, Death):
                job.watch.switch("detect")
                return
            elif event.message[0] == "trained":
                return
            else:
                self._note(event)

    def _note(self, said: Said) -> None:
        kind, *facts = said.message
        job = self.job
        if kind == "stepped":
            job.did(facts[0])
            self.progress(job.step)
        elif kind == "spent":
            job.watch.reattribute(facts[0])
            job.watch.switch("train")
        elif kind == "saved":
            job.saved_rows.setdefault(said.name[1], []).append(facts[0])

    # --- Recovery ---

    def _recover(self) -> None:
        """Replace what is dead, and have the hooks of all return to what they return to."""
        job, cluster, strikes = self.job, self.cluster, self.strikes
        lost: set[Name] = set()
        found: dict[Name, Message] | None = None
        attempts = 0
        while found is None:
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                raise RunError(
                    f"the job can't be brought back: processes died in {_MOST_ATTEMPTS} attempts"
                )
            died = set(cluster.dead)
            lost |= died
            job.watch.switch("reschedule")
            cluster.start(died)
            job.replaced += len(died)
            strikes.replaced(died)
            if self._gather("ready", died) is None:
                continue
            job.watch.switch("load")
            # Where nothing is left of a job, it is started again.
            cluster.resume(None if lost == {*cluster.names} else lost)
            strikes.loading(lost)
            found = self._gather("resumed", cluster.names)
        strikes.recovered()
        self._account(lost, found)

    def _account(self, lost: set[Name], resumed: dict[Name, Message]) -> None:
        """Count what was set back to where."""
        job = self.job
        _, _, step, whole = resumed[max(resumed.keys() - lost, default=TRAINER)]
        servers, trainers = numbers("server", lost), numbers("trainer", lost)
        answer = self.plan.recover(Loss(servers, trainers))
        if answer.rollback == "all" or lost == {*self.cluster.names}:
            job.watch.undo(job.trained_s[step])
            job.step = step
            return
        if step > job.step:  # all of a step was done but that the trainer said so
            job.did(step)
        job.lost_steps += len(servers) * rules.lost_samples(step, whole)

    def _gather(
        self, kind: str, names: Collection[Name], struck: bool = True
    ) -> dict[Name, Message] | None:
        """Return what all of these say of that kind, or None if a process is lost meanwhile."""
        found: dict[Name, Message] = {}
        while not self.cluster.dead and {*names} - found.keys():
            event = self.cluster.next(*([self.strikes.wait_s] if struck else []))
            if event is None:
                self.strikes.strike()
            elif isinstance(event, Said):
                if event.message[0] == kind and self.cluster.is_current(event):
                    found[event.name] = event.message
                else:
                    self._note(event)
        return None if self.cluster.dead else found


def _whole(found: dict[Name, Message] | None) -> dict[Name, Message]:
    """Return what all have said; raise `RunError` where one was lost instead."""
    if found is None:
        raise RunError("a process was lost after the last step, though no failure had struck it")
    return found
