"""What the columns of a table of jobs are called, and how one is known."""

from typing import Final

from cprsim.basics.tabular import header_cells
from cprsim.failures.logs.columns import Columns, known_by

#: By what names columns go; small and capital letters are alike, and so are blanks, `-` and `_`.
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "job": ("jobid", "job_id", "jobidraw", "job", "slurm_job_id"),
    "state": ("state", "job_state", "status", "exit_state", "final_state"),
    "nodes": (
        *("nnodes", "num_nodes", "n_nodes", "node_num", "nodes", "node_count", "allocnodes"),
        *("alloc_nodes", "nodes_alloc"),
    ),
    "elapsed": (
        *("elapsedraw", "elapsed", "elapsed_s", "duration", "duration_s", "runtime", "run_time"),
        *("run_time_s", "wall_time"),
    ),
    "start": ("start", "start_time", "started", "started_at"),
    "end": ("end", "end_time", "ended", "ended_at", "finished_at"),
}


def are_jobs(header: str) -> bool:
    """Return whether the header of a table is that of a table of jobs, and not of nodes."""
    names = header_cells(header)
    found = columns_of(names)
    return "job" in found and not missing_of(found) and "node" not in Columns().found(names)


def missing_of(found: dict[str, str]) -> str:
    """Say what a table of jobs needs and this one lacks; empty if it has all."""
    for column in ("state", "nodes"):
        if column not in found:
            return f"has no column of {column}, such as {COLUMNS[column][0]}"
    if "elapsed" in found or {"start", "end"} <= found.keys():
        return ""
    return "has no column elapsed, nor start and end"


def columns_of(names: list[str]) -> dict[str, str]:
    """The name in the header of each column that is known."""
    return known_by(names, COLUMNS)
