"""A loop whose rows count their uses, in one process or in several, for which threads stand in."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

from cprsim.trainer import TablePart, TrainerHooks, split_rows
from tests.trainer.jobs import job_of
from tests.waiting import HANGS_S

STEPS, ROWS, DIM = 20, (50, 30), 4


class Counted:
    """Rows count their uses, in float32 and, beside that, in int64; `mine`: the shards here."""

    def __init__(self, shards=2, rows=ROWS, mine=None):
        self.weights = [torch.zeros(n, DIM) for n in rows]
        self.uses = [torch.zeros(n, dtype=torch.int64) for n in rows]
        self.mlp = torch.nn.Linear(1, 1)
        torch.nn.init.zeros_(self.mlp.weight)
        self.count, self.mine = shards, range(shards) if mine is None else mine
        self.ranks = self.hooks = None

    def shards(self):
        split = [
            split_rows(TablePart(n, weights, (uses,)), self.count)
            for n, (weights, uses) in enumerate(zip(self.weights, self.uses, strict=True))
        ]
        return {shard: [parts[shard] for parts in split] for shard in self.mine}

    def dense(self):
        return {"mlp": self.mlp}

    def lookups(self, batch):
        """The rows of a batch that are held here."""
        found = {n: [ids[:0]] for n, ids in enumerate(batch)}
        for parts in self.shards().values():
            for table, weights, _, first in parts:
                if table in found:
                    ids = batch[table]
                    found[table].append(ids[(ids >= first) & (ids < first + len(weights))])
        return {n: torch.cat(ids) for n, ids in found.items()}

    def step(self, number):
        """Use the rows of a batch, by table; a function of the step."""
        drawn = torch.Generator().manual_seed(number)
        batch = [torch.randint(rows, (6,), generator=drawn).unique() for rows in ROWS]
        for weights, uses, ids in zip(self.weights, self.uses, batch, strict=False):
            weights[ids] += number + 1
            uses[ids] += 1
        with torch.no_grad():
            self.mlp.weight.fill_(number + 1)
        return batch

    def train(self, end):
        """With hooks, from where these are."""
        for step in range(self.hooks.step, end):
            self.hooks.after_step(self.step(step))

    def state(self):
        return [each.clone() for each in (*self.weights, *self.uses, self.mlp.weight.detach())]

    def held(self):
        """Copies of the rows of its shards, and of its MLP."""
        parts = [part for parts in self.shards().values() for part in parts]
        tensors = [tensor for part in parts for tensor in (part.weights, *part.state)]
        return [each.detach().clone() for each in (*tensors, self.mlp.weight)]


def same(one, other):
    return all(map(torch.equal, one, other))


def counted(
    folder, steps=STEPS, shards=2, rows=ROWS, policy="full", interval="8 s", of=Counted, **more
):
    """A loop with hooks, which has not been restored yet; `more`: of `TrainerHooks`.

    And `mine`, the shards that are here, and `keys`, those of the policy besides its interval.
    """
    it = of(shards, rows, more.pop("mine", None))
    keys = {"system": policy, "interval": interval, **more.pop("keys", {})}
    scenario = job_of(steps, rows, DIM, shards, batch=6, it=keys)
    it.ranks = more.get("ranks")
    it.hooks = TrainerHooks(scenario, "it", it, folder, steps, **more)
    return it


def without_hooks(steps):
    """The state before the first step, and after each."""
    it = Counted()
    found = [it.state()]
    for step in range(steps):
        it.step(step)
        found.append(it.state())
    return found


class Together:
    """What all give, once all have given."""

    def __init__(self, processes):
        self._given = {}
        self._barrier = threading.Barrier(processes, timeout=HANGS_S)

    def of(self, process, mine):
        self._given[process] = mine
        self._barrier.wait()
        found = [self._given[each] for each in sorted(self._given)]
        self._barrier.wait()
        return found


class Threads:
    """One of the ranks, as hooks ask it.

    `alone`: the others are gone, and no collective says so; `broken`: one does.
    """

    def __init__(self, together, process):
        self._together, self._process = together, process
        self.alone = self.broken = False

    def _all(self, mine):
        if self.broken:
            raise RuntimeError("connection closed by peer")
        return [mine] if self.alone else self._together.of(self._process, mine)

    def least(self, number):
        return min(self._all(number))

    def total(self, number):
        return sum(self._all(number))

    def copied(self, content):
        return next((each for each in self._all(content) if each is not None), None)


@contextmanager
def alone(it, broken=False):
    """The other processes are gone; `broken`: the process learns of it."""
    it.ranks.alone, it.ranks.broken = True, broken
    yield
    it.ranks.alone = it.ranks.broken = False


def at_once(do, processes):
    """Do the same in all processes at once; what each gave."""
    with ThreadPoolExecutor(len(processes)) as pool:
        return list(pool.map(do, processes))


class Processes:
    """Processes with so many shards each, in folders of their numbers unless `folder` says other.

    `more`: as for `counted`.
    """

    def __init__(self, counts, folder, **more):
        self._counts, self._more, self._group = counts, more, Together(len(counts))
        self._folder = folder if callable(folder) else lambda n: folder / str(n)
        self.its = [self._new(n) for n in range(len(counts))]
        self._threads = [ThreadPoolExecutor(1) for _ in counts]  # hooks know their loop's thread

    def _new(self, n):
        first = sum(self._counts[:n])
        mine = range(first, first + self._counts[n])
        ranks = Threads(self._group, n)
        more = self._more | {"shards": sum(self._counts), "mine": mine, "ranks": ranks}
        return counted(self._folder(n), **more)

    def replace(self, n):
        """Another process in the place of one that is lost."""
        self.its[n] = self._new(n)

    def do(self, act):
        """Do the same in all processes at once; what each gave."""
        began = [each.submit(act, it) for each, it in zip(self._threads, self.its, strict=True)]
        return [each.result() for each in began]

    def restore(self):
        return self.do(lambda it: it.hooks.restore())

    def train(self, end):
        self.do(lambda it: it.train(end))

    def on_failure(self, *lost):
        return self.do(lambda it: it.hooks.on_failure(lost))

    def of_each(self, what):
        """What `what` gives of each, one after the other."""
        return [what(it) for it in self.its]
