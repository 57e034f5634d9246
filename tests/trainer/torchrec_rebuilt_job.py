"""A rank of a TorchRec job of two groups of two: one is killed, and the others make groups anew.

`python -m tests.trainer.torchrec_rebuilt_job RANK GENERATION FOLDER [STEP]`, which is killed there.
What it says last: the steps that it went on from, PLS, and digests of its rows as it went on and of
its MLP at the end.
"""

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torchrec.distributed import collective_utils

from cprsim.trainer import RebuiltGroup, TrainerHooks
from tests.trainer.gloo_job import leave
from tests.trainer.jobs import digest
from tests.trainer.torchrec_job import STEPS, of_page, rows_of, scenario, sharded, trained
from tests.waiting import HANGS_S

RANKS = 4
TWINS = {"twins": {"system": "twin-groups", "every": "4 s", "sync": "1 s"}}


class Loop:
    """What is made anew with the process groups: the model, its MLP and that's optimiser."""

    def __init__(self, rank):
        self.rank = rank
        self.build()

    def build(self):
        group = [dist.new_group([0, 1]), dist.new_group([2, 3])][self.rank // 2]
        twins = [dist.new_group([0, 2]), dist.new_group([1, 3])][self.rank % 2]
        collective_utils._INITIALIZED = False
        self.model = sharded("table_wise", group)
        top = self.model.module.top
        self.optimizer = torch.optim.Adagrad(top.parameters(), lr=0.05)
        dense = {"top": top, "adagrad": self.optimizer}
        self.of_rows = of_page("torchrec_twins").TorchRecTwins(
            self.model.module.ebc, dense, self.rank, twins
        )

    def shards(self):
        return self.of_rows.shards()

    def dense(self):
        return self.of_rows.dense()

    def average(self):
        self.of_rows.average()

    def rows(self):
        return rows_of(self, self.rank)

    def leave(self):
        """Let go of the groups; gives what there was."""
        kept = [each.clone() for each in self.rows()]
        states = [each.state_dict() for each in self.dense().values()]
        del self.model, self.of_rows, self.optimizer
        return kept, states

    def take(self, kept, states):
        for mine, each in zip(self.rows(), kept, strict=True):
            mine.copy_(each)
        for mine, each in zip(self.dense().values(), states, strict=True):
            mine.load_state_dict(each)


def main(rank, generation, folder, killed_at=None):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    os.environ |= {"WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS)}
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ranks = RebuiltGroup(folder / "group", rank, RANKS, generation, timeout_s=HANGS_S)
    of_page("torchrec_adapter")
    it = Loop(rank)
    hooks = TrainerHooks(
        scenario(RANKS, **TWINS), "twins", it, folder / str(rank), STEPS, ranks=ranks
    )
    if generation == 0:
        it.average()
    step = hooks.restore() if generation == 0 else hooks.on_failure(ranks.new)
    begun, found = [step], digest(it.rows())
    while step < STEPS:
        if step == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            trained(it.model, it.optimizer, step, rank)
            hooks.after_step(None)
            step += 1
        except RuntimeError:
            kept = it.leave()
            new = ranks.rebuild()
            it.build()
            it.take(*kept)
            step = hooks.on_failure(new)
            begun.append(step)
            found = digest(it.rows())
    summary = hooks.job_summary()
    top = digest(it.model.module.top.parameters())
    sys.stdout.write(f"{'-'.join(map(str, begun))} {summary.pls} {found} {top}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), *map(int, sys.argv[4:]))
    leave()
