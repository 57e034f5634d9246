"""A rank of a TorchRec job whose rows come from its own tracker.

`python -m tests.trainer.torchrec_tracked_job RANK PORT FOLDER POLICY STOP`: it is killed before the
step STOP, 0 for never. What it says last: the step that it began from, whether the rows it named
are those that were looked up, whether saves had some rows only, and a digest of all at the end.
"""

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import cprsim
from cprsim.trainer import HooksObserver, ProcessGroup, TrainerHooks
from tests.trainer.gloo_job import digest, leave
from tests.trainer.torchrec_job import (
    BATCH,
    DIM,
    ROWS,
    STEPS,
    features,
    joined,
    of_page,
    sharded,
    trained,
)


def scenario():
    of_some = {"interval": "8 s", "fraction": 0.25}
    return cprsim.Scenario(
        job={"useful_time": f"{STEPS} s", "samples": STEPS * BATCH * 2},
        model={"tables": [{"rows": rows, "dim": DIM} for rows in ROWS]},
        cluster={"parameter_servers": 2, "trainers": 2},
        costs={"save": "1 s", "load": "1 s", "reschedule": "1 s"},
        failures={"exactly": 1},
        policies={
            "mfu": {"system": "cpr-mfu", **of_some},
            "scar": {"system": "cpr-scar", **of_some},
            "delta": {"system": "delta", "interval": "2 s", "snapshot": "0 s", "tracking": 0.0},
        },
    )


class Sizes(HooksObserver):
    """Which saves had all rows."""

    def __init__(self):
        self.whole = []

    def saved(self, save):
        self.whole.append(save.whole)


def main(rank, port, folder, policy, stop):
    joined(rank, port)
    model = sharded("table_wise")
    top, ebc = model.module.top, model.module.ebc
    optimizer = torch.optim.Adagrad(top.parameters(), lr=0.05)
    of_page("torchrec_adapter")
    adapter = of_page("torchrec_tracked").TrackedAdapter(
        model, ebc, {"top": top, "adagrad": optimizer}, rank
    )
    sizes, right = Sizes(), []
    hooks = TrainerHooks(
        scenario(), policy, adapter, folder / str(rank), STEPS, ProcessGroup(), observers=[sizes]
    )
    asked = adapter.lookups

    def compared(batch):
        """Its rows are those that any rank has looked up in this step."""
        named = asked(batch)
        for table, ids in named.items():
            used = [features(hooks.step, each)[f"f{table}"].values() for each in range(2)]
            right.append(torch.equal(ids.sort().values, torch.cat(used).unique()))
        return named

    adapter.lookups = compared
    first = hooks.restore()
    for step in range(first, STEPS):
        if step + 1 == stop:
            hooks._saves.settle()
            dist.barrier()
            os.kill(os.getpid(), signal.SIGKILL)
        trained(model, optimizer, step, rank)
        hooks.after_step(None)
    rows = [
        each.detach() for part in adapter.shards()[rank] for each in (part.weights, *part.state)
    ]
    some = not all(sizes.whole)
    sys.stdout.write(f"{first} {all(right)} {some} {digest([*rows, *top.parameters()])}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    leave()
