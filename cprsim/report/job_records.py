"""The table of interruptions of jobs, by their size."""

from typing import TYPE_CHECKING

from rich.console import Group

from cprsim.basics.units import counted
from cprsim.report.terminal import Fitting, plain_table

if TYPE_CHECKING:
    from cprsim.failures.logs.job_records import JobRecords


def jobs_table(found: "JobRecords") -> Group:
    """A row a range of sizes: jobs, node-hours, interruptions, and their rate with its interval."""
    table = plain_table()
    for heading in ("nodes", "jobs", "node-hours", "interrupted", "per 1,000\nnode-hours", ""):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for row in found.by_nodes.to_dict("records"):
        least, most = int(row["least"]), int(row["most"])
        table.add_row(
            f"{least:,}" if least == most else f"{least:,} to {most:,}",
            f"{row['jobs']:,}",
            f"{row['node_hours']:,.0f}",
            f"{row['interruptions']:,}",
            f"{row['per_1000_node_hours']:.3g}",
            f"{row['low']:.3g} to {row['high']:.3g}",
        )
    head = (
        f"{found.path}\n{counted(len(found.jobs), 'job')}, {found.node_hours:,.0f} node-hours, "
        f"{counted(found.interruptions, 'interruption')}; intervals are 95 %"
    )
    return Group(head, Fitting(table))
