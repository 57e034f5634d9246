"""What a policy takes beside time: memory, network, store, and machines that stand ready."""

import math
from collections.abc import Mapping

from cprsim.contract import Plan
from cprsim.scenario import Scenario

#: Columns of a result's summary, and keys of its JSON.
RESOURCES = ("memory_overhead", "peer_bytes", "store_bytes", "spares", "machine_overhead")


def resources(plan: Plan, scenario: Scenario, means: Mapping[str, float]) -> dict[str, float]:
    """Of one policy, from the means over its replications, by the names of their columns.

    `memory_overhead`: as in `Plan`. `peer_bytes`: what servers sent to each other for copies,
    parities and saves, `store_bytes`: what saves wrote to the remote store, bytes in the whole job;
    not a number where the scenario has no `[model]` to tell how much that is. `spares`: machines
    that stand ready. `machine_overhead`: machine time, that of the spares included, over useful
    machine time - 1.
    """
    spares = plan.machines_ready(scenario.cluster.spares)
    nodes = scenario.cluster.parameter_servers + scenario.cluster.trainers
    # What was rolled back was forwarded as well.
    trained_s = scenario.job.useful_time_s + means["lost_s"]
    return {
        "memory_overhead": plan.memory_overhead,
        "peer_bytes": _bytes(means["sent"], scenario) + plan.peer_bytes_per_s * trained_s,
        "store_bytes": _bytes(means["stored"], scenario),
        "spares": spares,
        "machine_overhead": (1 + means["overhead"]) * (1 + spares / nodes) - 1,
    }


def _bytes(checkpoints: float, scenario: Scenario) -> float:
    """Of so many full checkpoints."""
    if checkpoints == 0:
        return 0.0
    return math.nan if scenario.model is None else checkpoints * scenario.model.checkpoint_bytes
