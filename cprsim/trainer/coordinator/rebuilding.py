"""Servers that are replaced and filled while the rest trains on, and copies that are filled."""

from collections.abc import Collection
from dataclasses import dataclass

from cprsim.job.costs import Rollback
from cprsim.trainer.coordinator.cluster import Death, LocalCluster, Reply
from cprsim.trainer.coordinator.history import ShardAway, ShardFilled, ShardSetBack
from cprsim.trainer.coordinator.roster import Name, numbers
from cprsim.trainer.coordinator.running_job import RunningJob, UsableCheckpoint
from cprsim.trainer.coordinator.strikes import Strikes
from cprsim.trainer.members.copying import Ring
from cprsim.trainer.members.wire import Op


@dataclass(eq=False)
class _Rebuild:
    """A server that is away, and what it returns to.

    `set_back`: as history knows it; None for one that is filled from others. `ready`: it can be
    spoken to. `epoch`: of what it was asked to load. `found`: the step of what it has loaded.
    """

    to: UsableCheckpoint
    set_back: ShardSetBack | None
    ready: bool
    epoch: int = 0
    found: int | None = None


class Rebuilding:
    """Servers that are away: started anew, loading, or filled and not connected yet."""

    def __init__(
        self,
        job: RunningJob,
        cluster: LocalCluster,
        strikes: Strikes,
        ring: Ring,
    ) -> None:
        self._job, self._cluster, self._strikes, self._ring = job, cluster, strikes, ring
        self._rebuilds: dict[Name, _Rebuild] = {}
        cluster.listeners.append(self._hear)

    @property
    def away(self) -> set[Name]:
        """Servers that don't have yet what they return to: the trainer does without them."""
        return set(self._rebuilds)

    @property
    def filled(self) -> set[Name]:
        """Those that have what they return to."""
        return {name for name, each in self._rebuilds.items() if each.found is not None}

    @property
    def behind(self) -> set[Name]:
        """Those of them that were filled with copies of what has been trained meanwhile."""
        return {name for name in self.filled if self._rebuilds[name].set_back is None}

    def take(self, lost: Collection[Name], died: Collection[Name], rollback: Rollback) -> None:
        """Fill these servers; those of them that died are being started.

        What was away before has nothing more to lose, and isn't among them.
        """
        job = self._job
        for name in sorted(lost):
            to = job.usable.last
            back = None
            if rollback == "lost":
                back = ShardSetBack(job.step, name[1], to.step)
                job.lose(to.whole)
                job.row_events += [back, ShardAway(job.step, name[1])]
            self._rebuilds[name] = _Rebuild(to, back, ready=name not in died)
        for name, each in self._rebuilds.items():
            # Copies may have been under way from servers that have died.
            if each.ready and (each.set_back is None or not each.epoch):
                each.found = None
                self._load(name)

    def restarted(self, names: Collection[Name]) -> None:
        """These have died, or are started anew: whatever they had loaded is no more."""
        for name in set(self._rebuilds).intersection(names):
            each = self._rebuilds[name]
            each.ready, each.found, each.epoch = False, None, 0

    def give_up(self) -> set[Name]:
        """The whole job returns to a checkpoint, and waits for those that were away."""
        away = self.away
        self._rebuilds.clear()
        return away

    def rejoin(self, names: Collection[Name]) -> None:
        """These are filled, and serve again from this step on."""
        job = self._job
        for name in sorted(names):
            each = self._rebuilds.pop(name)
            self._strikes.placed({name})
            if each.set_back is None or each.found is None:
                continue
            if each.found != each.to.step:  # what was to be loaded was spoilt
                job.lose(job.usable.at(each.found).whole, each.to.whole)
                corrected = each.set_back._replace(to=each.found)
                job.row_events = [corrected if it is each.set_back else it for it in job.row_events]
            job.row_events.append(ShardFilled(job.step, name[1]))

    def catch_up(self, servers: Collection[Name]) -> bool:
        """Servers fetch what has changed since they were filled; False if a member has died.

        Nobody trains meanwhile, nor while all copies are filled.
        """
        epoch = self._job.next_epoch()
        for name in sorted(servers):
            self._cluster.ask(name, Op.CATCH_UP, epoch=epoch)
        return self._fetched(servers, epoch)

    def copy_all(self) -> bool:
        """All but those away fill their copies with what those hold that answer for the shards.

        False if a member has died.
        """
        if self._ring.copies == 1:
            return True
        servers, down = {*self._cluster.servers} - self.away, numbers("server", self.away)
        epoch = self._job.next_epoch()
        for name in sorted(servers):
            self._cluster.fill(name, epoch, self._ring.sources(name[1], down) or {})
        return self._fetched(servers, epoch) and self.catch_up(servers)

    def _fetched(self, servers: Collection[Name], epoch: int) -> bool:
        replies = self._cluster.replies(servers, Op.LOADED, epoch=epoch, strikes=self._strikes)
        for message in replies.values():
            self._cluster.end_lost(message)
        return not self._cluster.dead

    def _load(self, name: Name) -> None:
        each = self._rebuilds[name]
        each.epoch = self._job.next_epoch()
        if each.set_back is not None:
            self._cluster.ask(name, Op.LOAD, each.to.step, epoch=each.epoch)
        else:
            down = numbers("server", {*self.away, *self._cluster.dead})
            sources = self._ring.sources(name[1], down)
            if sources is None:
                return  # more have died, and the job will return as a whole
            self._cluster.fill(name, each.epoch, sources)
        self._strikes.loading(())

    def _hear(self, event: Reply | Death) -> None:
        each = self._rebuilds.get(event.name)
        if each is None:
            return
        if isinstance(event, Death):
            self.restarted({event.name})
            self._cluster.news = True  # the trainer doesn't notice: it does without that one
        elif event.message.op == Op.READY:
            each.ready = True
            self._load(event.name)
        elif event.message.op == Op.LOADED and event.message.facts["epoch"] == each.epoch:
            if not event.message.lost:
                each.found = event.message.step
            self._cluster.end_lost(event.message)
            self._cluster.news = True
