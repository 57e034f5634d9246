"""Parts of the batch engine, each worked by hand."""

import math

import numpy as np
import pytest

from cprsim.batch import ties as close
from cprsim.batch.blocking import Pace, advance
from cprsim.batch.hits import CLUSTER, NODE, HitRows, padded
from cprsim.batch.lanes import FIELDS, Lanes
from cprsim.batch.recover_table import RecoverTable
from cprsim.batch.spares import LaneSpares
from cprsim.batch.state import Shards
from cprsim.contract import Save, Schedule
from cprsim.contract.rules import ALL, LOST, NONE
from cprsim.job.platform import Cluster
from cprsim.scenario import Scenario
from cprsim.sim import spares
from cprsim.sim.resolved import ResolvedPlan

# A job of 128 s that saves every 32 s, 8 s long: 0-32, save 32-40, 40-72, save 72-80, 80-112, save
# 112-120, 120-152; and with a last save, until 160.
PACE = Pace(128.0, 32.0, 8.0, 8.0, has_final=False, rate=1.0)
FINAL = PACE._replace(has_final=True)
UNTIL_S = (10, 32, 33, 39.5, 40, 41, 72, 76, 80, 100, 119, 120, 151)
PROGRESS_S = (10, 32, 32, 32, 32, 33, 64, 64, 64, 84, 96, 96, 127)
SAVED_S = (0, 0, 0, 0, 32, 32, 32, 32, 64, 64, 64, 96, 96)
SAVE_S = (0, 0, 1, 7.5, 8, 8, 8, 12, 16, 16, 23, 24, 24)
LEFT_S = (0, 0, 7, 0.5, 0, 0, 0, 4, 0, 0, 1, 0, 0)
DUE_S = (32, 32, 64, 64, 64, 64, 64, 96, 96, 96, 128, 128, 128)


def started(count: int, pace: Pace) -> Lanes:
    lanes = Lanes.start(count)
    lanes.due_s[:] = pace.period_s
    return lanes


def state(lanes: Lanes) -> dict[str, list[float]]:
    return {field: getattr(lanes, field).tolist() for field in FIELDS}


# --- Training and saves --------------------------------------------------------------------------


def test_a_run_is_where_it_should_be_whenever_it_is_cut() -> None:
    ended, going, unsure = advance(started(13, PACE), PACE, np.array(UNTIL_S, float))

    assert (len(ended), unsure.size) == (0, 0)
    assert going.now_s.tolist() == list(UNTIL_S)
    assert going.progress_s.tolist() == list(PROGRESS_S)
    assert going.saved_s.tolist() == list(SAVED_S)
    assert going.save_s.tolist() == list(SAVE_S)
    assert going.rest_s.tolist() == list(LEFT_S)
    assert going.due_s.tolist() == list(DUE_S)
    assert going.saves.tolist() == [each / 32 for each in SAVED_S]


@pytest.mark.parametrize("first_s", UNTIL_S)
def test_two_steps_lead_where_one_does(first_s: float) -> None:
    later_s = np.array([each for each in UNTIL_S if each >= first_s], float)
    once = advance(started(later_s.size, PACE), PACE, later_s)[1]
    first = advance(started(later_s.size, PACE), PACE, np.full(later_s.size, float(first_s)))[1]
    twice = advance(first, PACE, later_s)[1]

    assert state(twice) == state(once)


def test_a_job_ends_with_its_last_useful_second() -> None:
    # An end and a failure at the same instant: the end comes first.
    ended, going, _ = advance(started(3, PACE), PACE, np.array([151.5, 152.0, math.inf]))

    assert ended.number.tolist() == [1, 2]
    assert going.number.tolist() == [0]
    assert ended.now_s.tolist() == [152, 152]
    assert ended.saves.tolist() == [3, 3]
    assert ended.save_s.tolist() == [24, 24]
    assert ended.finals.tolist() == [0, 0]


def test_a_last_save_is_cut_and_gone_on_with() -> None:
    ended, going, _ = advance(started(3, FINAL), FINAL, np.array([152.0, 155.0, 160.0]))

    assert ended.number.tolist() == [2]
    assert (ended.now_s[0], ended.save_s[0], ended.finals[0], ended.saves[0]) == (160, 32, 1, 3)
    # When training ends the save has not begun.
    assert going.rest_s.tolist() == [0, 5]
    assert going.final.tolist() == [0, 1]
    assert going.progress_s.tolist() == [128, 128]

    ended, _, _ = advance(going, FINAL, np.full(2, math.inf))
    assert ended.now_s.tolist() == [160, 160]
    assert ended.save_s.tolist() == [32, 32]
    assert ended.finals.tolist() == [1, 1]
    assert ended.saves.tolist() == [3, 3]


