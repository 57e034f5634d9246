"""A rank of a TorchRec job of two groups of two: `... torchrec_twins_job RANK PORT FOLDER`.

Rank 3 loses its rows before step 17. What it says last: the step that it went on from, PLS, and
digests: of its rows after the last averaging, before the loss, after it, and of its MLP at the end.
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist

from cprsim.trainer import ProcessGroup, TrainerHooks
from tests.trainer.gloo_job import digest, leave
from tests.trainer.torchrec_job import STEPS, joined, of_page, rows_of, scenario, sharded, trained

RANKS, AVERAGED, LOST = 4, 16, 17


TWINS = {"twins": {"system": "twin-groups", "every": "4 s", "sync": "1 s"}}


def main(rank, port, folder):
    joined(rank, port, RANKS)
    group = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
    twins = [dist.new_group([0, 2]), dist.new_group([1, 3])][rank % 2]
    model = sharded("table_wise", group)
    top = model.module.top
    optimizer = torch.optim.Adagrad(top.parameters(), lr=0.05)
    of_page("torchrec_adapter")
    adapter = of_page("torchrec_twins").TorchRecTwins(
        model.module.ebc, {"top": top, "adagrad": optimizer}, rank, twins
    )
    ranks = ProcessGroup()
    job, seen = scenario(RANKS, **TWINS), []
    hooks = TrainerHooks(job, "twins", adapter, folder / str(rank), STEPS, ranks=ranks)

    def train(first, end):
        for step in range(first, end):
            trained(model, optimizer, step, rank)
            hooks.after_step(None)

    adapter.average()
    hooks.restore()
    train(0, AVERAGED)
    seen.append(digest(rows_of(adapter, rank)))
    train(AVERAGED, LOST)
    seen.append(digest(rows_of(adapter, rank)))
    if rank == RANKS - 1:
        for each in rows_of(adapter, rank):
            each.fill_(float("nan"))
    step = hooks.on_failure({RANKS - 1})
    seen.append(digest(rows_of(adapter, rank)))
    train(step, STEPS)
    seen.append(digest(top.parameters()))
    sys.stdout.write(f"{step} {hooks.summary.pls} {' '.join(seen)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    leave()
