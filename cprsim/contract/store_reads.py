"""Bytes that failures make a job read from the store, in the mean: no ledger counts them."""

from cprsim.contract import Context, Plan
from cprsim.contract.expected import share_read
from cprsim.contract.failure_kinds import kinds
from cprsim.formulas.attempts import mean_attempts
from cprsim.job.workload import Model


def bytes_read_per_failure(plan: Plan, model: Model, context: Context) -> float:
    """Bytes that one failure makes the job load from the store, the mean over kinds of failure.

    Everything on a return of the whole job, else the shards of the servers that one failure takes
    down; more or less of them where the plan's answer or its checkpoints say so, and as often as
    loads have to be begun again in the mean. As in `expected`, failures are taken one by one: what
    is loaded from the store only after several at once counts as what one of them makes it load.
    """
    total = 0.0
    for kind in kinds(context):
        answer, servers = plan.recover(kind.loss), len(kind.loss.servers)
        tier = plan.tier(answer.source)
        if tier.medium != "store":
            continue
        loaded = model.shard_bytes * servers / context.servers
        if answer.loads == "all":
            loaded = model.checkpoint_bytes
        attempts = mean_attempts(context.costs.load_fails(tier))
        total += kind.share * loaded * share_read(plan, answer) * attempts
    return total
