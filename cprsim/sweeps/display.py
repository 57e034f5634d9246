"""The table of a sweep for a terminal: a row a point, a column a policy."""

import math
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table

from cprsim.sweeps.stored import Sweep

_MOST_ROWS = 40


def sweep_table(sweep: Sweep) -> Group:
    """Mean overhead of every policy at each point in percent, with its 95 % interval."""
    definition = sweep.definition
    rows: dict[int, dict[str, dict[Any, Any]]] = {}
    row: dict[Any, Any]
    for row in sweep.table.to_dict("records"):
        rows.setdefault(row["point"], {})[row["policy"]] = row
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("point", *definition["keys"]):
        table.add_column(heading, justify="right")
    for policy in definition["policies"]:
        table.add_column(f"{policy},\n% overhead", justify="right")
    for point in sweep.points[:_MOST_ROWS]:
        cells = [_overhead(row) for row in rows.get(point.number, {}).values()]
        table.add_row(str(point.number), *map(str, point.values.values()), *cells)
    left = len(sweep.points) - _MOST_ROWS
    more = f"... and {left:,} points more: " if left > 0 else ""
    head = (
        f"{definition['title'] or 'cprsim sweep'}\n{len(sweep.points):,} points, {_counts(sweep)}"
    )
    return Group(head, table, f"{more}cprsim export {sweep.folder} --format csv")


def _overhead(row: dict[Any, Any]) -> str:
    if row["error"]:
        return "failed"
    mean, half = 100 * row["overhead"], 100 * (row["overhead_high"] - row["overhead"])
    return f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f} ±{half:.2g}"


def _counts(sweep: Sweep) -> str:
    counts = sweep.table["replications"].dropna()
    if counts.empty:
        return "no replications"
    least, most = counts.min(), counts.max()
    each = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{each} replications, seed {sweep.definition['seed']}; ± 95 % of the mean"
