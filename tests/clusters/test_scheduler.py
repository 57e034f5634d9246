"""Who gets nodes when, worked out by hand."""

import pytest

from cprsim.clusters.result import ClusterResult
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import ScenarioError
from tests.clusters.given import cluster_of, played

HOUR = 3600.0
#: Jobs of one node that save nothing, so that they end on the hour.
HOURS = {"policies.full.interval": "never"}


def _starts(spec) -> list[list[float]]:
    return [[had[0] / HOUR for had in job.had] for job in played(spec).jobs]


def _job(nodes: int, hours: int, arrives: int = 0, **more):
    values = {**HOURS, "job.useful_time": f"{hours} h", "model.embedding": "0 B"}
    return {"nodes": nodes, "arrives": f"{arrives} h", "limit": f"{hours} h", "set": values} | more


@pytest.mark.parametrize(
    ("backfill", "starts"),
    [
        # The third fits beside the first, and ends before the second can start.
        (True, [[0], [5], [2]]),
        (False, [[0], [5], [8]]),
    ],
)
def test_a_later_job_starts_where_it_delays_nobody(tmp_path, backfill, starts):
    jobs = [_job(6, 5), _job(8, 3, 1), _job(2, 3, 2)]
    spec = cluster_of(tmp_path, jobs, cluster={"nodes": 8}, scheduler={"backfill": backfill})
    assert _starts(spec) == starts


def test_a_later_job_that_would_delay_the_first_waits(tmp_path):
    jobs = [_job(6, 5), _job(8, 3, 1), _job(2, 4, 2)]
    spec = cluster_of(tmp_path, jobs, cluster={"nodes": 8})
    assert _starts(spec) == [[0], [5], [8]]


def test_the_highest_priority_is_first_and_takes_no_nodes_without_preemption(tmp_path):
    jobs = [_job(8, 5), _job(8, 1, 1), _job(8, 1, 2, priority=1)]
    spec = cluster_of(tmp_path, jobs, cluster={"nodes": 8}, scheduler={"order": "priority"})
    assert _starts(spec) == [[0], [6], [5]]


def test_a_job_gives_its_nodes_to_a_higher_priority_saves_and_goes_on(tmp_path):
    low = {"set": {"model.embedding": "60 GB"}, "arrives": "0 h"}
    high = _job(1, 1, 2, priority=1)
    spec = cluster_of(
        tmp_path,
        [low, high],
        cluster={"nodes": 1},
        scheduler={"order": "priority", "preempt": True, "notice": "10 min"},
    )
    first, second = played(spec).jobs
    # Two saves of 60 s each: in the 10 minutes from 2 h on it trains and saves once more.
    assert first.had[0] == [0.0, 2 * HOUR + 600 + 60]
    assert second.had == [[2 * HOUR + 660, 3 * HOUR + 660]]
    assert first.had[1][0] == 3 * HOUR + 660
    assert first.state == "ended"
    trained_s = 2 * HOUR + 600 - 60  # one save until then
    assert trained_s > 0
    # Ten hours of training, saves, a load of 60 s, and nothing trained twice.
    assert first.row[1] == pytest.approx(0.0, abs=1e-6)
    wait_s = first.had[1][0] - first.had[0][1]
    assert first.row[11] == pytest.approx(10 * HOUR + first.row[2] + 60 + wait_s)


def test_nodes_of_a_rack_that_is_down_are_nobodys(tmp_path):
    jobs = [_job(2, 1, 1), _job(2, 1, 1)]
    spec = cluster_of(
        tmp_path,
        jobs,
        cluster={"racks": 2, "nodes": 2},
        failures={"events": [{"at": "0.5 h", "lasts": "4 h", "rack": 1}]},
    )
    assert _starts(spec) == [[1], [2]]


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


PREEMPT = {"order": "priority", "preempt": True}


def _saving(**more):
    """A job of one node that saves every hour, which may lose its nodes."""
    return {"set": {"model.embedding": "60 GB"}, **more}


def test_of_jobs_that_come_together_the_highest_priority_is_first(tmp_path):
    jobs = [_saving(), _job(1, 1, priority=1)]
    spec = cluster_of(tmp_path, jobs, cluster={"nodes": 1}, scheduler=PREEMPT)
    assert _starts(spec) == [[1], [0]]


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
    assert [job.row[15] for job in found.jobs] == [0, 1]  # failures


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
