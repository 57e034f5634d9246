"""A rank of a job by gloo: `main(rank, size, generation, kind, policy, folder)`.

Table r lies on rank r, the MLP on all, or, of the kind `sharded`, a part of it on each; of the kind
`ddp` the MLP is in DDP; of the kind `elastic` any number of ranks has the same rows and the same
parts of the MLP between them, and the same samples. The policy `bare` is the loop without hooks.
With a step more it is killed there, in generation 0.
What it says last: the steps that it went on from, digests of its rows and of its MLP, and PLS.
"""

import gc
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from cprsim.trainer import RebuiltGroup, TablePart, TrainerHooks
from tests.trainer.jobs import NoHooks, digest, job_of
from tests.waiting import HANGS_S

STEPS, BATCH, DIM, ROWS = 20, 16, 4, 40


def scenario(size, policy):
    policies = {policy: {"system": policy, "interval": "5 s"}}
    return job_of(STEPS, [ROWS] * size, DIM, size, size, BATCH, **policies)


class Loop:
    """Its own table, and an MLP that all have, by SGD with momentum; gradients are averaged."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size
        drawn = torch.Generator().manual_seed(rank)
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

    def average_gradients(self):
        for each in self.mlp.parameters():
            dist.all_reduce(each.grad)
            each.grad /= self.size

    def learned(self):
        """Its rows; its MLP and the optimizer's state."""
        kept = [each for of in self.optimizer.state.values() for each in of.values()]
        return [self.table], [*self.mlp.parameters(), *kept]

    def gathered(self, tensor):
        """Those of all ranks."""
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(found, tensor.detach())
        return found

    def step(self, number):
        drawn = torch.Generator().manual_seed(number)
        ids = torch.randint(ROWS, (self.size, BATCH), generator=drawn)
        mine = self.table[ids[self.rank]]
        looked = self.gathered(mine)
        looked[self.rank] = mine
        logits = self.mlp(torch.cat(looked, dim=1)).squeeze(1)
        labels = (ids.sum(dim=0) % 2).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        self.table.grad = None
        self.optimizer.zero_grad()
        loss.backward()
        self.average_gradients()
        dist.barrier()  # nothing is applied before all have come so far
        with torch.no_grad():
            self.table -= 0.1 * self.table.grad
        self.optimizer.step()
        return ids


class ShardedLoop(Loop):
    """The MLP by `fully_shard`, with Adam: its parameters and state are DTensors."""

    def __init__(self, rank, size):
        super().__init__(rank, size)
        fully_shard(self.mlp, mesh=init_device_mesh("cpu", (size,)))
        self.optimizer = torch.optim.Adam(self.mlp.parameters(), lr=0.1)

    def average_gradients(self):
        """`fully_shard` has done it."""


class DdpLoop(Loop):
    """The MLP in DistributedDataParallel, which averages its gradients."""

    def __init__(self, rank, size):
        super().__init__(rank, size)
        self.whole, self.mlp = self.mlp, DistributedDataParallel(self.mlp)

    def dense(self):
        return {"mlp": self.whole, "sgd": self.optimizer}

    def average_gradients(self):
        """DDP has done it."""


class ElasticLoop(ShardedLoop):
    """Four shards of one table, and an MLP by `fully_shard`, on 1 to 4 ranks.

    Each rank trains on the same samples, and numbers are coarse, so that the mean of the ranks'
    gradients is exact: float32 holds three times a gradient of the MLP.
    """

    shares = 4

    def __init__(self, rank, size):
        super().__init__(rank, size)
        first, end = (
            ROWS * (self.shares * each // size) // self.shares for each in (rank, rank + 1)
        )
        drawn = torch.Generator().manual_seed(0)
        self.table = torch.rand(ROWS, DIM, generator=drawn)[first:end].clone()
        self.first = first
        torch.manual_seed(0)
        self.mlp = fully_shard(torch.nn.Linear(DIM, 1), mesh=init_device_mesh("cpu", (size,)))
        self.optimizer = torch.optim.Adam(self.mlp.parameters(), lr=0.1)

    def shards(self):
        rows = ROWS // self.shares
        return {
            (self.first + at) // rows: [
                TablePart(0, self.table[at : at + rows], (), self.first + at)
            ]
            for at in range(0, len(self.table), rows)
        }

    def step(self, number):
        ids = torch.randint(ROWS, (BATCH,), generator=torch.Generator().manual_seed(number))
        here = (ids >= self.first) & (ids < self.first + len(self.table))
        looked = torch.zeros(BATCH, DIM)
        looked[here] = self.table[ids[here] - self.first]
        dist.all_reduce(looked)
        looked = coarse(looked).requires_grad_()
        logits = self.mlp(looked).squeeze(1)
        logits.register_hook(coarse)
        loss = torch.nn.functional.mse_loss(logits, (ids % 2).float())
        self.optimizer.zero_grad()
        loss.backward()
        self.table.index_add_(0, ids[here] - self.first, looked.grad[here], alpha=-0.5)
        self.optimizer.step()
        return ids

    def learned(self):
        """The rows of all ranks, and the whole MLP with its state, as each rank has them."""
        table = torch.zeros(ROWS, DIM)
        table[self.first : self.first + len(self.table)] = self.table
        dist.all_reduce(table)
        kept = [each for of in self.optimizer.state.values() for each in of.values()]
        return [table], [whole(each) for each in (*self.mlp.parameters(), *kept)]


LOOPS = {
    "plain": Loop,
    "sharded": ShardedLoop,
    "ddp": DdpLoop,
    "elastic": ElasticLoop,
}


def coarse(tensor):
    """Multiples of 1/256: sums of a few products of two are exact in float32."""
    return (tensor * 256).round() / 256


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def leave():
    """Leave the process group, when nothing else uses it any more.

    A thread of the group that outlives the interpreter aborts the process.
    """
    sys.stdout.flush()
    gc.collect()  # models that hold on to the group lie in cycles
    dist.barrier()  # or rank 0 may go, with the store, before others have ended
    dist.destroy_process_group()


def main(rank, size, generation, kind, policy, folder, killed_at=None):
    folder = Path(folder)
    ranks = RebuiltGroup(folder / "group", rank, size, generation, timeout_s=HANGS_S)
    loop = LOOPS[kind](rank, size)
    hooks = NoHooks()
    if policy != "bare":
        given = scenario(getattr(loop, "shares", size), policy)
        hooks = TrainerHooks(given, policy, loop, folder / str(rank), STEPS, ranks=ranks)
    step = hooks.restore() if generation == 0 else hooks.on_failure(ranks.new)
    begun = [step]
    while step < STEPS:
        if step == killed_at and generation == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            hooks.after_step(loop.step(step))
            step += 1
        except RuntimeError:
            step = hooks.on_failure(ranks.rebuild())
            begun.append(step)
    pls = 0.0 if policy == "bare" else hooks.job_summary().pls
    rows, dense = map(digest, loop.learned())
    sys.stdout.write(f"{begun} {rows} {dense} {pls}\n")
    del hooks, loop, ranks
    leave()
