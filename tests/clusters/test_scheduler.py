"""Who gets nodes when, worked out by hand."""

import pytest

from cprsim.clusters.result import ClusterResult
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import ScenarioError
from tests.clusters.given import cluster_of, played, told

HOUR = 3600.0
#: Jobs of one node that save nothing, so that they end on the hour.
HOURS = {"policies.full.interval": "never"}


def _job(nodes: int, hours: int, arrives: int = 0, **more):
    values = {**HOURS, "job.useful_time": f"{hours} h", "model.embedding": "0 B"}
    return {"nodes": nodes, "arrives": f"{arrives} h", "limit": f"{hours} h", "set": values} | more


PREEMPT = {"order": "priority", "preempt": True}


def _saving(**more):
    """A job of one node that saves every hour, which may lose its nodes."""
    return {"set": {"model.embedding": "60 GB"}, **more}


DOWN = {"events": [{"at": "0.5 h", "lasts": "4 h", "rack": 1}]}
#: Jobs, tables of the cluster, and when each job gets nodes, h.
STARTS = {
    # The third fits beside the first, and ends before the second can start.
    "a later job that delays nobody": (
        [_job(6, 5), _job(8, 3, 1), _job(2, 3, 2)],
        {},
        [[0], [5], [2]],
    ),
    "the same without backfill": (
        [_job(6, 5), _job(8, 3, 1), _job(2, 3, 2)],
        {"scheduler": {"backfill": False}},
        [[0], [5], [8]],
    ),
    "a later job that would delay the first": (
        [_job(6, 5), _job(8, 3, 1), _job(2, 4, 2)],
        {},
        [[0], [5], [8]],
    ),
    "the highest priority is first, and takes no nodes": (
        [_job(8, 5), _job(8, 1, 1), _job(8, 1, 2, priority=1)],
        {"scheduler": {"order": "priority"}},
        [[0], [6], [5]],
    ),
    "of jobs that come together the highest priority": (
        [_saving(), _job(1, 1, priority=1)],
        {"cluster": {"nodes": 1}, "scheduler": PREEMPT},
        [[1], [0]],
    ),
    "nodes of a rack that is down are nobody's": (
        [_job(2, 1, 1), _job(2, 1, 1)],
        {"cluster": {"racks": 2, "nodes": 2}, "failures": DOWN},
        [[1], [2]],
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_who_gets_nodes_when(tmp_path, name):
    jobs, tables, starts = STARTS[name]
    found = played(cluster_of(tmp_path, jobs, **{"cluster": {"nodes": 8}} | tables))

    assert [[had[0] / HOUR for had in job.had] for job in found.jobs] == starts


def test_a_job_gives_its_nodes_to_a_higher_priority_saves_and_goes_on(tmp_path):
    spec = cluster_of(
        tmp_path,
        [_saving(), _job(1, 1, 2, priority=1)],
        cluster={"nodes": 1},
        scheduler=PREEMPT | {"notice": "10 min"},
    )
    found = played(spec)
    first, second = found.jobs
    # Two saves of 60 s each: in the 10 minutes from 2 h on it trains and saves once more.
    assert first.had[0] == [0.0, 2 * HOUR + 600 + 60]
    assert second.had == [[2 * HOUR + 660, 3 * HOUR + 660]]
    assert first.had[1][0] == 3 * HOUR + 660
    assert first.state == "ended"
    # Ten hours of training, saves, a load of 60 s, and nothing trained twice.
    assert told(found, "lost")[0] == pytest.approx(0.0, abs=1e-6)
    wait_s = first.had[1][0] - first.had[0][1]
    ends_s = 10 * HOUR + told(found, "save")[0] + 60 + wait_s
    assert told(found, "wall")[0] == pytest.approx(ends_s)


@pytest.mark.parametrize(("placement", "racks"), [("pack", [1]), ("spread", [3])])
def test_jobs_are_packed_or_spread(tmp_path, placement, racks):
    spec = cluster_of(
        tmp_path,
        [_job(3, 1)],
        cluster={"racks": 4, "nodes": 3},
        scheduler={"placement": placement},
        failures={"events": [{"at": "30 min", "lasts": "1 h", "rack": r} for r in range(4)]},
    )
    found = played(spec)
    assert [sum(bool(names) for _, names in found.shocks)] == racks


def test_a_backfilled_job_gives_its_nodes_back_too(tmp_path):
    jobs = [
        _saving(nodes=6),
        _job(10, 1, 1, priority=1),
        _saving(nodes=4, arrives="61 min", limit="10 min"),
    ]
    spec = cluster_of(tmp_path, jobs, cluster={"nodes": 10}, scheduler=PREEMPT)
    found = played(spec)
    assert {job.state for job in found.jobs} == {"ended"}
    assert found.jobs[1].had[0][0] < 1.2 * HOUR


def test_a_rack_may_fail_while_a_preempted_job_waits(tmp_path):
    spec = cluster_of(
        tmp_path,
        [_saving(), _job(1, 4, 1, priority=1)],
        cluster={"nodes": 1},
        failures={"events": [{"at": "3 h", "lasts": "1 h", "rack": 0}]},
        scheduler=PREEMPT,
    )
    found = played(spec)
    assert {job.state for job in found.jobs} == {"ended"}
    assert told(found, "failures") == [0, 1]


def test_causes_add_up_to_the_overhead_of_a_job_that_waited_in_between(tmp_path):
    jobs = [_saving(), _job(1, 1, 2, priority=1), _job(1, 2, 6, priority=2)]
    spec = cluster_of(tmp_path, jobs, cluster={"nodes": 1}, scheduler=PREEMPT)
    table = ClusterResult(spec, 0, [played(spec)], with_alone=False).jobs
    causes = table[list(OVERHEAD_CAUSES)].sum(axis=1)
    assert causes.tolist() == pytest.approx((table["overhead"] * table["useful_s"]).tolist())
    assert table["reschedule"].tolist() == pytest.approx([0.0] * 3, abs=1e-6)
    first = played(spec).jobs[0]
    assert "reschedule" not in {cause for cause, _, _ in first.watch.spans}


def test_a_job_that_can_not_go_on_from_a_save_is_not_preempted(tmp_path):
    kept = {
        "cluster.parameter_servers": 2,
        "policies.full": {
            "system": "tiered",
            "peer": {"interval": "30 min", "save": "10 s", "load": "10 s"},
        },
    }
    jobs = [{"set": kept}, _job(1, 1, priority=1)]
    with pytest.raises(ScenarioError, match="it saves to peer, which goes"):
        played(cluster_of(tmp_path, jobs, cluster={"nodes": 2}, scheduler=PREEMPT))
