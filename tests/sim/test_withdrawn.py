"""Servers that the owner of a job takes for a while: by hand, and against waiting for them."""

from pathlib import Path
from typing import Any

import pytest

from cprsim.batch import engine as batch
from cprsim.contract.ledger import Ledger
from cprsim.failures.hit import Hit
from cprsim.formulas.expected import expected
from cprsim.history.lanes import lanes
from cprsim.history.recorder import record
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play
from cprsim.testing import Recording, assert_time_adds_up
from tests.history.jobs import told
from tools.validation.formulas.stops import break_even_s, fewer_extra_s, waiting_extra_s

ELASTIC = {"system": "elastic", "interval": "32 s", "bound": 0.5, "reshard": "2 s"}
FULL = {"system": "full", "interval": "32 s"}


def window(at_s: float, for_s: float, servers: int = 1) -> dict[str, Any]:
    return {"at": f"{at_s} s", "for": f"{for_s} s", "parameter_servers": servers}


def scenario(policy: dict[str, Any], *windows: dict[str, Any], **more: Any) -> Scenario:
    """128 s on four servers; saves of 8 s, loads and moves of 4 s, machines after 20 s."""
    costs = {"save": "8 s", "load": "4 s", "reschedule": "20 s", "detect": "1 s"}
    withdrawn = {"withdrawn": windows} if windows else {}
    return Scenario(
        job={"useful_time": "128 s"} | withdrawn | more.pop("job", {}),
        cluster={"parameter_servers": 4} | more.pop("cluster", {}),
        costs=costs | more.pop("costs", {}),
        failures=more.pop("failures", {"exactly": 0}),
        policies={"it": policy},
        **more,
    )


def played(scenario: Scenario) -> Ledger:
    """Its run, which both engines agree on."""
    ledger = play(scenario, "it", 0, 0)
    assert_time_adds_up(ledger)
    found = batch.simulate(scenario, ["it"], [0], 0)[0, 0]
    assert found.tolist() == [getattr(ledger, column) for column in COLUMNS]
    return ledger


def log(folder: Path, *strikes: tuple[float, int]) -> dict[str, Any]:
    rows = [f"{at_s!r},{node}\n" for at_s, node in strikes]
    (folder / "log.csv").write_text("time_s,node\n" + "".join(rows), encoding="utf-8")
    return {"trace": str(folder / "log.csv")}


# --- Going on with fewer -------------------------------------------------------------------------


def test_the_rest_takes_the_rows_and_goes_on_slower() -> None:
    # At 20 s rows are moved until 24, and placed until 26; the server is back at 40 s, and has its
    # rows at 44. Until 40 there are 14 s of training, of which a seventh is slower; then a save.
    ledger = played(scenario(ELASTIC, window(20, 20)))
    assert (ledger.load, ledger.reschedule, ledger.slowdown) == (4, 2, 2)
    assert ledger.wall == 128 + 3 * 8 + 4 + 2 + 2
    assert (ledger.lost, ledger.pls, ledger.updates_lost, ledger.saves) == (0, 0, 0, 3)


def test_a_timeline_shows_who_is_away() -> None:
    found = lanes(record(scenario(ELASTIC, window(20, 20)), "it"), 9)

    assert [each.name for each in found] == ["job", "3 other servers", "server 3"]
    assert "reschedule 26-40, load 40-44" in told(found[-1].phases)


def test_a_window_follows_what_is_under_way() -> None:
    # A save from 32 to 40 s, rows until 44 and 46; back at 64 s, filled at 68: 22 s, a seventh.
    ledger = played(scenario(ELASTIC, window(34, 30)))
    assert (ledger.load, ledger.reschedule) == (4, 2)
    assert ledger.slowdown == pytest.approx(22 / 7)
    # One that is over by then passes the job by.
    assert played(scenario(ELASTIC, window(34, 5))) == played(scenario(ELASTIC))


def test_several_windows_follow_each_other() -> None:
    ledger = played(scenario(ELASTIC, window(60, 16, 2), window(4, 8)))
    # The first: 10 to 16 s at 7/6. The second: a save until 56; 64 to 66 placed; two of four at
    # 3/2 until they are filled at 80.
    assert (ledger.load, ledger.reschedule) == (2 * 4, 2 * 2)
    assert ledger.wall == pytest.approx(128 + 3 * 8 + 8 + 4 + 6 / 7 + (80 - 66) / 3)


