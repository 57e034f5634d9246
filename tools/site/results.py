"""The columns of `results.csv`, and the keys of the JSON of a run: each in a line."""

from typing import Final, NamedTuple

from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.runs.measures import MEASURES


class ColumnMeaning(NamedTuple):
    """A column: what its numbers are in, and what they say."""

    unit: str
    meaning: str


#: Of `results.csv` and `Result.replications`, a row a policy and replication, in their order.
REPLICATIONS: Final[dict[str, ColumnMeaning]] = {
    "policy": ColumnMeaning("", "The name of the policy in the scenario."),
    "replication": ColumnMeaning("", "Which failure timeline, from 0; the same for all policies."),
    "train_s": ColumnMeaning("s", "Training that counts, at full speed: the useful time."),
    "lost_s": ColumnMeaning("s", "Training that was rolled back and done again."),
    "save_s": ColumnMeaning("s", "Waiting for saves, interrupted ones too."),
    "load_s": ColumnMeaning("s", "Loading checkpoints or copies."),
    "reschedule_s": ColumnMeaning("s", "Waiting for replacements of failed nodes."),
    "detect_s": ColumnMeaning("s", "From failures until they were noticed."),
    "slowdown_s": ColumnMeaning(
        "s", "How much longer than at full speed the training that counts took."
    ),
    "stall_s": ColumnMeaning("s", "Snapshots of background saves, during which training waits."),
    "verify_s": ColumnMeaning("s", "Looking whether what was trained is sound."),
    "start_s": ColumnMeaning(
        "s", "Getting nodes, initialising, compiling, warming up; there with `costs.start` alone."
    ),
    "shutdown_s": ColumnMeaning(
        "s", "Ending, after the last save; there with `costs.shutdown` alone."
    ),
    "wall_s": ColumnMeaning(
        "s", "From the start of the job to its end; the seconds above add up to it."
    ),
    "pls": ColumnMeaning("share", "Portion of lost samples, by (E4) of the CPR paper."),
    "updates_lost": ColumnMeaning(
        "share", "Updates of embedding shards that were made and lost for good."
    ),
    "learning_lost": ColumnMeaning(
        "",
        "Mean over shards of -ln(1 - u), where a shard has lost a share u of its updates for good.",
    ),
    "failures": ColumnMeaning("", "Failures that struck."),
    "absorbed": ColumnMeaning("", "Failures in a downtime, or of drained nodes, at no cost."),
    "saves": ColumnMeaning("", "Checkpoints that became usable."),
    "stored": ColumnMeaning("full checkpoints", "What saves wrote to the remote store."),
    "sent": ColumnMeaning("full checkpoints", "What saves wrote to the memory of peers."),
    "corrupt": ColumnMeaning("", "1 where a silent fault is in what the job ended with."),
    "overhead": ColumnMeaning(
        "share", "What the job took beyond its useful time: wall / useful - 1."
    ),
    "overhead_retrained": ColumnMeaning(
        "share", "The overhead if every lost update were trained again."
    ),
    "ettr": ColumnMeaning("share", "Effective training time ratio, or goodput: useful / wall."),
    "peer_bytes": ColumnMeaning(
        "B", "What servers sent to each other for copies, parities and saves."
    ),
    "store_bytes": ColumnMeaning("B", "What saves wrote to the remote store."),
    "machine_overhead": ColumnMeaning(
        "share", "Overhead in machine time, that of the spares included."
    ),
    "cost": ColumnMeaning(
        "the currency of [prices]", "What it all costs; there with prices alone."
    ),
    "energy_kwh": ColumnMeaning("kWh", "What the machines draw; there with `prices.energy` alone."),
    "carbon_kg": ColumnMeaning("kg", "CO2 of that; there with `prices.carbon` alone."),
}

#: Keys of a policy in the JSON of `run`, other than measures.
POLICY_KEYS: Final[dict[str, ColumnMeaning]] = {
    "system": ColumnMeaning("", "Its system."),
    "engine": ColumnMeaning("", "What played it: `sim` or `batch`."),
    "recovery": ColumnMeaning(
        "", "`full` where a failure takes all back, else `partial` or `none`."
    ),
    "interval_s": ColumnMeaning(
        "s", "Training from one save to the next; null where it never saves."
    ),
    "breakdown": ColumnMeaning(
        "share",
        f"Mean seconds by cause ({', '.join(CAUSE_LABELS)}) over useful "
        "seconds; they add up to the mean overhead.",
    ),
    "memory_overhead": ColumnMeaning(
        "share", "Memory on top of that of the rows, as a share of it."
    ),
    "spares": ColumnMeaning("", "Spare machines."),
    "costs": ColumnMeaning(
        "",
        "Costs of the policy by key: value, unit, basis (given, derived, assumed or unknown), and "
        "what the value follows from.",
    ),
    "note": ColumnMeaning("", "What its plan has to say; there where it says something."),
    "wall_shares": ColumnMeaning(
        "share", "With `--vocabulary`: of the wall clock by its terms; they add up to 1."
    ),
    "predicted_auc_drop": ColumnMeaning("AUC", "With `[accuracy]`: mean, ci95, source and note."),
}

#: Of each measure there: what it is made of, and how the column of a summary ends.
STATISTICS: Final[dict[str, tuple[str, str]]] = {
    "mean": ("", "Mean over the replications."),
    "ci95": ("_low, _high", "95 % confidence interval of that mean; null for one replication."),
    "p50": ("_p50", "Median."),
    "p95": ("_p95", "95th percentile."),
}


def page() -> str:
    """Three tables: a row a column, a row a key, and what a measure is made of."""
    endings = "\n".join(
        f"| `{key}` | {suffixes or 'none'} | {meaning} |"
        for key, (suffixes, meaning) in STATISTICS.items()
    )
    measures = ", ".join(f"`{name}`" for name in MEASURES)
    return f"""## Columns of results.csv

A row a policy and replication; `Result.replications` in Python is the same table.

{_table("column", REPLICATIONS)}
## A policy in the JSON of run

`cprsim run --json` prints `scenario`, `seed`, `replications`, `engine`, `currency` where there are
prices, and `policies`: an object a policy, by its name.

{_table("key", POLICY_KEYS)}
It also has the measures {measures}: each with its statistics.

## Statistics of a measure

In `Result.summary` and in the table of a sweep they are columns, by the name of the measure and
an ending.

| in JSON | ending of the column | what it is |
|---|---|---|
{endings}
"""


def _table(heading: str, rows: dict[str, ColumnMeaning]) -> str:
    lines = [f"| {heading} | in | what it says |", "|---|---|---|"]
    lines += [f"| `{name}` | {row.unit} | {row.meaning} |" for name, row in rows.items()]
    return "\n".join(lines) + "\n"
