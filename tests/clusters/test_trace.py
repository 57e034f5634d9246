"""Jobs of a table, their sizes, and a week of the Philly trace under failures."""

from pathlib import Path

import pytest

from cprsim.clusters.jobs import jobs_of
from cprsim.clusters.run import run_cluster
from cprsim.clusters.spec import load_cluster
from tests.clusters.given import cluster_of

PHILLY = Path(__file__).parents[3] / "shared" / "data" / "philly_jobs" / "philly.csv.xz"


def test_rows_become_jobs_of_their_size_and_length(tmp_path):
    rows = ["timestamp,duration,num_gpus", "2017-10-09 07:00:00,7200,4"]
    rows += ["2017-10-09 06:00:00,60,1", "2017-10-09 08:00:00,3600,20"]
    (tmp_path / "jobs.csv").write_text("\n".join(rows))
    trace = {"file": "jobs.csv", "per_node": 8, "shortest": "10 min"}
    spec = cluster_of(tmp_path, [{"scenario": "quickstart", "name": "t", "trace": trace}])
    found = [
        (job.name, job.nodes, job.scenario.job.useful_time_s, job.arrives_s)
        for job in jobs_of(spec)
    ]
    assert found == [("t-1", 1, 7200.0, 3600.0), ("t-2", 3, 3600.0, 7200.0)]


def test_a_job_of_another_size_keeps_the_proportions_of_its_scenario(tmp_path):
    entry = {"scenario": "quickstart", "nodes": 15}
    (job,) = jobs_of(cluster_of(tmp_path, [entry]))
    cluster, scenario = job.scenario.cluster, job.scenario
    assert (cluster.parameter_servers, cluster.trainers) == (5, 10)
    # Half of 1.2 TB; failures of the job half as often as every 20 h.
    assert scenario.model is not None
    assert scenario.model.embedding == pytest.approx(0.6e12)
    assert scenario.failure_model.mtbf_s == pytest.approx(40 * 3600)


@pytest.mark.slow
@pytest.mark.skipif(not PHILLY.exists(), reason="the Philly trace is not here")
def test_a_week_of_philly_runs_under_failures():
    path = Path(__file__).parents[2] / "scenarios" / "clusters" / "philly.toml"
    spec = load_cluster(path, [f"jobs.philly.trace.file={PHILLY}"])
    result = run_cluster(spec, alone=False)
    states = result.jobs["state"].value_counts()
    assert states["ended"] > 1_400
    assert result.jobs["failures"].sum() > 10
    assert result.played[0].shocks
    assert 0 < result.total("overhead")[0] < 0.05
