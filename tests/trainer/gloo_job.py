"""A rank of a job by gloo.

`python -m tests.trainer.gloo_job RANK SIZE GENERATION KIND POLICY FOLDER`

Table r lies on rank r, the MLP on all, or, of the kind `sharded`, a part of it on each; of the kind
`twins` each half of the ranks has all tables. With a STEP more it is killed there, in generation 0.
What it says last: the steps that it went on from, digests of its rows and of its MLP, PLS, and a
digest of its rows as it went on.
"""

import gc
import hashlib
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

import cprsim
from cprsim.trainer import RebuiltGroup, TablePart, TrainerHooks
from tests.waiting import HANGS_S

STEPS, BATCH, DIM, ROWS = 20, 16, 4, 40
MORE = {"twin-groups": {"interval": "10 s", "every": "4 s", "sync": "1 s"}}


def scenario(size, policy, groups=1):
    return cprsim.Scenario(
        job={"useful_time": f"{STEPS} s", "samples": STEPS * BATCH},
        model={"tables": [{"rows": ROWS, "dim": DIM}] * (size // groups)},
        cluster={"parameter_servers": size, "trainers": size},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
        failures={"exactly": 1},
        policies={policy: {"system": policy, "interval": "5 s"} | MORE.get(policy, {})},
    )


class Loop:
    """Its own table, and an MLP that all have, by SGD with momentum; gradients are averaged.

    Of several groups each has all tables, and samples of its own.
    """

    groups = 1

    def __init__(self, rank, size):
        self.rank, self.size = rank, size
        self.tables = size // self.groups
        self.group, self.number = divmod(rank, self.tables)
        drawn = torch.Generator().manual_seed(self.number)
        self.table = torch.rand(ROWS, DIM, generator=drawn).requires_grad_()
        torch.manual_seed(0)
        self.mlp = torch.nn.Linear(self.tables * DIM, 1)
        self.optimizer = torch.optim.SGD(self.mlp.parameters(), lr=0.1, momentum=0.9)

    def shards(self):
        return {self.rank: [TablePart(self.number, self.table)]}

    def dense(self):
        return {"mlp": self.mlp, "sgd": self.optimizer}

    def lookups(self, ids):
        return {self.number: ids[self.number]}

    def average_gradients(self):
        for each in self.mlp.parameters():
            dist.all_reduce(each.grad)
            each.grad /= self.size

    def gathered(self, tensor):
        """Those of all ranks."""
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(found, tensor.detach())
        return found

    def step(self, number):
        drawn = torch.Generator().manual_seed(number + STEPS * self.group)
        ids = torch.randint(ROWS, (self.tables, BATCH), generator=drawn)
        mine = self.table[ids[self.number]]
        first = self.group * self.tables
        looked = self.gathered(mine)[first : first + self.tables]
        looked[self.number] = mine
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

    def dense(self):
        return {"both": self}

    def state_dict(self):
        model, optimizer = get_state_dict(self.mlp, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(
            self.mlp,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )

    def average_gradients(self):
        """`fully_shard` has done it."""


class TwinLoop(Loop):
    """Two groups."""

    groups = 2

    def average(self):
        tables = self.gathered(self.table)
        twins = tables[self.number], tables[self.number + self.tables]
        self.table.detach().copy_(sum(twins) / 2)


LOOPS = {"plain": Loop, "sharded": ShardedLoop, "twins": TwinLoop}


def local(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def digest(tensors):
    found = hashlib.sha256()
    for each in tensors:
        found.update(local(each.detach()).numpy().tobytes())
    return found.hexdigest()[:16]


def leave():
    """Leave the process group, when nothing else uses it any more.

    A thread of the group that outlives the interpreter aborts the process.
    """
    sys.stdout.flush()
    gc.collect()  # models that hold on to the group lie in cycles
    dist.barrier()  # or rank 0 may go, with the store, before others have ended
    dist.destroy_process_group()


def main(rank, size, generation, kind, policy, folder, killed_at=None):
    torch.set_num_threads(1)
    ranks = RebuiltGroup(folder / "group", rank, size, generation, timeout_s=HANGS_S)
    loop = LOOPS[kind](rank, size)
    given = scenario(size, policy, loop.groups)
    hooks = TrainerHooks(given, policy, loop, folder / str(rank), STEPS, ranks=ranks)
    step = hooks.restore() if generation == 0 else hooks.on_failure(ranks.new)
    begun, found = [step], digest([loop.table])
    while step < STEPS:
        if step == killed_at and generation == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            hooks.after_step(loop.step(step))
            step += 1
        except RuntimeError:
            step = hooks.on_failure(ranks.rebuild())
            begun.append(step)
            found = digest([loop.table])
    summary = hooks.job_summary()
    kept = [each for of in loop.optimizer.state.values() for each in of.values()]
    dense = digest([*loop.mlp.parameters(), *kept])
    sys.stdout.write(f"{begun} {digest([loop.table])} {dense} {summary.pls} {found}\n")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]),
        int(given[1]),
        int(given[2]),
        *given[3:5],
        Path(given[5]),
        *map(int, given[6:]),
    )
    leave()
