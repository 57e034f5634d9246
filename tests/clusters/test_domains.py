"""Racks and pods that fail, beside failures of the jobs' own."""

from itertools import pairwise

import numpy as np
import pytest

from cprsim.clusters.domains import DomainFailures
from tests.clusters.given import cluster_of, played, told

HOUR = 3600.0


def test_a_pod_takes_the_jobs_that_have_nodes_there_until_it_is_back(tmp_path):
    job = {"nodes": 4, "set": {"cluster.parameter_servers": 2, "cluster.trainers": 2}}
    spec = cluster_of(
        tmp_path,
        [job | {"name": each} for each in "ab"],
        cluster={"pods": 2, "racks": 2, "nodes": 2},
        failures={"events": [{"at": "90 min", "lasts": "2 h", "pod": 1}]},
    )
    found = played(spec)
    assert [names for _, names in found.shocks] == [["b"]]
    assert told(found, "failures") == [0, 1]
    assert told(found, "reschedule") == [0.0, 2 * HOUR]


def test_spare_machines_take_their_places(tmp_path):
    spec = cluster_of(
        tmp_path,
        [{}],
        cluster={"nodes": 1, "spares": 1, "repair": "9 h"},
        failures={
            "events": [
                {"at": "90 min", "lasts": "2 h", "rack": 0},
                {"at": "120 min", "lasts": "5 h", "rack": 0},
            ]
        },
    )
    # The spare comes at once; for the second failure the first machine is back after two hours.
    assert told(played(spec), "reschedule") == [1.5 * HOUR]


def test_a_shock_stops_the_clock_of_the_jobs_own_failures(tmp_path):
    own = {"failures": {"distribution": "deterministic", "mean": "3 h", "ages": "new"}}
    events = [{"at": "1 h", "lasts": "1 h", "rack": 0}]
    calm = played(cluster_of(tmp_path, [{"set": own}]))
    struck = played(cluster_of(tmp_path, [{"set": own}], failures={"events": events}))
    first = calm.jobs[0].watch.failures[0]
    assert first == 3 * HOUR
    # While it waits for the rack the clock stands still; while it loads it can fail again.
    assert struck.jobs[0].watch.failures[:2] == [HOUR, 4 * HOUR]


def test_a_job_waits_for_its_rack_and_for_the_repairs_of_its_own_causes(tmp_path):
    cause = {"name": "any", "share": 1.0, "repair": "20 min"}
    own = {"distribution": "deterministic", "mean": "3 h", "ages": "new", "causes": [cause]}
    events = [{"at": "1 h", "lasts": "1 h", "rack": 0}]
    spec = cluster_of(tmp_path, [{"set": {"failures": own}}], failures={"events": events})
    found = played(spec)
    (failures,) = told(found, "failures")
    assert failures > 1
    assert told(found, "reschedule") == [pytest.approx(HOUR + (failures - 1) * HOUR / 3)]


def test_a_rack_is_noticed_as_the_job_says_not_as_its_causes_do(tmp_path):
    cause = {"name": "any", "share": 1.0, "detect": "10 min"}
    own = {"distribution": "deterministic", "mean": "3 h", "ages": "new", "causes": [cause]}
    events = [{"at": "1 h", "lasts": "1 h", "rack": 0}]
    changes = {"failures": own, "costs.detect": "5 s"}
    spec = cluster_of(tmp_path, [{"set": changes}], failures={"events": events})
    found = played(spec)
    (failures,) = told(found, "failures")
    assert failures > 1
    assert told(found, "detect") == [pytest.approx(5 + (failures - 1) * 600)]


def test_racks_and_pods_fail_as_poisson_processes(tmp_path):
    spec = cluster_of(
        tmp_path,
        [{}],
        cluster={"pods": 4, "racks": 5, "nodes": 2},
        failures={
            "rack": {"every": "100 d", "lasts": "1 h"},
            "pod": {"every": "50 d", "lasts": {"distribution": "exponential", "mean": "1 h"}},
        },
    )
    shocks = DomainFailures(spec, 0, 0)
    known = [shocks[i] for i in range(6000)]
    span_s = known[-1].at_s
    for what, count, every_d in (("rack", 20, 100), ("pod", 4, 50)):
        own = [each for each in known if each.what.startswith(what)]
        expected = span_s / 86400 * count / every_d
        assert len(own) == pytest.approx(expected, abs=4 * np.sqrt(expected))
        assert {each.what for each in own} == {f"{what} {i}" for i in range(count)}
    assert all(a.at_s <= b.at_s for a, b in pairwise(known))


def test_a_job_that_comes_later_is_not_struck_by_what_was_before(tmp_path):
    spec = cluster_of(
        tmp_path,
        [{"arrives": "5 h"}],
        cluster={"nodes": 1},
        failures={"events": [{"at": "1 h", "lasts": "1 h", "rack": 0}]},
    )
    found = played(spec)
    assert told(found, "failures") == [0]
    assert told(found, "absorbed") == [0]
