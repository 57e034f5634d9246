"""From a failure until training can go on: who is replaced, who loads, who is set back."""

from collections.abc import Mapping

from cprsim.contract import Loss, Recover, Redundancy, Resumed, rules
from cprsim.errors import RunError
from cprsim.job.costs import Rollback
from cprsim.trainer.coordinator.background import SavesUnderWay
from cprsim.trainer.coordinator.cluster import TRAINER, Death, LocalCluster, Reply
from cprsim.trainer.coordinator.history import JobSetBack, ShardSetBack
from cprsim.trainer.coordinator.rebuilding import Rebuilding
from cprsim.trainer.coordinator.roster import Name, numbers
from cprsim.trainer.coordinator.running_job import RunningJob
from cprsim.trainer.coordinator.strikes import Strikes
from cprsim.trainer.members.server import ring_of
from cprsim.trainer.members.wire import Op

#: Attempts to bring the job back from one failure: members that die so often are not being killed.
_MOST_ATTEMPTS = 100


class ClusterRecovery:
    """Carries out what the controller answers to failures.

    Attributes
    ----------
    replaced
        How many processes were started in the places of dead ones.
    waits
        Whether training waits for servers that are away.
    """

    def __init__(
        self,
        job: RunningJob,
        cluster: LocalCluster,
        strikes: Strikes,
        saves: SavesUnderWay,
        redundancy: Redundancy | None,
    ) -> None:
        self._ring = ring_of(len(cluster.servers), redundancy)
        self._job, self._cluster = job, cluster
        self._strikes, self._saves = strikes, saves
        self._rebuilding = Rebuilding(job, cluster, strikes, self._ring)
        self._ready: set[Name] = set()
        self._dense_step = 0  # how far the dense part is
        cluster.listeners.append(self._hear)
        self.replaced = 0
        self.waits = False

    @property
    def away(self) -> set[Name]:
        """Servers that are filled while the rest trains on."""
        return self._rebuilding.away

    @property
    def unnoticed(self) -> bool:
        """Whether somebody was hit whom the job will miss, and hasn't been found dead yet."""
        return bool(self._strikes.unnoticed - self.away)

    def connect(self, again: bool = False) -> None:
        """Connect the trainer to all servers; whoever doesn't answer is dead afterwards.

        `again`: nothing has been set back, so what was pushed last has to be in all rows. What is
        pushed again begins an epoch: what a dead server had passed on comes before it.
        """
        job = self._job
        if again:
            job.next_epoch()
        away = numbers("server", self.away)
        holders = [self._ring.holders(shard, away) for shard in range(self._ring.servers)]
        self._cluster.connect(job.epoch, holders, again)
        for message in self._cluster.replies([TRAINER], Op.CONNECT, Op.LOST).values():
            self._cluster.end_lost(message)
            self._dense_step = message.step
            while again and job.step < message.step:
                # A trainer died before it had told of these; its replacement has pushed the last.
                job.did()

    def handle_pending(self) -> bool:
        """Handle deaths, servers that are filled and saves to ask for; whether there were any."""
        if self._cluster.dead:
            self.recover()
            return True
        if self._rebuilding.filled:
            self._job.watch.switch("load")
            self._rejoin()
            return True
        return self._saves.ask(set(self._cluster.names) - self.away)

    def finish(self) -> bool:
        """Wait for servers that are away when the job is done; False if others are lost instead."""
        while self.away or self._cluster.dead:
            died = set(self._cluster.dead)
            if died - self.away:
                return False
            if died:
                self._start(died)
            elif self._rebuilding.filled:
                self._rejoin()
            else:
                self._cluster.next()
        return True

    def _rejoin(self) -> None:
        """Connect servers that are filled, once they have what was trained meanwhile, too."""
        filled = self._rebuilding.filled
        if self._rebuilding.catch_up(self._rebuilding.behind):
            self._rebuilding.rejoin(filled)
            self.connect()

    def recover(self) -> None:
        """Bring the job back from the deaths that are known.

        Deaths on the way are part of it: what the deepest rollback among the answers needs is what
        has to be loaded.
        """
        down: set[Name] = set()
        fell: set[str] = set()
        deepest = Recover("none")
        loaded: dict[Name, int] = {}
        attempts = 0
        while self._cluster.dead:
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                raise RunError(
                    f"the job can't be brought back: members died in {_MOST_ATTEMPTS} attempts"
                )
            died = set(self._cluster.dead)
            down |= died - self.away
            fell |= {role for role, _ in died}
            answer = self._answer(down | self.away)
            self._saves.lose(died - self.away, answer.rollback)
            if rules.r12_goes_as_deep(_depth(answer), _depth(deepest)):
                deepest = answer
            self._job.watch.switch("reschedule")
            if deepest.rollback == "all":
                down |= self._rebuilding.give_up()
            elif deepest.rollback == "none" or self._goes_on(answer, down):
                servers = {name for name in down if name[0] == "server"}
                self._rebuilding.take(servers, died, deepest.rollback)
                down -= servers
                loaded = {name: step for name, step in loaded.items() if name in down}
            depth = _depth(deepest)
            trains_on = rules.r13_trains_on(answer.keep_training, depth)
            self.waits = depth < rules.ALL and not trains_on
            self._start(died)
            if not self._are_ready(down):
                continue
            self._job.watch.switch("load")
            if down:
                loaded |= self._load(down, deepest.rollback)
            # The server may have passed on to some copies what no trainer pushes again.
            torn = deepest.rollback == "none" and {"server", "trainer"} <= fell
            self._connect_again(deepest.rollback, torn)
        self._strikes.recovered()
        self._settle(deepest.rollback, loaded)
        self._job.controller.tell(Resumed(self._job.clock, self._saves.pending))

    def _connect_again(self, rollback: Rollback, torn: bool) -> None:
        """Connect the trainer, once copies are what they should be; `torn`: they may differ."""
        if rollback == "all" and not self._cluster.dead:
            self._rebuilding.copy_all()
        if not self._cluster.dead:
            self.connect(again=rollback == "none")
        if torn and not self._cluster.dead:
            self._rebuilding.copy_all()

    def _goes_on(self, answer: Recover, down: set[Name]) -> bool:
        """Whether the rest trains on without these: servers alone."""
        goes_on = rules.r13_trains_on(answer.keep_training, _depth(answer))
        return bool(goes_on) and TRAINER not in down

    def _answer(self, down: set[Name]) -> Recover:
        """What the controller says to the loss of all that are down."""
        loss = Loss(numbers("server", down), numbers("trainer", down))
        return self._job.controller.answer(self._job.clock, loss)

    def _start(self, died: set[Name]) -> None:
        self._ready -= died
        self._rebuilding.restarted(died)  # not all that died have been heard of
        self._cluster.start(sorted(died))
        self.replaced += len(died)
        self._strikes.replaced(died)

    def _are_ready(self, names: set[Name]) -> bool:
        """Wait until these can be spoken to; False if one of them dies instead."""
        while not names & set(self._cluster.dead):
            if names <= self._ready:
                return True
            self._cluster.next()
        return False

    def _hear(self, event: Reply | Death) -> None:
        if isinstance(event, Reply) and event.message.op == Op.READY:
            self._ready.add(event.name)

    def _load(self, down: set[Name], rollback: Rollback) -> dict[Name, int]:
        """Have members return to the last usable checkpoint; the steps that they found.

        Where the whole job returns and one member has to go further back, all go as far.
        """
        epoch = self._job.next_epoch()
        step = self._job.usable.last.step
        asked = set(self._cluster.names) if rollback == "all" else down
        loaded: dict[Name, int] = {}
        while asked:
            for name in sorted(asked):
                self._cluster.ask(name, Op.LOAD, step, epoch=epoch)
            self._strikes.loading(down)
            replies = self._cluster.replies(asked, Op.LOADED, epoch=epoch, strikes=self._strikes)
            loaded |= {name: message.step for name, message in replies.items()}
            if self._cluster.dead or rollback != "all":
                break
            step = min(loaded.values())
            asked = {name for name, found in loaded.items() if found > step}
        return loaded

    def _settle(self, rollback: Rollback, loaded: Mapping[Name, int]) -> None:
        """Account for what was set back to where."""
        job = self._job
        if rollback == "all":
            to = job.usable.back_to(min(loaded.values()))
            job.row_events.append(JobSetBack(job.step, to.step))
            job.watch.undo(to.trained_s)
            job.step = to.step
            return
        for (role, index), step in sorted(loaded.items()):
            if role == "trainer":  # a copy may have been newer
                job.lose_dense(self._dense_step)
            else:
                job.lose(job.usable.at(step).whole)
                job.row_events.append(ShardSetBack(job.step, index, step))


def _depth(answer: Recover) -> int:
    return rules.DEPTH[answer.rollback]
