"""A real job: it trains, saves, fails and recovers as the controller of a plan says.

The same actions and events as in `cprsim.sim`, carried out on processes that really die.
"""

from collections.abc import Callable

from cprsim.contract import Redundancy, Save, Train
from cprsim.errors import RunError
from cprsim.trainer.coordinator.background import SavesUnderWay, SaveUnderWay
from cprsim.trainer.coordinator.cluster import TRAINER, Death, LocalCluster, Reply
from cprsim.trainer.coordinator.recovery import ClusterRecovery
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.strikes import Strikes
from cprsim.trainer.members.wire import Message, Op


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
        self._saves = SavesUnderWay(job, cluster)
        self.recovery = ClusterRecovery(job, cluster, strikes, self._saves, redundancy)
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
                self._wait("stall", lambda: not self._saves.taking)
            elif job.step == job.steps:
                if self._is_over():
                    break
            elif (strikes.pinned or self.recovery.waits) and self.recovery.away:
                self._wait("load", lambda: not self.recovery.away)
            elif strikes.pinned and self._land_by_now:
                self._land("stall")
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
        self._cluster.ask(TRAINER, Op.PREDICT, end, first=first)
        while True:
            event = self._cluster.next()
            lost = None
            if isinstance(event, Death):
                lost = event.name
            elif event is not None and event.message.op == Op.LOST:
                lost = self._cluster.servers[min(event.message.lost)]
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
                self._land("save")
            else:
                self._save(self._final_save)
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
        else:
            self._save(action)

    # --- Saves: training waits until all is stored, or until all members have a copy ---

    def _save(self, save: Save) -> None:
        """Save, and wait as long as the save says, whatever fails meanwhile.

        A rollback of the whole job makes it void. Otherwise members that were replaced meanwhile
        store what they have returned to, and it counts.
        """
        cause = "save" if save.blocking else "stall"
        self._job.watch.switch(cause)
        each = self._saves.begin(save)
        self.recovery.handle_pending()
        self._strikes.saving()
        self._wait(cause, lambda: self._may_go_on(each))
        if each in self._saves.under_way:
            self._saves.go_on(each)

    def _land(self, cause: str) -> None:
        """Wait until one of those under way has landed, or is void; the time goes to `cause`."""
        first = self._saves.under_way[0]
        self._wait(cause, lambda: first not in self._saves.under_way)

    def _wait(self, cause: str, done: Callable[[], bool]) -> None:
        """Wait for members, with failures on the way recovered from."""
        while True:
            if self.recovery.handle_pending():
                continue
            self._job.watch.switch("detect" if self.recovery.unnoticed else cause)
            if done():
                return
            if self._cluster.next(self._strikes.wait_s) is None:
                self._strikes.strike()

    def _may_go_on(self, each: SaveUnderWay) -> bool:
        """Whether training may, once all who are up have been asked."""
        void = each not in self._saves.under_way
        return void or (each.stored if each.save.blocking else not each.taking)

    # --- Training ---

    def _train(self, until: int) -> None:
        """Train to a step, or until something happens; the trainer is idle afterwards."""
        job, cluster, strikes = self._job, self._cluster, self._strikes
        job.watch.switch("train")
        end = int(min(until, job.step + strikes.steps_ahead))
        cluster.ask(TRAINER, Op.TRAIN, end, first=job.step)
        cluster.news, training = False, True
        while training:
            event = cluster.next(strikes.wait_s)
            if cluster.news and not strikes.pinned:
                cluster.news = False
                cluster.ask(TRAINER, Op.HALT)
            if event is None:
                self._strike()
                if not self.recovery.unnoticed:
                    job.watch.switch("train")
            elif isinstance(event, Reply) and event.message.op == Op.STEPPED:
                job.did()
                self._progress(job.step)
            elif isinstance(event, Death) or event.message.op == Op.LOST:
                job.watch.switch("detect")
                if event.name == TRAINER:
                    training = False
                else:
                    cluster.ask(TRAINER, Op.HALT)
                if isinstance(event, Reply):
                    cluster.end_lost(event.message)
            elif event.message.op == Op.TRAINED:
                training = False
