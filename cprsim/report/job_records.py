"""The table of interruptions of jobs, by their size."""

from typing import TYPE_CHECKING

from rich.console import Group

from cprsim.basics.units import counted
from cprsim.report.terminal import Fitting, plain_table

if TYPE_CHECKING:
    from cprsim.failures.logs.job_records import JobRecords


def jobs_table(found: "JobRecords") -> Group:
    """A row a range of sizes: jobs, node-hours, interruptions, and their rate with its interval."""
    rows = []
    for row in found.by_nodes.to_dict("records"):
        least, most = int(row["least"]), int(row["most"])
        cells = (
            f"{least:,}" if least == most else f"{least:,} to {most:,}",
            f"{row['jobs']:,}",
            f"{row['node_hours']:,.0f}",
            f"{row['interruptions']:,}",
            f"{row['per_1000_node_hours']:.3g}",
            f"{row['low']:.3g} to {row['high']:.3g}",
        )
        rows.append(cells)
    headings = ("nodes", "jobs", "node-hours", "interrupted", "per 1,000\nnode-hours", "")
    head = (
        f"{found.path}\n{counted(len(found.jobs), 'job')}, {found.node_hours:,.0f} node-hours, "
        f"{counted(found.interruptions, 'interruption')}; intervals are 95 %"
    )
    return Group(head, Fitting(plain_table(None, headings, rows, names=0)))
