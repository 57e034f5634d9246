"""A rank of a job by gloo: `python -m tests.trainer.gloo_job RANK SIZE GENERATION POLICY FOLDER`.

Table r lies on rank r, the MLP on all. With a STEP more it is killed there, in generation 0. What
it says last: the steps that it went on from, digests of its rows and of its MLP, and PLS.
"""

import hashlib
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import cprsim
from cprsim.trainer import RebuiltGroup, TablePart, TrainerHooks
from tests.waiting import HANGS_S

STEPS, BATCH, DIM, ROWS = 20, 16, 4, 40


def scenario(size, policy):
    return cprsim.Scenario(
        job={"useful_time": f"{STEPS} s", "samples": STEPS * BATCH},
        model={"tables": [{"rows": ROWS, "dim": DIM}] * size},
        cluster={"parameter_servers": size, "trainers": size},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
        failures={"exactly": 1},
        policies={policy: {"system": policy, "interval": "5 s"}},
    )


class Loop:
    """Its own table, and an MLP that all have, by SGD with momentum; gradients are averaged."""

    def __init__(self, rank, size):
        drawn = torch.Generator().manual_seed(rank)
        self.rank, self.size = rank, size
        self.table = torch.rand(ROWS, DIM, generator=drawn).requires_grad_()
        torch.manual_seed(0)
        self.mlp = torch.nn.Linear(size * DIM, 1)
        self.optimizer = torch.optim.SGD(self.mlp.parameters(), lr=0.1, momentum=0.9)

    def shards(self):
        return {self.rank: [TablePart(self.rank, self.table)]}

    def dense(self):
        return {"mlp": self.mlp, "sgd": self.optimizer}

    def lookups(self, ids):
        return {self.rank: ids[self.rank]}

    def step(self, number):
        drawn = torch.Generator().manual_seed(number)
        ids = torch.randint(ROWS, (self.size, BATCH), generator=drawn)
        mine = self.table[ids[self.rank]]
        looked = [torch.empty(BATCH, DIM) for _ in range(self.size)]
        dist.all_gather(looked, mine.detach())
        looked[self.rank] = mine
        logits = self.mlp(torch.cat(looked, dim=1)).squeeze(1)
        labels = (ids.sum(dim=0) % 2).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        self.table.grad = None
        self.optimizer.zero_grad()
        loss.backward()
        for each in self.mlp.parameters():
            dist.all_reduce(each.grad)
            each.grad /= self.size
        dist.barrier()  # nothing is applied before all have come so far
        with torch.no_grad():
            self.table -= 0.1 * self.table.grad
        self.optimizer.step()
        return ids


def digest(tensors):
    found = hashlib.sha256()
    for each in tensors:
        found.update(each.detach().numpy().tobytes())
    return found.hexdigest()[:16]


def main(rank, size, generation, policy, folder, killed_at=None):
    torch.set_num_threads(1)
    ranks = RebuiltGroup(folder / "group", rank, size, generation, timeout_s=HANGS_S)
    loop = Loop(rank, size)
    hooks = TrainerHooks(
        scenario(size, policy), policy, loop, folder / str(rank), STEPS, ranks=ranks
    )
    step = hooks.restore() if generation == 0 else hooks.on_failure(ranks.new)
    begun = [step]
    while step < STEPS:
        if step == killed_at and generation == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            ids = loop.step(step)
        except RuntimeError:
            step = hooks.on_failure(ranks.rebuild())
            begun.append(step)
            continue
        hooks.after_step(ids)
        step += 1
    summary = hooks.job_summary()
    momentum = [each["momentum_buffer"] for each in loop.optimizer.state.values()]
    dense = digest([*loop.mlp.parameters(), *momentum])
    sys.stdout.write(f"{begun} {digest([loop.table])} {dense} {summary.pls}\n")
    sys.stdout.flush()
    dist.barrier()  # or rank 0 may go, with the store, before others have ended


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]),
        int(given[1]),
        int(given[2]),
        given[3],
        Path(given[4]),
        *map(int, given[5:]),
    )
