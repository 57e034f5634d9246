"""A rank of a TorchRec job whose tables are cut by columns and stored by DCP.

`python -m tests.trainer.torchrec_dcp_job RANK PORT FOLDER POLICY [HIT]`

`killed`: both ranks are, before step 13. `lost`: rank 1 loses its columns before step 17. What it
says last: the steps that it went on from, and digests of its columns and its MLP; `lost`: and of
the columns at the last save before, those that there were at the loss, and after it.
"""

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from cprsim.trainer import ProcessGroup, TrainerHooks
from tests.trainer.gloo_job import leave
from tests.trainer.jobs import digest
from tests.trainer.torchrec_job import STEPS, joined, of_page, scenario, sharded, trained

KILLED, LOST, SAVED = 13, 17, 15


class Adapter:
    """No rows of its own: tables are in the dense part."""

    def __init__(self, model):
        self.ebc, self.top = model.module.ebc, model.module.top
        self.optimizer = torch.optim.Adagrad(self.top.parameters(), lr=0.05)
        self.tables = of_page("torchrec_tables").Tables(self.ebc)

    def shards(self):
        return {}

    def dense(self):
        return {"tables": self.tables, "top": self.top, "adagrad": self.optimizer}

    def columns(self):
        """The tensors in use, and their state in the fused optimiser."""
        kept = self.ebc.fused_optimizer.state_dict()["state"]
        of_rows = [each for state in kept.values() for each in state.values()]
        return [
            shard.tensor
            for each in (*self.ebc.state_dict().values(), *of_rows)
            for shard in each.local_shards()
        ]


def main(rank, port, folder, policy, hit=""):
    joined(rank, port)
    model = sharded("column_wise")
    it = Adapter(model)
    job = scenario(**{policy: {"system": policy, "interval": "5 s"}})
    hooks = TrainerHooks(job, policy, it, folder / str(rank), STEPS, ranks=ProcessGroup())
    step = hooks.restore()
    begun, seen = [step], []
    while step < STEPS:
        if hit == "killed" and step == KILLED:
            dist.barrier()
            os.kill(os.getpid(), signal.SIGKILL)
        if hit == "lost" and step == SAVED:
            seen.append(digest(it.columns()))
        if hit == "lost" and step == LOST:
            seen.append(digest(it.columns()))
            if rank == 1:
                for each in (*it.columns(), *it.top.parameters()):
                    each.detach().fill_(float("nan"))
            step = hooks.on_failure({1}, dense=rank == 1)
            begun.append(step)
            seen.append(digest(it.columns()))
            hit = ""
        trained(model, it.optimizer, step, rank)
        hooks.after_step(None)
        step += 1
    said = [digest(it.columns()), digest(it.top.parameters()), *seen]
    sys.stdout.write(f"{' '.join(map(str, begun))} {' '.join(said)}\n")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]), given[1], Path(given[2]), *given[3:])
    leave()
