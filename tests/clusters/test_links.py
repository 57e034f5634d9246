"""Links that jobs share: max-min shares worked out by hand."""

from itertools import pairwise

import pytest

from tests.clusters.given import cluster_of, played, told

HOUR = 3600.0


def test_two_jobs_that_save_at_once_take_half_the_store_each(tmp_path):
    spec = cluster_of(tmp_path, [{"count": 2}], store={"write": "1 GB/s"})
    # Nine saves before the end, each 60 GB at 0.5 GB/s.
    assert told(played(spec), "save") == pytest.approx([9 * 120.0] * 2, rel=1e-9)


def test_a_job_with_a_limit_of_its_own_leaves_the_rest_to_the_other(tmp_path):
    once = {"job.useful_time": "1.5 h"}
    slow = {**once, "storage.write": "0.2 GB/s", "model.embedding": "12 GB"}
    spec = cluster_of(tmp_path, [{"set": slow}, {"set": once}], store={"write": "1 GB/s"})
    # 12 GB at 0.2 take 60 s; meanwhile the other moves 0.8 x 60 of its 60 GB, and 12 GB at 1.
    assert told(played(spec), "save") == pytest.approx([60.0, 72.0], rel=1e-9)


def test_a_save_that_another_one_meets_halfway_slows_down_from_then_on(tmp_path):
    spec = cluster_of(
        tmp_path,
        [{"set": {"job.useful_time": "1.5 h"}}, {"arrives": "30 s"}],
        store={"write": "1 GB/s"},
    )
    found = played(spec)
    # From 3600: 30 GB alone, then both 60 s at half each: the first is done at 3690.
    (save,) = [each for each in found.jobs[0].watch.spans if each[0] == "save"]
    assert save[1:] == pytest.approx((HOUR, HOUR + 90.0), rel=1e-12)
    first = found.jobs[1].watch.spans[0]
    # The second has moved 30 GB by 3690, and moves its other 30 alone.
    assert first[1:] == pytest.approx((HOUR + 30.0, HOUR + 120.0), rel=1e-12)


@pytest.mark.parametrize(("loads", "ratio"), [("alike", 1.0), ("by priority", 3.0)])
def test_loads_share_alike_or_by_priority(tmp_path, loads, ratio):
    entries = [
        {"name": "a", "scenario": "job.toml", "policy": "full", "priority": 2},
        {"name": "b", "scenario": "job.toml", "policy": "full"},
    ]
    events = [{"at": "30 min", "lasts": "1 s", "rack": 0}]
    spec = cluster_of(
        tmp_path,
        entries,
        store={"read": "0.4 GB/s", "loads": loads},
        failures={"events": events},
        scheduler={"order": "priority"},
    )
    first, second = (
        next(each for each in job.watch.spans if each[0] == "load") for job in played(spec).jobs
    )
    rate = 0.4 * ratio / (1 + ratio)
    assert first[2] - first[1] == pytest.approx(60 / rate, rel=1e-9)
    # Both have moved 120 GB in the end, at 0.4 GB/s all the time.
    assert second[2] - second[1] == pytest.approx(120 / 0.4, rel=1e-9)


def test_saves_and_loads_meet_in_the_core_alone(tmp_path):
    spec = cluster_of(
        tmp_path, [{"count": 2}], cluster={"nodes": 4, "core": "1 GB/s"}, store={"write": "9 GB/s"}
    )
    found = played(spec)
    assert told(found, "save") == pytest.approx([9 * 120.0] * 2, rel=1e-9)
    assert {crowd.link for crowd in found.crowds} == {"core"}


def test_training_across_racks_shares_the_core(tmp_path):
    train = {
        "cluster.parameter_servers": 2,
        "cluster.trainers": 2,
        "cluster.nic": "10 GB/s",
        "job.network": "2 GB/s",
    }
    whole = cluster_of(tmp_path, [{"set": train}], cluster={"nodes": 4, "core": "1 GB/s"})
    assert told(played(whole), "slowdown") == [0.0]
    halves = cluster_of(
        tmp_path,
        [{"set": train}],
        cluster={"racks": 2, "nodes": 3, "core": "1 GB/s"},
        scheduler={"placement": "spread"},
    )
    # Pulled and pushed at 2 GB/s each, half of it between the racks: 2 GB a second over 1 GB/s.
    assert told(played(halves), "slowdown") == pytest.approx([10 * HOUR], rel=1e-9)


def test_one_save_at_a_time_lets_the_others_train_on(tmp_path):
    spec = cluster_of(tmp_path, [{"count": 3}], store={"write": "1 GB/s", "saves_at_once": 1})
    found = played(spec)
    assert told(found, "save") == pytest.approx([9 * 60.0] * 3, rel=1e-9)
    assert not found.crowds
    spans = sorted(each[1:] for job in found.jobs for each in job.watch.spans if each[0] == "save")
    assert all(later[0] >= earlier[1] for earlier, later in pairwise(spans))


def test_staggered_jobs_do_not_meet(tmp_path):
    spec = cluster_of(tmp_path, [{"count": 4}], store={"write": "1 GB/s", "stagger": True})
    found = played(spec)
    assert not found.crowds
    firsts = {next(s[1] for s in job.watch.spans if s[0] == "save") for job in found.jobs}
    assert len(firsts) == 4
    assert max(firsts) <= HOUR


def test_saves_to_nearer_tiers_do_not_wait_for_the_store(tmp_path):
    tiers = {
        "policies.full": {
            "system": "tiered",
            "local": {"interval": "30 min", "save": "10 s", "load": "10 s"},
            "remote": {"interval": "2 h"},
        },
        "model.embedding": "1800 GB",
    }
    spec = cluster_of(
        tmp_path, [{"count": 4, "set": tiers}], store={"write": "1 GB/s", "saves_at_once": 1}
    )
    for job in played(spec).jobs:
        held = sorted(each[1] for each in job.watch.spans)
        # A local save every 30 minutes of training, but while it saves to the store itself.
        assert max(b - a for a, b in pairwise(held)) < 2 * 1800 + 1800 + 60
