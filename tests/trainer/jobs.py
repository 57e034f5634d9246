"""Jobs of loops with hooks."""

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