def test_failures_of_withdrawn_servers_take_nothing(tmp_path: Path) -> None:
    alone = played(scenario(ELASTIC, window(20, 20)))
    ledger = played(scenario(ELASTIC, window(20, 20), failures=log(tmp_path, (30.0, 3))))
    assert (ledger.failures, ledger.absorbed) == (0, 1)
    assert ledger.wall == alone.wall
    # One that is back and is being filled has nothing to lose, but is seen.
    filled = played(scenario(ELASTIC, window(20, 20), failures=log(tmp_path, (41.0, 3))))
    assert (filled.failures, filled.detect, filled.wall) == (1, 1, alone.wall + 1)


def test_failures_of_withdrawn_servers_are_not_announced(tmp_path: Path) -> None:
    # A notice that comes at 27 s would be answered by a save until 35 s.
    failures = log(tmp_path, (36.0, 3)) | {"notice": {"lead": "9 s"}}
    policy = ELASTIC | {"on_notice": "save"}
    alone = played(scenario(ELASTIC, window(20, 20)))
    assert played(scenario(policy, window(20, 20), failures=failures)).wall == alone.wall
    told = log(tmp_path, (36.0, 0)) | {"notice": {"lead": "9 s"}}
    assert played(scenario(policy, window(20, 20), failures=told)).saves > alone.saves


def test_a_loss_meanwhile_is_answered_for_all_that_are_gone(tmp_path: Path) -> None:
    # Server 0 fails at 30 s: noticed until 31, placed until 33, loaded until 37. Two of four are
    # gone until 40 s, and 44, when the first is filled; its replacement is there at 51, filled 55.
    ledger = played(scenario(ELASTIC, window(20, 20), failures=log(tmp_path, (30.0, 0))))
    assert (ledger.detect, ledger.reschedule, ledger.load) == (1, 2 + 2, 4 + 4)
    assert ledger.pls == pytest.approx((20 + 4 * 6 / 7) / 128 / 4)
    left_s = (32 - 20 - 4 * 6 / 7 - 7 / 1.5) * 7 / 6  # until the save is due, at 44 s and after
    assert ledger.slowdown == pytest.approx(4 / 7 + 7 / 3 + left_s / 7)
    # With two withdrawn a third is waited for.
    waits = played(scenario(ELASTIC, window(20, 20, 2), failures=log(tmp_path, (30.0, 0))))
    assert waits.reschedule == 2 + 20


def test_a_failure_while_rows_move_comes_first(tmp_path: Path) -> None:
    # At 22 s: noticed until 23, placed and loaded until 29; then the rows of another are moved.
    ledger = played(scenario(ELASTIC, window(20, 20), failures=log(tmp_path, (22.0, 0))))
    assert (ledger.load, ledger.reschedule) == (2 + 4 + 4, 2 + 2)


def test_nodes_that_fail_while_they_are_away_are_replaced_there() -> None:
    """All lives are of 30 s; the fourth server's end unseen, at 30, 60, ... 210 s."""
    failures = {"per": "node", "distribution": "deterministic", "mean": "30 s", "ages": "new"}
    seen = Recording()
    it = scenario(ELASTIC | {"bound": 0.0}, window(20, 200), failures=failures)
    ledger = play(it, "it", 0, 0, seen)
    # With all others hit at 30 s the job waits for them until 51 s, and their lives end at 81 s.
    played(it)
    three = Hit((0, 1, 2), ())
    assert seen.failures[:3] == [(30.0, three), (81.0, three), (132.0, three)]
    # At 30 s it is one failure with the others, which the job sees.
    assert ledger.absorbed == 6


# --- Stopping ------------------------------------------------------------------------------------


def test_others_save_and_wait() -> None:
    # The last save is done when the servers go, at 20 s; they are back at 40 s and load until 44.
    ledger = played(scenario(FULL, window(20, 20)))
    assert (ledger.save, ledger.reschedule, ledger.load, ledger.saves) == (4 * 8, 20, 4, 4)
    assert ledger.wall == 128 + 4 * 8 + 20 + 4
    assert (ledger.lost, ledger.updates_lost) == (0, 0)


def test_what_starts_and_ends_take_is_part_of_it() -> None:
    costs = {"start": {"schedule": "3 s", "initialise": "2 s"}, "shutdown": "1 s"}
    ledger = played(scenario(FULL, window(20, 20), costs=costs))
    # Trained from 5 s to 11 s, saved until 19, ended at 20; back at 40, started at 45.
    assert (ledger.reschedule, ledger.start, ledger.shutdown, ledger.load) == (20, 10, 2, 4)
    assert ledger.wall == 128 + 4 * 8 + 20 + 10 + 2 + 4


def test_nobody_fails_meanwhile(tmp_path: Path) -> None:
    failures = log(tmp_path, (25.0, 0), (42.0, 3))
    ledger = played(scenario(FULL, window(20, 20), failures=failures))
    assert (ledger.failures, ledger.absorbed) == (0, 2)