def test_slower_training_takes_longer_and_counts_no_more() -> None:
    # Half as fast: 0-64 is 32 s of progress, a save until 72, 20 s more of progress until 112.
    pace = PACE._replace(rate=0.5)
    lanes = advance(started(1, pace), pace, np.array([112.0]))[1]

    assert (lanes.progress_s[0], lanes.slowdown_s[0], lanes.save_s[0]) == (52, 52, 8)
    # What a rollback takes back: 20 s of slowdown since the save, besides 20 s of progress.
    assert lanes.saved_slowdown_s[0] == 32

    ended = advance(lanes, pace, np.array([math.inf]))[0]
    assert (ended.now_s[0], ended.slowdown_s[0]) == (2 * 128 + 24, 128)


def test_a_save_that_would_fall_due_at_the_end_is_left_out() -> None:
    pace = PACE._replace(period_s=64.0)
    ended = advance(started(1, pace), pace, np.array([math.inf]))[0]

    assert (ended.saves[0], ended.now_s[0]) == (1, 136)


def test_a_longer_interval_than_the_job_means_no_save() -> None:
    pace = PACE._replace(period_s=256.0)
    ended = advance(started(1, pace), pace, np.array([math.inf]))[0]

    assert (ended.saves[0], ended.now_s[0]) == (0, 128)


@pytest.mark.parametrize("until_s", [0.1, 0.1 + 0.2, 0.4, 0.7])
def test_what_is_too_close_to_call_is_not_called(until_s: float) -> None:
    # Saves are due every 0.1 s and take 0.2 s; whether one is over at 0.1 + 0.2 depends on sums.
    pace = Pace(1.0, 0.1, 0.2, 0.2, has_final=False, rate=1.0)
    ended, going, unsure = advance(started(2, pace), pace, np.array([until_s, 0.05]))

    assert (len(ended), going.number.tolist(), unsure.tolist()) == (0, [1], [0])


# --- Sums ----------------------------------------------------------------------------------------


def test_sums_of_binary_fractions_are_exact() -> None:
    times = np.array([0.0, 1.0, -3.5, 1 / 1024, 2.0**40 - 1, 0.1, 1 / 2048, 2.0**40, math.inf])

    assert close.sums_are_exact(times).tolist() == [True] * 5 + [False] * 4
    assert close.sums_are_exact(1.0, 0.5)
    assert not close.sums_are_exact(1.0, 0.1)
    assert close.sums_are_exact(1.0, np.array([2.0, 0.3])).tolist() == [True, False]


def test_only_what_lies_within_the_rounding_of_sums_is_close() -> None:
    apart_s, at_s = np.array([0.0, 0.0, 1e-13, 2e-13, 0.25]), np.array([8.0, 8.1, 8.1, 8.1, 8.0])

    # 16 terms of 1e-15 of 8.1 s each are 1.3e-13 s.
    assert close.too_close(apart_s, at_s, np.zeros(5)).tolist() == [False, True, True, False, False]
    # And some saves more.
    assert close.too_close(apart_s, at_s, np.full(5, 20.0)).tolist() == [
        False,
        True,
        True,
        True,
        False,
    ]


# --- Hits ----------------------------------------------------------------------------------------


def hits(servers: list[list[int]], trainers: list[list[int]]) -> HitRows:
    return HitRows(padded(servers), padded(trainers), np.full(len(servers), NODE))


def lists(of: HitRows) -> list[tuple[list[int], list[int]]]:
    return [
        ([each for each in a if each >= 0], [each for each in b if each >= 0])
        for a, b in zip(of.servers.tolist(), of.trainers.tolist(), strict=True)
    ]


THREE = [([0, 2], []), ([], [1]), ([1], [0, 2])]


def test_hits_are_marked_and_read_back() -> None:
    three = hits([a for a, _ in THREE], [b for _, b in THREE])
    down = three.marked(4, 3)

    assert down.astype(int).tolist() == [
        [1, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0],
        [0, 1, 0, 0, 1, 0, 1],
    ]
    assert lists(HitRows.from_marked(down, 4, three.severity)) == THREE
    assert three.nodes.tolist() == [2, 1, 3]
    assert three.server_count.tolist() == [2, 0, 1]


def test_hits_are_put_into_places_of_others_that_are_narrower() -> None:
    none = HitRows.none(3)
    put = none.put(np.array([2, 0]), hits([[3, 4], []], [[], [5]]))

    assert lists(put) == [([], [5]), ([], []), ([3, 4], [])]
    # And what was there is gone.
    assert lists(put.put(np.array([2]), hits([[1]], [[]])))[2] == ([1], [])


