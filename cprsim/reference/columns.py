"""What the columns of `results.csv` are, and the keys of the JSON of a run: each in a line."""

from typing import Final, NamedTuple

from cprsim.contract.ledger import CAUSE_LABELS


class Column(NamedTuple):
    """A column: what its numbers are in, and what they say."""

    unit: str
    meaning: str


#: Of `results.csv` and `Result.replications`, a row a policy and replication, in their order.
REPLICATIONS: Final[dict[str, Column]] = {
    "policy": Column("", "The name of the policy in the scenario."),
    "replication": Column("", "Which failure timeline, from 0; the same for all policies."),
    "train_s": Column("s", "Training that counts, at full speed: the useful time."),
    "lost_s": Column("s", "Training that was rolled back and done again."),
    "save_s": Column("s", "Waiting for saves, interrupted ones too."),
    "load_s": Column("s", "Loading checkpoints or copies."),
    "reschedule_s": Column("s", "Waiting for replacements of failed nodes."),
    "detect_s": Column("s", "From failures until they were noticed."),
    "slowdown_s": Column("s", "How much longer than at full speed the training that counts took."),
    "stall_s": Column("s", "Snapshots of background saves, which hold training up."),
    "wall_s": Column("s", "From the start of the job to its end; the seconds above add up to it."),
    "pls": Column("share", "Portion of lost samples, by (E4) of the CPR paper."),
    "updates_lost": Column(
        "share", "Updates of embedding shards that were made and lost for good."
    ),
    "failures": Column("", "Failures that struck."),
    "absorbed": Column("", "Failures that fell into a downtime, and cost nothing more."),
    "saves": Column("", "Checkpoints that became usable."),
    "stored": Column("full checkpoints", "What saves wrote to the remote store."),
    "sent": Column("full checkpoints", "What saves wrote to the memory of peers."),
    "overhead": Column("share", "What the job took beyond its useful time: wall / useful - 1."),
    "overhead_retrained": Column("share", "The overhead if every lost update were trained again."),
    "ettr": Column("share", "Effective training time ratio, or goodput: useful / wall."),
    "peer_bytes": Column("B", "What servers sent to each other for copies, parities and saves."),
    "store_bytes": Column("B", "What saves wrote to the remote store."),
    "machine_overhead": Column("share", "Overhead in machine time, that of the spares included."),
    "cost": Column("the currency of [prices]", "What it all costs; there with prices alone."),
    "energy_kwh": Column("kWh", "What the machines draw; there with `prices.energy` alone."),
    "carbon_kg": Column("kg", "CO2 of that; there with `prices.carbon` alone."),
}

#: Of a policy in the JSON of `run`, beside the measures.
POLICY_KEYS: Final[dict[str, Column]] = {
    "system": Column("", "Its system."),
    "engine": Column("", "What played it: `sim` or `batch`."),
    "recovery": Column("", "`full` where a failure takes all back, else `partial` or `none`."),
    "interval_s": Column("s", "Training from one save to the next; null where it never saves."),
    "breakdown": Column(
        "share",
        f"Mean seconds by cause ({', '.join(CAUSE_LABELS)}) over useful "
        "seconds; they add up to the mean overhead.",
    ),
    "memory_overhead": Column("share", "Memory on top of that of the rows, as a share of it."),
    "spares": Column("", "Machines that stand ready."),
    "note": Column("", "What its plan has to say; there where it says something."),
    "predicted_auc_drop": Column("AUC", "With `[accuracy]`: mean, ci95, source and note."),
}

#: Of each measure there: what it is made of, and how the column of a summary ends.
STATISTICS: Final[dict[str, tuple[str, str]]] = {
    "mean": ("", "Mean over the replications."),
    "ci95": ("_low, _high", "95 % confidence interval of that mean; null for one replication."),
    "p50": ("_p50", "Median."),
    "p95": ("_p95", "95th percentile."),
}
