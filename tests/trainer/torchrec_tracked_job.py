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

from cprsim.trainer import HooksObserver, ProcessGroup, TrainerHooks
from tests.trainer.gloo_job import leave
from tests.trainer.jobs import digest
from tests.trainer.torchrec_job import (
    STEPS,
    features,
    joined,
    of_page,
    rows_of,
    scenario,
    sharded,
    trained,
)

OF_SOME = {"interval": "8 s", "fraction": 0.25}
POLICIES = {
    "mfu": {"system": "cpr-mfu", **OF_SOME},
    "scar": {"system": "cpr-scar", **OF_SOME},
    "delta": {"system": "delta", "interval": "2 s", "snapshot": "0 s", "tracking": 0.0},
}


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
    given = scenario(**POLICIES), policy, adapter, folder / str(rank), STEPS, ProcessGroup()
    hooks = TrainerHooks(*given, observers=[sizes])
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
        hooks._saves.settle()  # else the next save waits for it, however busy the machine is
    learned = digest([*rows_of(adapter, rank), *top.parameters()])
    sys.stdout.write(f"{first} {all(right)} {not all(sizes.whole)} {learned}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    leave()
