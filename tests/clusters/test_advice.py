"""Settings of all jobs together: what is tried, and jobs that do not end under one of them."""

import pytest

from cprsim.clusters.advice import _candidates, _intervals, advise_cluster
from cprsim.clusters.run import run_cluster
from tests.clusters.given import cluster_of

HOUR = 3600.0


def _fails(mean, interval):
    law = {"distribution": "exponential", "mean": mean}
    job = {"job.useful_time": "2 d", "storage.write": "0.5 GB/s", "failures": law}
    return {"set": job | {"policies.full.interval": interval}}


@pytest.mark.slow
def test_a_setting_under_which_a_job_never_ends_is_not_the_best(tmp_path):
    # Twice the interval is better for the second job, and under it the first never ends.
    jobs = [_fails("2 h", "3 h"), _fails("400 h", "40 min")]
    advice = advise_cluster(cluster_of(tmp_path, jobs, cluster={"nodes": 8, "until": "7 d"}))
    costs = {each.words: each.mean for each in advice.settings}
    assert advice.best.words != "all intervals times 2"
    assert costs["all intervals times 2"] > costs["as given"]


TWINS = {"system": "twin-groups", "every": "5 min", "sync": "1 s", "interval": "6 h"}
PEERS = {"system": "peer-memory", "iteration": "1 s", "interval": "6 h"}
CPR = {"system": "cpr-vanilla", "target_pls": 0.02}


@pytest.mark.parametrize(
    ("policy", "interval_s"),
    [(TWINS, 6 * HOUR), (PEERS, 6 * HOUR), (CPR, None), (CPR | {"interval": "2 h"}, 2 * HOUR)],
)
def test_intervals_are_those_of_saves_that_no_target_sets(tmp_path, policy, interval_s):
    law = {"distribution": "exponential", "mean": "12 h"}
    own = {"cluster.parameter_servers": 4, "failures": law, "policies.full": policy}
    spec = cluster_of(tmp_path, [{"set": own}])
    given = run_cluster(spec, alone=False)
    assert _intervals(given) == ({} if interval_s is None else {"job0": interval_s})
    scaled = [values for words, values in _candidates(spec, given) if "times 2" in words]
    assert [each["jobs.job0.set"]["policies.full.interval"] for each in scaled] == (
        [] if interval_s is None else [f"{2 * interval_s:g} s"]
    )
