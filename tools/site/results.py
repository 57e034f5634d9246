"""Columns of `results.csv` and keys of the JSON of a run, from the list that tests hold true."""

from cprsim.reference.columns import POLICY_KEYS, REPLICATIONS, STATISTICS, ColumnMeaning
from cprsim.runs.measures import MEASURES


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
Beside these stand the measures {measures}: each with its statistics.

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
