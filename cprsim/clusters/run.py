"""Run a cluster: replications, in this process or in several."""

from contextlib import closing
from functools import partial
from pathlib import Path

from cprsim.clusters.jobs import jobs_of
from cprsim.clusters.play import play
from cprsim.clusters.result import ClusterResult
from cprsim.clusters.spec import ClusterSpec, load_cluster
from cprsim.runs.runner import Progress, check_arguments, map_tasks, updating


def run_cluster(
    cluster: ClusterSpec | str | Path,
    replications: int = 1,
    seed: int = 0,
    workers: int = 1,
    *,
    alone: bool = True,
    progress: Progress | None = None,
) -> ClusterResult:
    """Play a cluster's jobs together, so many times.

    `cluster`: a cluster, or the path of its file. `replications`: how often, each with other draws;
    what one is depends on the seed and its number alone. `seed`: of all random streams. `workers`:
    processes; the result is the same with any number of them. `alone`: whether each job is played
    once more with the cluster to itself, which gives the cost of sharing and takes as long again.
    `progress`: called with the number of replications done and their number in all.

    Returns
    -------
    ClusterResult
        Tables of jobs, links and times in which these were crowded.

    Raises
    ------
    ScenarioError
        For a cluster or a scenario that is wrong.
    UsageError
        For arguments that make no sense.

    Examples
    --------
    >>> from cprsim.basics.shipped import shipped
    >>> file = shipped("clusters/lost-pod.toml")
    >>> result = cprsim.run_cluster(file, alone=False)
    >>> len(result.jobs)
    16
    """
    spec = cluster if isinstance(cluster, ClusterSpec) else load_cluster(cluster)
    check_arguments(replications, seed, workers)
    jobs = jobs_of(spec)
    task = partial(play, spec, jobs, seed, alone=alone)
    with closing(map_tasks(task, range(replications), workers)) as results:
        found = [played for _, played in updating(progress, replications, results)]
    return ClusterResult(spec, seed, found, alone)
