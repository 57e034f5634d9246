"""A real job: it trains, saves, fails and recovers as the controller of a plan says.

The same actions and events as in `cprsim.sim`, carried out on processes that really die.
"""

from collections.abc import Callable, Collection

from cprsim.contract import Redundancy, Save, Train
from cprsim.errors import RunError
from cprsim.trainer.coordinator.background import SavesUnderWay
from cprsim.trainer.coordinator.cluster import Death, LocalCluster, Reply
from cprsim.trainer.coordinator.mailbox import Mailbox
from cprsim.trainer.coordinator.recovery import ClusterRecovery
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.saving import Saving
from cprsim.trainer.coordinator.strikes import Strikes
from cprsim.trainer.members.member import Name
from cprsim.trainer.members.wire import Message, Op

_TRAINER: Name = ("trainer", 0)


class Execution:
    """Carries out what a controller asks for, from the first step to the last.

    `final_save`: what the job ends with, if it does with one more save. `progress` is called with
    the steps done. `redundancy`: that of the plan.
    """

    def __init__(
        self,
        job: RunningJob,
        cluster: LocalCluster,
        strikes: Strikes,
        final_save: Save | None,
        progress: Callable[[int], None],
        redundancy: Redundancy | None = None,
    ) -> None:
        self._job, self._cluster, self._strikes = job, cluster, strikes
        self._mailbox = Mailbox(cluster)
        self._saves = SavesUnderWay(job, cluster, self._mailbox)
        self.recovery = ClusterRecovery(
            job, cluster, self._mailbox, strikes, self._saves, redundancy
        )
        self._saving = Saving(job, self._mailbox, strikes, self._saves, self.recovery)
        self._final_save = final_save
        self._progress = progress

    def run(self) -> None:
        """Train to the end, whatever happens."""
        self.recovery.connect()
        self._job.watch.start()
        self._train_to_the_end()
        while not self.recovery.finish():  # it may have to return to a checkpoint
            self._train_to_the_end()

    def _train_to_the_end(self) -> None:
        job, strikes = self._job, self._strikes
        while True:
            if self.recovery.handle_pending():
                continue
            if self._saves.taking:
                self._saving.wait("stall", lambda: not self._saves.taking)
            elif job.step == job.steps:
                if self._is_over():
                    break
            elif (strikes.pinned or self.recovery.waits) and self.recovery.away:
                self._saving.wait("load", lambda: not self.recovery.away)
            elif strikes.pinned and self._land_by_now:
                self._saving.land("stall")
            elif strikes.due:
                self._strike()
            elif self.recovery.unnoticed:
                self._notice()
            else:
                self._act()
        # Waiting for who is away then is none of the job's time, unless it goes on.
        job.watch.switch("load")

    def predict(self, first: int, end: int) -> Message:
        """Probabilities and labels of the batches from one step to another."""
        self._cluster.ask(_TRAINER, Op.PREDICT, end, first=first)
        while True:
            event = self._mailbox.next()
            lost = None
            if isinstance(event, Death):
                lost = event.name
            elif event is not None and event.message.op == Op.LOST:
                lost = self._cluster.serving[min(event.message.lost)]
            if lost is not None:
                raise RunError("{} {} was lost while the cluster predicted".format(*lost))
            if isinstance(event, Reply) and event.message.op == Op.PREDICTED:
                return event.message

    @property
    def _land_by_now(self) -> bool:
        """Whether saves have landed on a clock on which these take no time."""
        under_way = self._saves.under_way
        return bool(under_way) and (self._strikes.due or under_way[0].step < self._job.step)

    def _is_over(self) -> bool:
        """Whether all is done behind the last step; if not, some more of it is."""
        if self._final_save is not None and not self._job.is_over(final_save=True):
            if self._saves.under_way:
                self._saving.land("save")
            else:
                self._saving.save(self._final_save)
        elif self.recovery.unnoticed:
            self._notice()
        else:
            return True
        return False

    def _strike(self) -> None:
        """Let the next failure strike: who is killed takes a while to be gone."""
        self._job.watch.switch("detect")
        self._strikes.strike()

    def _notice(self) -> None:
        """Find out who has been hit, before anything more is trained: they can't answer."""
        self._job.watch.switch("detect")
        self.recovery.connect()

    def _act(self) -> None:
        action = self._job.controller.ask(self._job.clock)
        if isinstance(action, Train):
            self._train(self._job.step_at(action.until_s))
        elif self._job.turns.ahead:  # a checkpoint is of a step, without gaps before it
            self._train(self._job.turns.reach)
        else:
            self._saving.save(action)

    def _train(self, until: int) -> None:
        """Train to a step, or until something happens; the trainers are idle afterwards."""
        job, cluster, strikes = self._job, self._cluster, self._strikes
        job.watch.switch("train")
        end = int(min(until, job.step + strikes.steps_ahead))
        training = self._start(job.turns.together(end))
        self._mailbox.news = False
        while training:
            event = self._mailbox.next(strikes.wait_s)
            if self._mailbox.news and not strikes.pinned:
                self._mailbox.news = False
                self._halt(training)
            if event is None:
                self._strike()
                if not self.recovery.unnoticed:
                    job.watch.switch("train")
            elif isinstance(event, Reply) and event.message.op == Op.STEPPED:
                self._stepped(event.name)
            elif isinstance(event, Death) or event.message.op == Op.LOST:
                job.watch.switch("detect")
                training.discard(event.name)
                self._halt(training)
                if isinstance(event, Reply):
                    cluster.end_lost(event.message)
            elif event.message.op == Op.TRAINED:
                training.discard(event.name)

    def _halt(self, training: Collection[Name]) -> None:
        for name in sorted(training):
            self._cluster.ask(name, Op.HALT)

    def _start(self, end: int) -> set[Name]:
        """Have trainers do what is left of their steps before `end`; those that have some left."""
        turns = self._job.turns
        training: set[Name] = set()
        for trainer in range(turns.trainers):
            first = turns.next_of(trainer)
            name: Name = ("trainer", trainer)
            if first < end:
                self._cluster.ask(name, Op.TRAIN, end, first=first, every=turns.trainers)
                training.add(name)
        return training

    def _stepped(self, name: Name) -> None:
        self._job.did(name[1])
        self._progress(self._job.step)
