"""What holds of any cluster: random ones, of all that a cluster file can say."""

import random
from itertools import pairwise
from typing import Any

import pytest

from cprsim.clusters.job_run import ENDED
from cprsim.clusters.play import PlayedCluster
from cprsim.clusters.result import ClusterResult
from cprsim.clusters.spec import ClusterSpec
from cprsim.contract.ledger import OVERHEAD_CAUSES
from tests.clusters.given import cluster_of, played


def _job(rng: random.Random) -> dict[str, Any]:
    nodes = rng.choice([1, 2, 3, 4, 6])
    trainers = rng.choice([0, nodes // 2])
    values: dict[str, Any] = {
        "job.useful_time": f"{rng.randint(2, 30)} h",
        "cluster.parameter_servers": nodes - trainers,
        "cluster.trainers": trainers,
        "cluster.memory_bandwidth": "5 GB/s",
        "policies.full.system": rng.choice(["full", "async", "cpr-vanilla"]),
        "policies.full.interval": f"{rng.randint(20, 90)} min",
        "costs.reschedule": f"{rng.randint(1, 40)} min",
        "costs.detect": "1 min",
    }
    per = rng.choice(["job", "node"])
    mean = f"{rng.randint(9, 40) * (1 if per == 'job' else nodes)} h"
    law = {"distribution": "exponential", "per": per, "mean": mean}
    if rng.random() < 0.7:
        values["failures"] = law
    if rng.random() < 0.3:
        values |= {"costs.start": {"initialise": "3 min"}, "costs.shutdown": "1 min"}
    if rng.random() < 0.3:
        values["job.allocation"] = f"{rng.randint(3, 9)} h"
    if rng.random() < 0.3:
        values["failures"] = law | {"notice": {"lead": "15 min", "recall": 0.9}}
        values["policies.full.on_notice"] = "save"
    return {
        "set": values,
        "priority": rng.randint(0, 3),
        "arrives": f"{rng.randint(0, 600)} min",
        "limit": f"{rng.randint(1, 60)} h",
    }


def _tables(rng: random.Random) -> dict[str, dict[str, Any]]:
    core, rates = f"{rng.uniform(1, 3):.2f} GB/s", {}
    for key in ("write", "read"):
        rates[key] = f"{rng.uniform(0.2, 2):.2f} GB/s"
    tables: dict[str, dict[str, Any]] = {
        "cluster": {"nodes": rng.randint(3, 4), "racks": 2, "core": core},
        "store": {**rates, "stagger": rng.random() < 0.5},
        "scheduler": {
            "order": "priority",
            "preempt": rng.random() < 0.8,
            "notice": f"{rng.randint(1, 60)} min",
            "backfill": rng.random() < 0.5,
            "placement": rng.choice(["pack", "spread"]),
        },
    }
    tables["store"]["loads"] = rng.choice(["alike", "by priority"])
    if rng.random() < 0.5:
        tables["cluster"] |= {"spares": rng.randint(1, 3), "repair": "5 h"}
    if rng.random() < 0.5:
        tables["store"]["saves_at_once"] = rng.randint(1, 2)
    if rng.random() < 0.3:
        tables["store"]["outages"] = {"every": "20 h", "lasts": "1 h"}
    if rng.random() < 0.7:
        rack = {"every": f"{rng.randint(10, 60)} h", "lasts": f"{rng.randint(10, 200)} min"}
        tables["failures"] = {"rack": rack}
    return tables


def _check(spec: ClusterSpec, found: PlayedCluster) -> None:
    changes = []
    for job in found.jobs:
        assert job.state == ENDED
        spans = [each for had in job.had for each in had]
        assert all(a <= b for a, b in pairwise(spans))
        assert sum(b - a for a, b in job.had) >= job.useful_s - 1e-3
        changes += [change for a, b in job.had for change in ((a, job.nodes), (b, -job.nodes))]
    taken = 0
    for _, nodes in sorted(changes):
        taken += nodes
        assert taken <= spec.cluster.all_nodes
    table = ClusterResult(spec, 0, [found], with_alone=False).jobs
    assert (table[list(OVERHEAD_CAUSES)] > -1e-6).all(axis=None)
    # What a job takes with its nodes is its training and its overhead by cause, and nothing else.
    causes_s = table[list(OVERHEAD_CAUSES)].sum(axis=1)
    assert causes_s.tolist() == pytest.approx((table["overhead"] * table["useful_s"]).tolist())
    assert (table["waiting_s"] >= 0).all()


@pytest.mark.parametrize(
    "seeds", [range(25), pytest.param(range(25, 500), marks=pytest.mark.nightly)]
)
def test_any_cluster_ends_and_its_times_add_up(tmp_path, seeds):
    for seed in seeds:
        rng = random.Random(seed)
        jobs = [_job(rng) for _ in range(rng.randint(2, 6))]
        spec = cluster_of(tmp_path, jobs, **_tables(rng))
        _check(spec, played(spec))
