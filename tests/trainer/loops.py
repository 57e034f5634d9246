"""A training loop as a user has it: a DLRM in one process, and an adapter that leads to it."""

from functools import cache

import torch
from torch import nn

import cprsim
from cprsim.trainer import TablePart, TrainerHooks, split_rows
from tests.trainer.jobs import digest

STEPS, BATCH, DIM, ROWS = 40, 32, 8, (300, 100, 20)
POLICIES = {
    "full": {"system": "full", "interval": "10 s"},
    "partial": {"system": "partial", "interval": "10 s"},
    "cpr-vanilla": {"system": "cpr-vanilla", "interval": "10 s"},
    "cpr-mfu": {"system": "cpr-mfu", "interval": "10 s", "fraction": 0.25},
    "cpr-ssu": {"system": "cpr-ssu", "interval": "10 s", "fraction": 0.25},
    "cpr-scar": {"system": "cpr-scar", "interval": "10 s", "fraction": 0.25},
}


def scenario(rows=ROWS, **more):
    """A job of 40 s on two shards."""
    return cprsim.Scenario(
        job={"useful_time": f"{STEPS} s", "samples": STEPS * BATCH, **more.pop("job", {})},
        model={"tables": [{"rows": each, "dim": DIM} for each in rows], "tracked_tables": 2},
        cluster={"parameter_servers": 2, "trainers": 1},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
        failures=more.pop("failures", {"exactly": 0}),
        policies=POLICIES | more,
    )


class Loop:
    """Tables with sparse Adagrad, MLPs with Adam, whose state is first made by the first step."""

    def __init__(self, seed=0):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.tables = nn.ModuleList(
                nn.EmbeddingBag(rows, DIM, mode="sum", sparse=True) for rows in ROWS
            )
            self.mlp = nn.Sequential(nn.Linear(4 + 3 * DIM, 16), nn.ReLU(), nn.Linear(16, 1))
        self.of_rows = torch.optim.Adagrad(self.tables.parameters(), lr=0.05)
        self.of_mlp = torch.optim.Adam(self.mlp.parameters())

    def step(self, batch):
        dense, ids, labels = batch
        looked = [table(ids[:, place]) for place, table in enumerate(self.tables)]
        logits = self.mlp(torch.cat([dense, *looked], dim=1)).squeeze(1)
        self.of_rows.zero_grad()
        self.of_mlp.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(logits, labels).backward()
        self.of_rows.step()
        self.of_mlp.step()

    def state(self):
        """Every tensor that training depends on: Adagrad's count of steps does nothing here."""
        sums = [self.of_rows.state[table.weight]["sum"] for table in self.tables]
        adam = [each for state in self.of_mlp.state.values() for each in state.values()]
        learned = [*self.tables.parameters(), *self.mlp.parameters()]
        return [each.detach().clone() for each in (*learned, *sums, *adam)]

    def digest(self):
        return digest(self.state())

    def train(self, end=STEPS, settle=False):
        """With hooks, from where these are; `settle`: each save is stored before the next step."""
        for step in range(self.hooks.step, end):
            self.step(batch(step))
            self.hooks.after_step(batch(step))
            if settle:
                self.hooks.settle()


class Adapter:
    """Each table lies in both shards, one half of its rows in each."""

    def __init__(self, loop):
        self.loop = loop

    def shards(self):
        halves = [
            split_rows(
                TablePart(number, table.weight, (self.loop.of_rows.state[table.weight]["sum"],)), 2
            )
            for number, table in enumerate(self.loop.tables)
        ]
        return dict(enumerate(zip(*halves, strict=True)))

    def dense(self):
        return {"mlp": self.loop.mlp, "adam": self.loop.of_mlp}

    def lookups(self, batch):
        return dict(enumerate(batch[1].transpose(0, 1)))


def batch(step):
    """Two rows of each table a sample; a function of the step."""
    generator = torch.Generator().manual_seed(1000 + step)
    uniform = torch.rand(BATCH, 3, 2, generator=generator)
    ids = (uniform**3 * torch.tensor(ROWS).view(3, 1)).long()
    dense = torch.rand(BATCH, 4, generator=generator)
    return dense, ids, (dense.sum(1) > 2).float()


def peer(step):
    """A loop that has trained so far without hooks."""
    loop = Loop()
    for each in range(step):
        loop.step(batch(each))
    return loop


@cache
def clean():
    """The digest of one that has trained to the end."""
    return peer(STEPS).digest()


def hooked(policy, folder, loop=None, **more):
    """A loop with hooks, which has not been restored yet; `more`: of `TrainerHooks`."""
    found = Loop() if loop is None else loop
    given = {"scenario": scenario(), "steps": STEPS} | more
    found.hooks = TrainerHooks(policy=policy, adapter=Adapter(found), folder=folder, **given)
    return found


def begun(policy, folder, end, **more):
    """A loop with hooks that has trained up to a step."""
    loop = hooked(policy, folder, **more)
    loop.hooks.restore()
    loop.train(end)
    return loop
