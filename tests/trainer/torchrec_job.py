"""A rank of a TorchRec job: `python -m tests.trainer.torchrec_job RANK PORT FOLDER POLICY SIZE`.

The first time both ranks train to step 13 and are killed; the second time they go on to the end,
and rank 1 loses its rows before step 17, or one rank goes on with all tables. What was checked is
printed.
"""

import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed as dist
import torchrec
from torch.distributed import _remote_device
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, Topology
from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.distributed.types import ShardingEnv
from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

from cprsim.trainer import ProcessGroup, TrainerHooks
from tests.trainer.gloo_job import leave
from tests.trainer.jobs import job_of
from tools.pages.walkthroughs import code

PAGE = Path(__file__).parents[2] / "docs/plug-into-torchrec.md"
ROWS, DIM, BATCH, STEPS, KILLED = (100, 200, 300, 400), 8, 16, 20, 13


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        tables = [
            EmbeddingBagConfig(
                name=f"t{n}", embedding_dim=DIM, num_embeddings=rows, feature_names=[f"f{n}"]
            )
            for n, rows in enumerate(ROWS)
        ]
        self.ebc = EmbeddingBagCollection(tables=tables, device=torch.device("meta"))
        self.top = torch.nn.Linear(len(ROWS) * DIM, 1)

    def forward(self, features):
        return self.top(self.ebc(features).values()).squeeze(1)


def joined(rank, port, size=2):
    """This rank of so many, by gloo."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(size)}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)}
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")


def of_page(name):
    """A file of the page, as a module."""
    module = ModuleType(name)
    exec(code(PAGE.read_text(encoding="utf-8"), f"{name}.py"), module.__dict__)
    sys.modules[name] = module  # for those that import it
    return module


def sharded(how, group=None):
    """The model over a group of ranks, or all ranks."""
    group = dist.group.WORLD if group is None else group
    ranks = dist.get_world_size(group)
    model = Model()
    apply_optimizer_in_backward(torchrec.optim.RowWiseAdagrad, model.ebc.parameters(), {"lr": 0.05})
    constraint = ParameterConstraints(sharding_types=[how], min_partition=DIM // 2)
    planner = EmbeddingShardingPlanner(
        topology=Topology(world_size=ranks, compute_device="cpu"),
        constraints={f"t{n}": constraint for n in range(len(ROWS))},
    )
    sharders = [EmbeddingBagCollectionSharder()]
    plan = planner.collective_plan(model, sharders, dist.group.WORLD)
    for of_module in plan.plan.values():
        for of_table in of_module.values():
            for shard in of_table.sharding_spec.shards:  # the plan is for ranks of the group
                rank = dist.get_global_rank(group, shard.placement.rank())
                shard.placement = _remote_device(f"rank:{rank}/cpu")
    env = ShardingEnv.from_process_group(group)
    device = torch.device("cpu")
    return DistributedModelParallel(model, env=env, device=device, plan=plan, sharders=sharders)


def features(step, rank):
    drawn = torch.Generator().manual_seed(2 * step + rank)
    ids = [(torch.rand(BATCH, generator=drawn) ** 3 * rows).long() for rows in ROWS]
    lengths = torch.ones(len(ROWS) * BATCH, dtype=torch.int64)
    keys = [f"f{n}" for n in range(len(ROWS))]
    return KeyedJaggedTensor(keys=keys, values=torch.cat(ids), lengths=lengths)


def trained(model, optimizer, step, rank):
    """A step of the whole model, by its own loss."""
    logits = model(features(step, rank))
    labels = torch.arange(BATCH) % 2
    torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.float()).backward()
    for each in model.module.top.parameters():
        dist.all_reduce(each.grad)
    optimizer.step()
    optimizer.zero_grad()


def scenario(ranks=2, **policies):
    return job_of(STEPS, ROWS, DIM, ranks, ranks, BATCH * ranks, **policies)


def rows_of(adapter, rank):
    """The tensors in use of a rank, with their state."""
    parts = adapter.shards()[rank]
    return [each.detach() for part in parts for each in (part.weights, *part.state)]


def main(rank, port, folder, policy="cpr-mfu", size=2):
    joined(rank, port, size)
    model = sharded("table_wise")
    top = model.module.top
    optimizer = torch.optim.Adagrad(top.parameters(), lr=0.05)
    adapter = of_page("torchrec_adapter").TorchRecAdapter(
        model.module.ebc, {"top": top, "adagrad": optimizer}, rank
    )
    keys = {"interval": "20 s", "fraction": 0.25} if policy == "cpr-mfu" else {"interval": "5 s"}
    job = scenario(size, it={"system": policy} | keys)
    hooks = TrainerHooks(job, "it", adapter, folder / str(rank), STEPS, ranks=ProcessGroup())

    def copies():
        return [each.clone() for each in rows_of(adapter, rank)]

    def train(first, end):
        for step in range(first, end):
            trained(model, optimizer, step, rank)
            hooks.after_step(None)

    first = hooks.restore()
    tables = [part.table for part in adapter.shards()[rank]]
    if first == 0:
        train(0, KILLED - 3)
        torch.save((tables, copies()), folder / f"{rank}.pt")  # saves are at 5, 10, 15
        train(KILLED - 3, KILLED)
        dist.barrier()
        os.kill(os.getpid(), signal.SIGKILL)
    if size == 1:  # all tables are here now, with their state
        rows = {}
        for of, saved in (torch.load(folder / f"{each}.pt") for each in range(2)):
            rows |= {table: saved[2 * n : 2 * n + 2] for n, table in enumerate(of)}
        before = [each for table in tables for each in rows[table]]
        same = len(before) == 2 * len(ROWS) and all(map(torch.equal, before, copies()))
        train(first, STEPS)
        sys.stdout.write(f"{first} {same} {hooks.summary.step}\n")
        return
    _, at_save = torch.load(folder / f"{rank}.pt")
    found = copies()
    fresh = [
        (now == then).reshape(len(now), -1).all(dim=1)
        for now, then in zip(found, at_save, strict=True)
    ]
    train(first, 17)
    kept = copies()
    if rank == 1:
        for each in rows_of(adapter, rank):
            each.fill_(float("nan"))
    step = hooks.on_failure({1})
    now = copies()
    back = all(each.isfinite().all() for each in now)
    touched = not all(map(torch.equal, now, kept))
    train(step, STEPS)
    sys.stdout.write(
        f"{first} {min(each.float().mean() for each in fresh) > 0.25} {step} {back} {touched} "
        f"{hooks.summary.step} {hooks.summary.pls}\n"
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]), given[1], Path(given[2]), *given[3:4], *map(int, given[4:]))
    leave()
