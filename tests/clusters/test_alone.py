"""A job by itself in a cluster is today's run, and jobs that share nothing are runs each."""

import pytest

import cprsim
from cprsim.basics.shipped import names
from cprsim.clusters.jobs import jobs_of
from cprsim.clusters.play import play
from cprsim.sim.engine import simulate
from tests.clusters.given import cluster_of

#: Shipped scenarios whose values are drawn, or that name logs by a path of their folder.
_FLEETS = {"production-fleet"}
_PAIRS = [
    (name, policy)
    for name in names()
    if name not in _FLEETS
    for policy in cprsim.load_scenario(name).policies
]


@pytest.mark.parametrize(("scenario", "policy"), _PAIRS)
def test_a_job_alone_is_a_run_to_the_bit(tmp_path, scenario, policy):
    loaded = cprsim.load_scenario(scenario)
    nodes = loaded.cluster.parameter_servers + loaded.cluster.trainers
    entry = {"scenario": scenario, "policy": policy}
    spec = cluster_of(tmp_path, [entry], cluster={"nodes": nodes})
    (job,) = play(spec, jobs_of(spec), 0, 1, alone=True).jobs
    expected = simulate(loaded, [policy], [1], 0)[0, 0].tolist()
    assert job.row == expected
    assert job.alone == expected


def test_jobs_that_share_nothing_are_runs_of_their_own(tmp_path):
    entry = {"scenario": "quickstart", "policy": "cpr", "count": 5, "every": "3 h"}
    spec = cluster_of(tmp_path, [entry])
    found = play(spec, jobs_of(spec), 0, 2, alone=False)
    expected = simulate(cprsim.load_scenario("quickstart"), ["cpr"], range(10, 15), 0)[:, 0]
    for job, row in zip(found.jobs, expected.tolist(), strict=True):
        # Own time counts from another start: sums of the wall clock of the cluster are rounded.
        assert job.row == row
    assert [job.had[0][0] for job in found.jobs] == [3600 * 3.0 * i for i in range(5)]
