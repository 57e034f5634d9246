"""The table of interruptions of jobs, by their size."""

from typing import TYPE_CHECKING

from rich.console import Group

from cprsim.basics.units import counted
from cprsim.report.terminal import Column, Fitting, plain_table

if TYPE_CHECKING:
    from cprsim.failures.logs.job_records import JobRecords


def jobs_table(found: "JobRecords") -> Group:
    """A row a range of sizes: jobs, node-hours, interruptions, and their rate with its interval."""
    rows = found.by_nodes
    sizes = zip(rows["least"].astype(int), rows["most"].astype(int), strict=True)
    columns: list[Column] = [
        ("nodes", (f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in sizes)),
        ("jobs", rows["jobs"].map("{:,}".format)),
        ("node-hours", rows["node_hours"].map("{:,.0f}".format)),
        ("interrupted", rows["interruptions"].map("{:,}".format)),
        ("per 1,000\nnode-hours", rows["per_1000_node_hours"].map("{:.3g}".format)),
        ("", map("{:.3g} to {:.3g}".format, rows["low"], rows["high"])),
    ]
    head = (
        f"{found.path}\n{counted(len(found.jobs), 'job')}, {found.node_hours:,.0f} node-hours, "
        f"{counted(found.interruptions, 'interruption')}; intervals are 95 %"
    )
    return Group(head, Fitting(plain_table(None, columns, names=0)))
