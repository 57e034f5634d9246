"""Servers that are replaced and filled while the rest trains on."""

from collections.abc import Collection
from dataclasses import dataclass

from cprsim.trainer.accounts import Usable
from cprsim.trainer.cluster import Answer, Death, LocalCluster
from cprsim.trainer.hearing import Hearing
from cprsim.trainer.history import ShardAway, ShardFilled, ShardSetBack
from cprsim.trainer.job import Job
from cprsim.trainer.member import Name
from cprsim.trainer.strikes import Strikes
from cprsim.trainer.wire import Op


@dataclass(eq=False)
class _Rebuild:
    """A server that is away, since the job was at `step`, and what it returns to.

    `epoch`: of what it was asked to load; 0 before it can be spoken to. `found`: the step of the
    checkpoint that it has loaded.
    """

    step: int
    to: Usable
    set_back: ShardSetBack
    epoch: int = 0
    found: int | None = None


class Rebuilding:
    """Servers that are away: started anew, loading, or filled and not connected yet."""

    def __init__(self, job: Job, cluster: LocalCluster, hearing: Hearing, strikes: Strikes) -> None:
        self._job, self._cluster, self._hearing = job, cluster, hearing
        self._strikes = strikes
        self._rebuilds: dict[Name, _Rebuild] = {}
        hearing.listeners.append(self._hear)

    @property
    def away(self) -> set[Name]:
        """Servers that the trainers do without."""
        return set(self._rebuilds)

    @property
    def filled(self) -> bool:
        """Whether one of them can be connected again."""
        return any(each.found is not None for each in self._rebuilds.values())

    def take(self, lost: Collection[Name], died: Collection[Name]) -> None:
        """Fill these servers; those of them that died are being started.

        What was away before has nothing more to lose, and isn't among them.
        """
        job = self._job
        for name in sorted(lost):
            to = job.safe.last
            back = ShardSetBack(job.step, name[1], to.step)
            job.lost_steps += job.step - to.whole
            job.happened += [back, ShardAway(job.step, name[1])]
            self._rebuilds[name] = _Rebuild(job.step, to, back)
            if name not in died:
                self._load(name)

    def give_up(self) -> set[Name]:
        """The whole job returns to a checkpoint, and waits for those that were away."""
        away = self.away
        self._rebuilds.clear()
        return away

    def rejoin(self) -> None:
        """Those that are filled serve again from this step on."""
        job = self._job
        for name, each in list(self._rebuilds.items()):
            if each.found is None:
                continue
            del self._rebuilds[name]
            if each.found != each.to.step:  # what was to be loaded was spoilt
                job.lost_steps += each.to.whole - job.safe.at(each.found).whole
                index = job.happened.index(each.set_back)
                job.happened[index] = each.set_back._replace(to=each.found)
            job.happened.append(ShardFilled(job.step, name[1]))
            self._strikes.placed({name})

    def _load(self, name: Name) -> None:
        each = self._rebuilds[name]
        self._job.epoch += 1
        each.epoch = self._job.epoch
        self._cluster.ask(name, Op.LOAD, each.to.step, epoch=each.epoch)
        self._strikes.loading(())

    def _hear(self, event: Answer | Death) -> None:
        each = self._rebuilds.get(event.name)
        if each is None:
            return
        if isinstance(event, Death):
            each.epoch, each.found = 0, None
            self._hearing.news = True  # trainers don't notice: they do without it
        elif event.message.op == Op.READY:
            self._load(event.name)
        elif event.message.op == Op.LOADED and event.message.facts["epoch"] == each.epoch:
            each.found = event.message.step
            self._hearing.news = True
