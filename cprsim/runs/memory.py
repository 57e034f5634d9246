"""Memory that plans need on each machine, in bytes.

Rows with their optimizer state and the copies that a policy keeps of them are counted. The
operating system, activations and buffers of the program are not: `cluster.memory` is the memory
that is left for the rows.
"""

from cprsim.basics.units import BYTES, format_bytes, format_exact
from cprsim.contract.actions import Loss, Recover
from cprsim.contract.answers import Always
from cprsim.contract.plan import Plan
from cprsim.job.costs import CostModel
from cprsim.job.workload import Model

#: No saves and no copies: the memory of the model itself.
_PLAIN = Plan("full", (), Always(Recover("all")))


def extra_bytes(plan: Plan, model: Model) -> float:
    """Return the memory that a policy takes on top of the rows, all servers together, B."""
    if plan.tracking is not None and model.rows is not None:
        return plan.memory_overhead * model.rows.tracked_row_bytes
    return plan.memory_overhead * model.shard_bytes


def server_bytes(plan: Plan, model: Model, servers: int) -> float:
    """Return the memory that a plan needs on each parameter server, B, at its peak.

    That is while the others serve for as many lost servers as they can.
    """
    left = servers
    while left > 1 and plan.recover(_lost(servers - left + 1)).regrow is not None:
        left -= 1
    return (model.shard_bytes + extra_bytes(plan, model)) / left


def memory_fault(plan: Plan, costs: CostModel) -> str | None:
    """Return by what a plan exceeds the memory of the cluster, or None where the plan fits."""
    model, cluster = costs.model, costs.cluster
    if model is None:
        return None
    if cluster.memory is not None:
        needed = server_bytes(plan, model, cluster.parameter_servers)
        if needed > cluster.memory:
            return _exceeds(needed, "parameter server", cluster.memory)
    if cluster.trainer_memory is not None and model.dense_bytes > cluster.trainer_memory:
        return _exceeds(model.dense_bytes, "trainer", cluster.trainer_memory)
    return None


def model_fault(costs: CostModel) -> str | None:
    """Return by what the model without any policy exceeds the memory, or None where it fits."""
    return memory_fault(_PLAIN, costs)


def _lost(servers: int) -> Loss:
    return Loss(frozenset(range(servers)), frozenset())


def _exceeds(needed: float, machine: str, has: float) -> str:
    needs, limit = format_bytes(needed), format_bytes(has)
    if needs == limit:  # three digits do not show the difference
        needs, limit = format_exact(needed, BYTES), format_exact(has, BYTES)
    return f"needs {needs} on each {machine}, which has {limit}"