def test_a_failure_of_the_cluster_takes_down_every_node() -> None:
    graded = hits([[0], [1]], [[], [0]]).graded(
        np.array([NODE, CLUSTER]), Cluster(parameter_servers=2, trainers=1)
    )

    assert lists(graded) == [([0], []), ([0, 1], [0])]
    assert graded.severity.tolist() == [NODE, CLUSTER]


def test_servers_and_trainers_come_apart() -> None:
    three = hits([a for a, _ in THREE], [b for _, b in THREE])

    assert [each for each, _ in lists(three.only_servers())] == [[0, 2], [], [1]]
    assert three.only_servers().nodes.tolist() == [2, 0, 1]
    assert three.only_trainers().nodes.tolist() == [0, 1, 2]
    assert lists(three.take(np.array([2, 0]))) == [THREE[2], THREE[0]]


# --- Spares --------------------------------------------------------------------------------------


def test_two_spares_stand_in_for_three_nodes() -> None:
    pool = LaneSpares(2, 2)
    first = np.array([0, 1])

    # Lane 0 loses three nodes at 10 s and waits 50 s for the third; lane 1 loses one and doesn't.
    wait_s = pool.wait_s(first, np.array([3, 1]), np.array([10.0, 10.0]), np.array([50.0, 50.0]))
    assert wait_s.tolist() == [50, 0]
    # At 30 s nothing is ready in lane 0 before 60 s; in lane 1 the other spare still is.
    wait_s = pool.wait_s(first, np.array([1, 1]), np.array([30.0, 30.0]), np.array([50.0, 50.0]))
    assert wait_s.tolist() == [30, 0]
    # Lane 1 alone, at 59 s: its own machine would come at 64 s, that of the first failure at 60 s.
    wait_s = pool.wait_s(np.array([1]), np.array([1]), np.array([59.0]), np.array([5.0]))
    assert wait_s.tolist() == [1]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_pool_for_each_lane_is_as_one_alone(count: int) -> None:
    rng = np.random.default_rng(count)
    together, alone = LaneSpares(4, count), [spares.Spares(count) for _ in range(4)]
    now_s = np.zeros(4)
    for _ in range(60):
        now_s += rng.exponential(20.0, 4)
        lanes = np.flatnonzero(rng.random(4) < 0.7)
        nodes, delay_s = rng.integers(0, 4, lanes.size), rng.exponential(40.0, lanes.size)
        found = together.wait_s(lanes, nodes, now_s[lanes], delay_s)
        expected = [
            alone[lane].wait_s(int(k), now, delay)
            for lane, k, now, delay in zip(lanes, nodes, now_s[lanes], delay_s, strict=True)
        ]
        assert found.tolist() == expected


# --- Shards --------------------------------------------------------------------------------------


def shards(portion: float, unsaved_s: tuple[float, ...] = (0.0,)) -> Shards:
    """Of two lanes with four servers and a job of 128 s, a save each 8 s."""
    return Shards(2, 4, 128.0, Schedule(8.0 / portion, Save(portion=portion, unsaved_s=unsaved_s)))


def at(progress_s: float, saves: int) -> Lanes:
    lanes = Lanes.start(2)
    lanes.progress_s[:], lanes.round[:], lanes.saved_s[:] = progress_s, saves, 8.0 * saves
    return lanes


@pytest.mark.parametrize(
    ("portion", "rounds"),
    [
        (1.0, [0, 1, 2, 3, 4, 5, 6, 7]),
        (0.5, [0, 0, 2, 2, 4, 4, 6, 6]),
        # 0.4, 0.8, 1.2: what is beyond a round counts for the next; 0.6, 1.0, 0.4 ...
        (0.4, [0, 0, 0, 3, 3, 5, 5, 5]),
        (0.3, [0, 0, 0, 0, 4, 4, 4, 7]),
    ],
)
def test_pls_counts_from_the_last_save_that_completed_a_round(
    portion: float, rounds: list[int]
) -> None:
    for saves, last in enumerate(rounds):
        lanes = at(8.0 * saves + 5, saves)
        shards(portion).lose(lanes, np.array([2, -1]))
        assert lanes.pls.tolist() == [(8 * (saves - last) + 5) / 512, 0]


