"""Jobs of loops with hooks, the loops without them, and what they have learned."""

import hashlib

from torch.distributed.tensor import DTensor

import cprsim


def job_of(steps, rows, dim, shards=2, trainers=1, batch=1, **policies):
    """Steps of a second on tables of so many rows; a save, a load and a replacement take one."""
    return cprsim.Scenario(
        job={"useful_time": f"{steps} s", "samples": steps * batch},
        model={"tables": [{"rows": each, "dim": dim} for each in rows]},
        cluster={"parameter_servers": shards, "trainers": trainers},
        costs=dict.fromkeys(("save", "load", "reschedule"), "1 s"),
        failures={"exactly": 1},
        policies=policies,
    )


class NoHooks:
    """The loop by itself."""

    def restore(self):
        return 0

    def after_step(self, batch):
        pass


def digest(tensors):
    """Of what this process has of them."""
    found = hashlib.sha256()
    for each in tensors:
        mine = each.to_local() if isinstance(each, DTensor) else each
        found.update(mine.detach().numpy().tobytes())
    return found.hexdigest()[:16]
