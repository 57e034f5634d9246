"""Asynchronous checkpoints: CheckFreq's rule."""

from cprsim.scenario import Scenario
from cprsim.sim.engine import play, simulate
from tests.policies.by_hand import JOB, job_of, log_of

JOB_COSTS = JOB | {"costs": {"save": "10 s", "load": "16 s", "reschedule": "50 s"}}
RULE = {"system": "async", "interval": "checkfreq", "iteration": "1 s", "snapshot": "2 s"}


def test_time_with_a_failure_in_it_is_not_measured(tmp_path):
    # 20 % is allowed; with a failure's 66 s and more the interval would grow.
    fixed = {"system": "async", "interval": "10 s", "snapshot": "2 s"}
    policies = {"p": RULE | {"max_overhead": 0.2}, "fixed": fixed}
    log = {"failures": log_of(tmp_path, "5,0 90,1 300,0 301,0 700,3")}
    found = simulate(Scenario(**JOB_COSTS | log, policies=policies), [*policies], range(20), 6)

    assert found[:, 0].tobytes() == found[:, 1].tobytes()


def test_a_slowdown_by_the_write_counts_as_overhead():
    # Copy-on-write, but save and training share the server's card: each gets half of its 1 GB/s,
    # and training could do with 0.8.
    tables = {
        "job": {"useful_time": "1000 s", "network": "800 MB/s"},
        "cluster": {"parameter_servers": 1, "nic": "1 GB/s"},
        "model": {"embedding": "40 GB"},
        "storage": {"write": "2 GB/s", "read": "2 GB/s"},
        "costs": {},
    }
    rule = RULE | {"snapshot": "0 s", "max_overhead": 0.01}
    fixed = {"system": "async", "interval": "40 s"}
    one, other = (play(job_of(policy, **tables), "p", 0, 0) for policy in (rule, fixed))

    assert one.saves < other.saves
    assert 0 < one.slowdown < other.slowdown