def test_a_shard_that_is_lost_again_loses_what_it_learned_since() -> None:
    it, lanes = shards(1.0), at(20.0, 2)
    it.lose(lanes, np.array([1, -1]))
    assert lanes.updates_lost.tolist() == [4 / 512, 0]
    lanes.progress_s[:] = 23
    it.lose(lanes, np.array([1, 1]))
    # Lane 0 loses 3 s more, and all 7 s since the save in (E4); lane 1 7 s in both.
    assert lanes.updates_lost.tolist() == [7 / 512, 7 / 512]
    assert lanes.pls.tolist() == [11 / 512, 7 / 512]


def test_what_passed_a_shard_by_while_it_was_down_is_lost() -> None:
    it, lanes = shards(1.0), at(20.0, 2)
    it.lose(lanes, np.array([1, 1]))
    lanes.progress_s[:] = [26, 30]
    it.refill(lanes, np.array([1, -1]))
    assert lanes.updates_lost.tolist() == [10 / 512, 4 / 512]


def test_saves_of_portions_leave_older_rows() -> None:
    # The first save after a shard was whole leaves 3 s of its updates, the second 4 s.
    it, lanes = shards(0.5, (3.0, 4.0)), at(20.0, 2)
    it.lose(lanes, np.array([0, 0]))
    assert lanes.updates_lost.tolist() == [(4 + 4) / 512] * 2
    # Set back at 20 s, and saved at 24 s: half a period, half of what one save leaves.
    lanes.progress_s[:], lanes.round[:], lanes.saved_s[:] = 25.0, 3.0, 24.0
    it.lose(lanes, np.array([0, -1]))
    assert lanes.updates_lost.tolist() == [(8 + 1 + 1.5) / 512, 8 / 512]


def test_a_rollback_takes_all_back_to_the_last_save() -> None:
    it, lanes = shards(1.0), at(20.0, 2)
    lanes.due_s[:], lanes.rest_s[:] = [24.0, 32.0], 1.0
    lanes.slowdown_s[:], lanes.saved_slowdown_s[:] = 5.0, 4.0
    lanes.updates_lost[:], lanes.saved_lost[:] = 0.5, 0.25
    it.roll_back(lanes)

    assert lanes.lost_s.tolist() == [4 + 1, 4 + 1]
    assert lanes.progress_s.tolist() == [16, 16]
    assert lanes.slowdown_s.tolist() == [4, 4]
    assert lanes.updates_lost.tolist() == [0.25, 0.25]
    # Due as before, but where a save was under way: then it is due a whole interval from here.
    assert lanes.due_s.tolist() == [24, 24]
    assert lanes.rest_s.tolist() == [0, 0]


# --- Answers -------------------------------------------------------------------------------------


def answers(policy: dict[str, object], servers: int = 4, **costs: str) -> RecoverTable:
    scenario = Scenario(
        job={"useful_time": "128 s"},
        cluster={"parameter_servers": servers, "trainers": 2},
        costs={"save": "8 s", "load_full": "4 s", "load_partial": "2 s"} | costs,
        failures={"exactly": 1},
        policies={"it": policy},
    )
    return RecoverTable(ResolvedPlan.from_scenario(scenario, "it"))


def test_each_loss_has_the_answer_of_the_rule() -> None:
    it = answers({"system": "replication", "interval": "32 s"})
    found = it.numbers_of(
        hits([[0], [0, 1], [], [0, 2], [1, 2], [3, 0]], [[], [], [1], [], [1], []])
    )

    depth = it.depth[found].tolist()
    assert depth == [NONE, ALL, NONE, NONE, ALL, ALL]
    assert it.keeps[found].tolist() == [True, False, False, True, False, False]
    assert it.supported.all()
    # Alike answers are one.
    assert len(it.answers) == 3


def test_a_rule_that_always_says_the_same_is_asked_once() -> None:
    it = answers({"system": "partial", "interval": "32 s"})
    found = it.numbers_of(hits([[0], [1, 2]], [[], [0]]))

    assert found.shape == ()
    assert it.depth[found] == LOST


def test_losses_that_are_too_wide_for_a_number_are_told_apart() -> None:
    servers = 40
    it = answers({"system": "replication", "interval": "32 s"}, servers=servers)
    wide = hits([list(range(servers)), list(range(0, servers, 2)), [0]], [[], [], []])

    found = it.numbers_of(wide)
    assert it.depth[found].tolist() == [ALL, NONE, NONE]


def test_loads_are_looked_up_by_answer_and_servers() -> None:
    it = answers({"system": "partial", "interval": "32 s"})
    number = it.numbers_of(hits([[0]], [[]]))
    load_s = it.load_s(number, np.array([0, 1, 2]), np.array([True, False, True]))

    # A measured partial load takes as long however many are lost; without servers there is none.
    assert load_s.tolist() == [0, 2, 2]
