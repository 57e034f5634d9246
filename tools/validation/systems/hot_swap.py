"""Hot spares: Erlang's loss formula by simulation, and the published recovery time."""

from functools import cache
from typing import Any, NamedTuple

from cprsim.scenario import Scenario
from tools.validation.formulas import erlang_b
from tools.validation.systems.mean import Mean, played, ratio_of
from tools.validation.systems.row import Row


class Pool(NamedTuple):
    """So many nodes and spares, the failures in one mean repair, and the exact stalled share."""

    nodes: int
    spares: int
    load: float
    stalled: float
    replications: int


POOLS = (
    Pool(100, 2, 1.0, 0.0625, 60),
    Pool(64, 1, 1.6, 0.329897, 20),
    Pool(512, 4, 3.072, 0.116245, 20),
)
#: Both of a mean of 1 h, the unit of time here.
REPAIRS: dict[str, Any] = {
    "deterministic": "1 h",
    "exponential": {"distribution": "exponential", "mean": "1 h"},
}
USEFUL_H = 200


@cache
def stalled_share(pool: Pool, repair: str) -> Mean:
    """Share of the wall clock in which the job waits for a machine."""
    runs = played(
        Scenario(
            job={"useful_time": f"{USEFUL_H} h"},
            cluster={"parameter_servers": pool.nodes},
            costs={"save": "0 s", "load": "0 s", "reschedule": REPAIRS[repair]},
            failures={
                "distribution": "exponential",
                "mean": f"{pool.nodes / pool.load!r} h",
                "per": "node",
            },
            policies={
                "p": {
                    "system": "hot-swap",
                    "spares": pool.spares,
                    "takeover": "0 s",
                    "iteration": "1 ms",  # what is trained again is no part of this
                    "interval": "1000 d",
                }
            },
        ),
        "p",
        pool.replications,
        seed=37,
    )
    return ratio_of(runs["reschedule"], runs["wall"])


def takeover_s() -> float:
    """Return the time for which a failure stops PHOENIX's largest published job, s.

    65e9 parameters with 12 B of optimizer state each on 512 GPUs, 128 nodes of 4 at 4 x 200 Gbit/s
    (Perlmutter); detection is part of the takeover.
    """
    scenario = Scenario(
        job={"useful_time": "10 h"},
        model={"embedding": "780 GB"},
        cluster={"parameter_servers": 128, "nic": "800 Gbit/s"},
        storage={"write": "20 GB/s", "read": "20 GB/s"},
        costs={"reschedule": "10 min"},
        failures={"exactly": 1},
        policies={"p": {"system": "hot-swap", "iteration": "10 s"}},
    )
    runs = played(scenario, "p", 1, 0)
    return float(runs["reschedule"][0] + runs["load"][0])


def rows() -> list[Row]:
    """Every figure of this module."""
    published = Row(
        *("pause for one failure, 65B on 512 A100", "DeadPool/PHOENIX, arXiv 2607.01646", "input"),
        *(40.0, takeover_s(), "s"),
        "the published bound is the takeover; the load of one shard comes on top",
    )
    return [
        published,
        *(
            Row(
                f"stalled, {pool.nodes} nodes, {pool.spares} spares, load {pool.load:g}, "
                f"{repair} repair",
                "Erlang's loss formula, exact",
                "prediction",
                erlang_b(pool.spares + 1, pool.load),
                share.value,
                "share",
                share.told,
            )
            for pool in POOLS
            for repair in REPAIRS
            for share in [stalled_share(pool, repair)]
        ),
    ]