def test_spares_stand_in_for_nobody() -> None:
    spares = {"cluster": {"parameter_servers": 4, "spares": 2}}
    for policy in (ELASTIC, FULL):
        one, other = (scenario(policy, window(20, 20), **more) for more in ({}, spares))
        assert played(one) == played(other)


def test_where_too_few_are_left_it_stops(tmp_path: Path) -> None:
    waits, stops = (
        played(scenario({"interval": "32 s"} | keys, window(20, 20, 3)))
        for keys in ({"system": "partial"}, ELASTIC)
    )
    assert stops == waits
    # Where that shows when they go: one of four has failed at 10 s. Noticed, placed and loaded
    # until 17 s, at 7/6 until 20; saved at 28, back at 60, all of it loaded at 64.
    ledger = played(scenario(ELASTIC, window(20, 40, 2), failures=log(tmp_path, (10.0, 0))))
    assert (ledger.reschedule, ledger.load, ledger.save) == (2 + 32, 4 + 4, 4 * 8)
    assert ledger.slowdown == pytest.approx(3 / 7)


# --- One against the other -----------------------------------------------------------------------


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("for_s", [3, 5, 6, 20, 300])
def test_both_take_what_the_closed_forms_say(servers: int, for_s: float) -> None:
    """Of a job that saves once, and trains when the servers go, come back and are filled."""
    costs = {"start": {"schedule": "30 s"}, "shutdown": "1 s"}
    job, rare = {"useful_time": "1000 s"}, {"interval": "2000 s"}
    going, waiting = (
        played(scenario(policy | rare, window(50, for_s, servers), costs=costs, job=job)).wall
        for policy in (ELASTIC, FULL)
    )
    alone_s = 1000 + 30 + 1
    degraded = 0.5 * servers / (4 - servers)
    fewer_s = fewer_extra_s(for_s, degraded, 4, 2, 4)
    assert going - alone_s == pytest.approx(fewer_s, rel=1e-12)
    assert waiting - alone_s == pytest.approx(waiting_extra_s(for_s, 8, 1, 30, 4), rel=1e-12)


@pytest.mark.parametrize("degraded", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize(("reshard_s", "stop_s"), [(0.0, 5.0), (60.0, 20.0), (60.0, 65.0)])
def test_both_take_as_long_at_the_break_even(
    degraded: float, reshard_s: float, stop_s: float
) -> None:
    times = {"move_s": 4.0, "reshard_s": reshard_s, "fill_s": 9.0}
    at_s = break_even_s(degraded, **times, stop_s=stop_s)
    fewer_s, waiting_s = fewer_extra_s(at_s, degraded, **times), at_s + stop_s
    if at_s:
        assert fewer_s == pytest.approx(waiting_s)
    else:
        assert fewer_s <= waiting_s
    assert fewer_extra_s(at_s + 1, degraded, **times) <= waiting_s + 1


def test_the_simulator_turns_at_the_break_even() -> None:
    """Placing rows anew takes a minute, waiting takes 20 s beside the window."""
    slow = ELASTIC | {"reshard": "60 s", "bound": 1.0, "interval": "2000 s"}
    full, job = FULL | {"interval": "2000 s"}, {"useful_time": "1000 s"}
    turns_s = break_even_s(1.0, 4, 60, 4, 8 + 4)
    assert turns_s > 40
    for for_s, shorter in ((turns_s - 1, False), (turns_s + 1, True)):
        going, waiting = (
            played(scenario(policy, window(50, for_s, 2), job=job)).wall for policy in (slow, full)
        )
        assert (going < waiting) is shorter


@pytest.mark.parametrize("policy", [ELASTIC, FULL])
def test_estimates_have_windows(policy: dict[str, Any]) -> None:
    """Of windows that begin anywhere in an interval, so that half of a last save is spared."""
    job = {"useful_time": "1000 s"}
    without = scenario(policy, job=job)
    alone, alone_s = expected(without.plan("it"), without.context), play(without, "it", 0, 0).wall
    found, taken_s = [], []
    for number in range(20):
        it = scenario(policy, window(200 + 2 * number, 20), window(700, 30), job=job)
        found.append(expected(it.plan("it"), it.context).overhead - alone.overhead)
        taken_s.append(play(it, "it", 0, 0).wall - alone_s)
    # Saves take a fifth of a window, in which nothing is slower: 1.3 s of 18.6. Of the window at
    # 700 s the last save spares another or it doesn't: 4 s of 66.
    assert sum(found) * 1000 == pytest.approx(sum(taken_s), rel=0.1)
    # One that begins after the end of the job costs nothing.
    late = scenario(policy, window(2000, 20), job=job)
    assert expected(late.plan("it"), late.context) == alone
