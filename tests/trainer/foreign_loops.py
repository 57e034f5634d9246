"""Loops as others write them, with hooks: `main(kind, folder, killed_at)`.

`sparse-adam`: one EmbeddingBag a table, SparseAdam for tables, Adam with a cosine schedule and
dropout for the rest. `accumulated`: a step is two batches. `loader`: batches of
a DataLoader with workers, which shuffles, and dropout. Killed before STEP, if one is given; says
where it began and a digest of all that it has learned.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

import torch
from torch import nn

from cprsim.trainer import TablePart, TrainerHooks
from tests.trainer.jobs import NoHooks, digest, job_of

STEPS, BATCH, DIM, ROWS = 24, 16, 4, (60, 40)


def hooks_of(adapter, folder):
    if folder is None:
        return NoHooks()
    scenario = job_of(STEPS, ROWS, DIM, full={"system": "full", "interval": "5 s"})
    return TrainerHooks(scenario, "full", adapter, folder, STEPS)


class RandomState:
    """Of torch's generator: dropout goes on with the same draws."""

    def state_dict(self):
        return {"torch": torch.get_rng_state()}

    def load_state_dict(self, state):
        torch.set_rng_state(state["torch"])


def killed_before(step, killed_at):
    if step == killed_at:
        os.kill(os.getpid(), signal.SIGKILL)


class Loop:
    """Steps one after the other; each gives what it has looked up."""

    def lookups(self, ids):
        return dict(enumerate(ids))

    def train(self, hooks, killed_at):
        first = hooks.restore()
        for step in range(first, STEPS):
            killed_before(step, killed_at)
            hooks.after_step(self.step(step))
        return first, self.learned()


class SparseAdamLoop(Loop):
    """A model, its two optimisers, a schedule."""

    def __init__(self):
        torch.manual_seed(0)
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, DIM, mode="mean", sparse=True) for n in ROWS)
        self.top = nn.Sequential(nn.Linear(2 * DIM, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
        self.of_rows = torch.optim.SparseAdam(list(self.tables.parameters()), lr=0.01)
        self.of_top = torch.optim.Adam(self.top.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.of_top, STEPS)
        for (
            table
        ) in self.tables:  # made by the first step otherwise, and anew by the first of a restart
            moments = {each: torch.zeros_like(table.weight) for each in ("exp_avg", "exp_avg_sq")}
            self.of_rows.state[table.weight].update({"step": 0, **moments})

    def shards(self):
        found = {}
        for n, table in enumerate(self.tables):
            state = self.of_rows.state[table.weight]
            found[n] = [TablePart(n, table.weight, (state["exp_avg"], state["exp_avg_sq"]))]
        return found

    def dense(self):
        parts = {"top": self.top, "adam": self.of_top, "schedule": self.schedule}
        return parts | {"counts": self, "random": RandomState()}

    def state_dict(self):
        """What SparseAdam keeps of a table as a whole: how many steps it has had."""
        return {"steps": [self.of_rows.state[each.weight]["step"] for each in self.tables]}

    def load_state_dict(self, state):
        for table, steps in zip(self.tables, state["steps"], strict=True):
            self.of_rows.state[table.weight]["step"] = steps

    def step(self, step):
        ids, labels = batch(step)
        self.update([(ids, labels)])
        return ids

    def update(self, batches):
        """One step of all optimisers, by the mean gradient of these batches."""
        self.of_rows.zero_grad()
        self.of_top.zero_grad()
        for ids, labels in batches:
            (self.loss(ids, labels) / len(batches)).backward()
        self.of_rows.step()
        self.of_top.step()
        self.schedule.step()

    def loss(self, ids, labels):
        looked = [table(i) for table, i in zip(self.tables, ids, strict=True)]
        logits = self.top(torch.cat(looked, dim=1)).squeeze(1)
        return nn.functional.binary_cross_entropy_with_logits(logits, labels)

    def learned(self):
        kept = [each for of in self.of_rows.state.values() for each in of.values()]
        return [*self.tables.parameters(), *self.top.parameters(), *kept]


class AccumulatedLoop(SparseAdamLoop):
    """Gradients of two batches are one step, with the lookups of both."""

    def step(self, step):
        both = [batch(2 * step + part) for part in range(2)]
        self.update(both)
        return [torch.cat(each) for each in zip(*(ids for ids, _ in both), strict=True)]


class Samples(torch.utils.data.Dataset):
    """Ids of each table, and a label; a function of the number."""

    def __len__(self):
        return BATCH * STEPS // 2

    def __getitem__(self, number):
        ids, labels = batch(number)
        return ids[0][0], ids[1][0], labels[0]


class LoaderLoop(SparseAdamLoop):
    """Two epochs of a DataLoader that shuffles, with workers.

    It draws from a generator of its own, seeded by the epoch: else `iter(loader)` draws from that
    of dropout, once more after a restart.
    """

    def train(self, hooks, killed_at):
        order = torch.Generator()
        loader = torch.utils.data.DataLoader(
            Samples(), BATCH, shuffle=True, num_workers=2, generator=order
        )
        step = first = hooks.restore()
        while step < STEPS:
            epoch, done = divmod(step, len(loader))
            order.manual_seed(epoch)
            for *ids, labels in itertools.islice(loader, done, None):
                killed_before(step, killed_at)
                self.update([(ids, labels)])
                hooks.after_step(ids)
                step += 1
        return first, self.learned()


LOOPS = {
    "sparse-adam": SparseAdamLoop,
    "accumulated": AccumulatedLoop,
    "loader": LoaderLoop,
}


def batch(step):
    drawn = torch.Generator().manual_seed(step)
    ids = [torch.randint(rows, (BATCH, 2), generator=drawn) for rows in ROWS]
    return ids, (ids[0].sum(dim=1) % 2).float()


def trained(kind, folder=None, killed_at=None):
    loop = LOOPS[kind]()
    first, learned = loop.train(hooks_of(loop, folder), killed_at)
    return f"from {first}: {digest(map(torch.as_tensor, learned))}"


def main(kind, folder, *killed_at):
    sys.stdout.write(trained(kind, Path(folder), *killed_at) + "\n")
