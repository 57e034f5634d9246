"""Jobs of a table, their sizes, and a week of the Philly trace under failures."""

from pathlib import Path

import pytest

from cprsim.clusters.jobs import jobs_of
from cprsim.clusters.run import run_cluster
from cprsim.clusters.spec import load_cluster
from cprsim.failures.hits import Hits
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


def _sized(folder, nodes, changes):
    """A job of a scenario with 8 servers and 8 trainers, on other nodes."""
    own = {"cluster.parameter_servers": 8, "cluster.trainers": 8} | changes
    (job,) = jobs_of(cluster_of(folder, [{"nodes": nodes, "set": own}]))
    return job.scenario


def test_rows_of_tables_and_durations_of_a_law_change_in_proportion(tmp_path):
    tables = [{"rows": 1000, "dim": 16}, {"rows": 3, "dim": 16}]
    law = {"distribution": "empirical", "durations": ["1 h", "3 h"], "silent": {"mean": "10 h"}}
    law["notice"] = {"lead": "1 min", "false_alarms": "1 / 20 h"}
    for nodes, rows, mtbf_h in ((64, [4000, 12], 0.5), (1, [62, 1], 32.0)):
        scenario = _sized(tmp_path, nodes, {"model": {"tables": tables}, "failures": law})
        assert [each.rows for each in scenario.model.tables] == rows
        assert scenario.failure_model.mtbf_s == pytest.approx(mtbf_h * 3600)
        assert scenario.failure_model.silent_mtbf_s == pytest.approx(5 * mtbf_h * 3600)
        assert scenario.failures.notice.false_alarm_every_s == pytest.approx(10 * mtbf_h * 3600)


def test_lives_of_nodes_leave_what_else_a_job_says_of_its_failures(tmp_path):
    own = {"distribution": "exponential", "mean": "10 h", "hits": {"parameter_servers": "100%"}}
    own |= {"silent": {"mean": "20 h"}, "severity": {"process": 1.0}, "notice": {"lead": "1 min"}}
    own |= {"during_recovery": False, "while_waiting": False}
    law = {"distribution": "exponential", "mean": "500 d"}
    causes = [{"name": "any", "share": 1.0}]
    for lives in (law, law | {"causes": causes}, law | {"during_recovery": True}):
        jobs = [{"nodes": 4, "set": {"failures": own}}]
        (job,) = jobs_of(cluster_of(tmp_path, jobs, failures={"node": lives}))
        found = job.scenario.failures
        assert (found.per, found.mean_s, found.hits) == ("node", 500 * 86_400, Hits())
        assert found.silent is not None
        assert found.silent.mean_s == pytest.approx(20 * 3600 / 4)  # of four nodes in place of one
        assert found.notice is not None
        assert (found.notice.lead_s, found.while_waiting) == (60, False)
        assert found.during_recovery == ("during_recovery" in lives)
        assert (found.severity is None) == ("causes" in lives)


@pytest.mark.parametrize(
    ("nodes", "hits", "mean_hit"),
    [
        (32, {"weights": {"parameter_servers": 1, "trainers": 3}}, (0.25, 0.75)),
        (1, {"weights": {"parameter_servers": 1, "trainers": 3}}, (1, 0)),
        (
            32,
            {"parameter_servers": 2, "weights": {"parameter_servers": 1, "trainers": 1}},
            (1, 0.5),
        ),
        (32, {"parameter_servers": "50%"}, (8, 0)),
        (4, {"parameter_servers": 4, "trainers": 1}, (2, 1)),
        (4, {"parameter_servers": 0, "trainers": 3}, (0, 2)),
    ],
)
@pytest.mark.parametrize("of_a_cause", [False, True])
def test_who_fails_stays_as_far_as_there_are_nodes(tmp_path, nodes, hits, mean_hit, of_a_cause):
    cause = {"name": "any", "share": 1.0, "hits": hits}
    law = {"distribution": "exponential", "mean": "12 h"}
    law |= {"causes": [cause]} if of_a_cause else {"hits": hits}
    found = _sized(tmp_path, nodes, {"failures": law}).failure_model.mean_hit
    assert (found.servers, found.trainers) == mean_hit


def test_a_preset_grows_by_the_rows_of_its_tables(tmp_path):
    model = {"model": {"preset": "criteo-kaggle"}}
    own = _sized(tmp_path, 16, model).model
    twice = _sized(tmp_path, 32, model).model

    assert own.preset == "criteo-kaggle"
    assert twice.shard_bytes == 2 * own.shard_bytes
    assert (twice.dense_bytes, twice.tracked_tables) == (own.dense_bytes, 7)
    assert [each.skew for each in twice.tables] == [each.skew for each in own.each_table]


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
