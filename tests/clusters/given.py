"""Clusters for tests, of jobs whose costs are easy to work out by hand."""

from pathlib import Path
from typing import Any

import tomli_w

from cprsim.clusters.jobs import jobs_of
from cprsim.clusters.play import PlayedCluster, play
from cprsim.clusters.spec import ClusterSpec, load_cluster
from cprsim.sim.engine import COLUMNS

#: A job of one node that saves 60 GB every hour, at 1 GB/s at most: 60 s.
JOB: dict[str, Any] = {
    "job": {"useful_time": "10 h"},
    "model": {"embedding": "60 GB"},
    "cluster": {"parameter_servers": 1},
    "storage": {"write": "1 GB/s", "read": "1 GB/s"},
    "failures": {"exactly": 0},
    "policies": {"full": {"system": "full", "interval": "1 h"}},
}


def cluster_of(folder: Path, jobs: list[dict[str, Any]], **tables: Any) -> ClusterSpec:
    """A cluster of jobs of `JOB`, each with other values by dotted key in `set`."""
    (folder / "job.toml").write_text(tomli_w.dumps(JOB))
    entries = [
        {"name": f"job{i}", "scenario": "job.toml", "policy": "full"} | job
        for i, job in enumerate(jobs)
    ]
    mapping = {"cluster": {"nodes": 1000}, "jobs": entries} | tables
    path = folder / "cluster.toml"
    path.write_text(tomli_w.dumps(mapping))
    return load_cluster(path)


def played(spec: ClusterSpec, replication: int = 0, *, alone: bool = False) -> PlayedCluster:
    """A replication of a cluster, at seed 0."""
    return play(spec, jobs_of(spec), 0, replication, alone=alone)


def told(found: PlayedCluster, measure: str) -> list[float]:
    """A column of the ledgers of all jobs, in their order."""
    return [job.row[COLUMNS.index(measure)] for job in found.jobs if job.row is not None]
