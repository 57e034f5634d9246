"""Oracles: what nodes do while others are brought back, worked by hand."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cprsim.scenario import Scenario
from cprsim.sim.history.lanes import background_lanes, lanes, rows
from cprsim.sim.history.phases import Phase, joined, overlaid
from cprsim.sim.history.recorder import Background, record
from cprsim.sim.observer import BackgroundTask
from tests.by_hand import ASYNC, FULL, PARTIAL
from tests.drawn import scenarios
from tests.history.jobs import REPLICATION, played, told


def shown(policy, folder, *strikes):
    return {lane.name: told(lane.phases) for lane in lanes(played(policy, folder, *strikes), 9)}


def test_under_full_recovery_all_servers_load_and_trainers_wait(tmp_path):
    assert shown(FULL, tmp_path, (60.0, 1)) == {
        "job": (
            "train 0-32, save 32-40, lost 40-60, detect 60-61, reschedule 61-63, load 63-67, "
            "train 67-99, save 99-107, train 107-139, save 139-147, train 147-179"
        ),
        "2 trainers": (
            "train 0-32, wait 32-40, lost 40-60, wait 60-67, "
            "train 67-99, wait 99-107, train 107-139, wait 139-147, train 147-179"
        ),
        "3 other servers": (
            "train 0-32, save 32-40, lost 40-60, wait 60-63, load 63-67, "
            "train 67-99, save 99-107, train 107-139, save 139-147, train 147-179"
        ),
        "server 1": (
            "train 0-32, save 32-40, lost 40-60, detect 60-61, reschedule 61-63, load 63-67, "
            "train 67-99, save 99-107, train 107-139, save 139-147, train 147-179"
        ),
    }


def test_under_partial_recovery_the_others_wait(tmp_path):
    found = shown(PARTIAL, tmp_path, (60.0, 1))

    assert "train 40-60, wait 60-67, train 67-79" in found["3 other servers"]
    assert "detect 60-61, reschedule 61-63, load 63-67" in found["server 1"]


def test_who_fails_while_others_load_is_down_with_them(tmp_path):
    found = shown(PARTIAL, tmp_path, (60.0, 1), (65.0, 2))
    again = "detect 65-66, reschedule 66-68, load 68-72"

    assert f"detect 60-61, reschedule 61-63, load 63-65, {again}" in found["server 1"]
    assert f"wait 60-65, {again}" in found["server 2"]
    assert "wait 60-72" in found["2 other servers"]


def test_a_rebuilt_server_is_down_while_the_others_train(tmp_path):
    found = shown(REPLICATION, tmp_path, (60.0, 1))

    assert found["job"] == "train 0-60, detect 60-61, train 61-129"
    assert found["3 other servers"] == "train 0-60, wait 60-61, train 61-129"
    assert found["server 1"] == (
        "train 0-60, detect 60-61, reschedule 61-63, load 63-67, train 67-129"
    )


def test_a_lost_trainer_keeps_its_group_waiting(tmp_path):
    history = played(PARTIAL, tmp_path, (60.0, 5))
    job, trainers, servers = lanes(history, 9)

    assert [lane.name for lane in (job, trainers, servers)] == [
        "job",
        "2 trainers",
        "4 parameter servers",
    ]
    assert trainers.failures_s == [60.0]
    assert servers.failures_s == []
    assert "wait 60-63" in told(servers.phases)


def test_only_those_hit_most_often_have_a_lane_of_their_own(tmp_path):
    history = played(PARTIAL, tmp_path, (10.0, 3), (25.0, 2), (60.0, 3), (90.0, 1), (110.0, 1))
    names = [lane.name for lane in lanes(history, 2)]
    others = lanes(history, 2)[2]

    assert names == ["job", "2 trainers", "2 other servers", "server 1", "server 3"]
    assert others.failures_s == [25.0]


def test_tasks_that_overlap_go_into_rows(tmp_path):
    def task(start_s, end_s):
        return Background(BackgroundTask("save", "remote"), start_s, end_s, True)

    one, two, three, four = task(0, 4), task(1, 3), task(3, 5), task(4, 6)

    assert rows([three, one, four, two]) == [[one, four], [two, three]]
    assert list(background_lanes(played(ASYNC, tmp_path))) == ["saves to remote"]


def test_what_lies_above_takes_the_place_of_what_lies_below():
    below = [Phase("train", 0.0, 10.0, 5.0), Phase("save", 10.0, 12.0)]
    above = [Phase("load", 2.0, 4.0), Phase("wait", 9.0, 11.0)]

    assert overlaid(below, above) == [
        Phase("train", 0.0, 2.0, 1.0),
        Phase("load", 2.0, 4.0),
        Phase("train", 4.0, 9.0, 2.5),
        Phase("wait", 9.0, 11.0),
        Phase("save", 11.0, 12.0),
    ]
    assert overlaid(below, []) == below
    assert overlaid([], above) == above


def test_alike_phases_are_joined_unless_time_or_slowdown_lies_between():
    parts = [Phase("train", 0.0, 1.0), Phase("train", 1.0, 2.0), Phase("train", 3.0, 4.0)]
    slowed = Phase("train", 4.0, 5.0, 0.5)

    assert joined([*parts, slowed]) == [Phase("train", 0.0, 2.0), parts[2], slowed]


@given(scenarios(), st.integers(0, 9), st.integers(0, 4))
def test_every_lane_tiles_the_run(tables: dict[str, Any], seed: int, most: int) -> None:
    scenario = Scenario(**tables)
    for name in scenario.policies:
        history = record(scenario, name, seed)
        for lane in lanes(history, most):
            ends_s = [0.0, *(phase.end_s for phase in lane.phases)]
            assert [phase.start_s for phase in lane.phases] == ends_s[:-1], lane.name
            assert ends_s[-1] == history.ledger.wall
