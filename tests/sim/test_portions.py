"""Saves of a portion of the rows: what they cost, and what a failure then loses."""

import math

import numpy as np
import pytest

import cprsim
from cprsim.contract import Save, Schedule
from cprsim.contract.expected import expected, mean_unsaved_s
from tests.sim.learned import State

TABLE = {"rows": 1_000_000, "dim": 16, "skew": {"zipf": 1.0}}


def scenario(policies: dict, costs: dict | None = None, **failures) -> cprsim.Scenario:
    return cprsim.Scenario(
        job={"useful_time": "100 h", "samples": 10_000_000},
        model={"tables": [TABLE]},
        cluster={"parameter_servers": 4, "trainers": 4},
        costs={"save": "6 min", "load": "0 s"} if costs is None else costs,
        failures=failures or {"exactly": 3},
        policies=policies,
    )


def mfu(**keys) -> dict:
    return {"system": "cpr-mfu", "interval": "20 h", "slowdown": 0.0, **keys}


# What is lost


def saving(portion: float, *unsaved_s: float) -> Schedule:
    """Every 10 s."""
    return Schedule(10.0 / portion, Save(portion=portion, unsaved_s=unsaved_s))


def saved_at(state: State, progress_s: float, schedule: Schedule) -> None:
    state.train_to(progress_s)
    state.usable(state.taken(schedule.save), schedule.save)


def test_losses_by_hand():
    """Saves of half the rows every 10 s; 2 s of updates are left after the first, 3 s later on."""
    half = saving(0.5, 2.0, 3.0)
    state = State(useful_time_s=100.0, servers=1, schedules=[half])
    for at_s in (10.0, 20.0, 30.0):
        saved_at(state, at_s, half)
    state.train_to(34.0)

    # 4 s since the last save and 3 s before; a round was complete at 20 s
    state.lose([0], "remote")
    assert (state.updates_lost, state.pls) == pytest.approx((0.07, 0.14))

    state.train_to(38.0)
    state.lose([0], "remote")  # 4 s since it was set back: no save since then
    assert (state.updates_lost, state.pls) == pytest.approx((0.11, 0.14 + 0.18))

    saved_at(state, 40.0, half)  # 0.2 periods after it was set back: a fifth of 2 s is left
    state.train_to(41.0)
    state.lose([0], "remote")
    assert state.updates_lost == pytest.approx(0.11 + 0.01 + 0.004)
    assert state.pls == pytest.approx(0.32 + 0.01)  # that save completed a round


def test_what_is_left_grows_from_save_to_save_and_then_stays():
    lost, quarter = [], saving(0.25, 2.0, 3.0, 4.0)
    for progress_s in (10.0, 15.0, 20.0, 1000.0):
        state = State(useful_time_s=1e4, servers=1, schedules=[quarter])
        for at_s in np.arange(10.0, progress_s + 1, 10.0).tolist():
            saved_at(state, at_s, quarter)
        state.train_to(progress_s)
        state.lose([0], "remote")
        lost.append(1e4 * state.updates_lost)

    assert lost == pytest.approx([2.0, 7.0, 3.0, 4.0])


def test_a_fraction_of_one_is_vanilla_to_the_last_bit():
    policies = {
        "vanilla": {"system": "cpr-vanilla", "interval": "20 h"},
        **{
            name: {"system": f"cpr-{name}", "interval": "20 h", "fraction": 1}
            for name in ("mfu", "scar", "ssu")
        },
    }
    table = cprsim.run(scenario(policies), replications=40).replications
    vanilla, *others = (each for _, each in table.groupby("policy", sort=False))

    for other in others:
        numbers = other.drop(columns="policy").reset_index(drop=True)
        assert numbers.equals(vanilla.drop(columns="policy").reset_index(drop=True))


@pytest.mark.slow
def test_one_uniform_failure_loses_the_time_average():
    """Saves take no time here, so the failure is uniform over the training: within 3 standard
    errors of the average over the job of what is left and what was trained since."""
    one = scenario({"mfu": mfu(fraction=0.25)}, {"save": "0 s", "load": "0 s"}, exactly=1)
    plan = one.plan("mfu")
    losses = cprsim.run(one, replications=3000).replications["updates_lost"]

    grid = (np.arange(1_000_000) + 0.5) / 1_000_000 * 100
    saves = (grid // 5).astype(int)
    left = np.concatenate([[0.0], plan.schedules[0].save.unsaved_s])[saves] / 3600
    exact = float(np.mean(left + grid - 5 * saves)) / 100 / 4

    assert losses.mean() == pytest.approx(exact, abs=3 * losses.std() / math.sqrt(3000))
    assert mean_unsaved_s(plan.schedules[0], 360_000.0) / 360_000 / 4 == pytest.approx(
        exact, rel=1e-5
    )
    assert expected(plan, one.context).updates_lost == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize(
    "left", [(0.0,), (0.1,), (0.1, 0.2, 0.25), tuple(0.01 * i for i in range(60))]
)
@pytest.mark.parametrize("useful_s", [30.0, 100.0, 103.0, 999.5])
def test_mean_of_what_is_unsaved_by_adding_up(left, useful_s):
    schedule = Schedule(40.0, Save(portion=0.25, unsaved_s=tuple(40 * each for each in left)))
    grid = (np.arange(400_000) + 0.5) / 400_000 * useful_s
    saves = (grid // 10).astype(int)
    after = np.array([0.0, *left, *[left[-1]] * 200])[saves] * 40

    assert mean_unsaved_s(schedule, useful_s) == pytest.approx(
        np.mean(after + grid - 10 * saves), rel=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.125, 0.3, 0.7, 0.9])
def test_lost_samples_count_from_the_last_round_of_saves(fraction):
    """A round is over with the save at which the portions add up to one more whole. Failures are
    uniform, since saves take no time; (E5), half an interval each, is what that comes to but for
    rounds that end late."""
    costs = {"save": "0 s", "load": "0 s"}
    one = scenario({"mfu": mfu(fraction=fraction, interval="5 h")}, costs, exactly=6)
    pls = cprsim.run(one, replications=1000).replications["pls"]

    period = 5 * fraction
    ends = [
        j * period
        for j in range(1, 400)
        if int(j * fraction + 1e-9) > int((j - 1) * fraction + 1e-9)
    ]
    times = (np.arange(1_000_000) + 0.5) / 10_000
    since = times - np.concatenate([[0.0], ends])[np.searchsorted(ends, times)]
    exact = 6 * since.mean() / 100 / 4

    assert pls.mean() == pytest.approx(exact, abs=3 * pls.std() / math.sqrt(1000))
    assert exact == pytest.approx(expected(one.plan("mfu"), one.context).pls, rel=0.2)


def test_hot_rows_lose_less_than_all_rows_alike():
    loses = scenario(
        {
            "vanilla": {"system": "cpr-vanilla", "interval": "20 h"},
            "mfu": mfu(),
            "ssu": mfu() | {"system": "cpr-ssu"},
        },
        exactly=4,
    )
    summary = cprsim.run(loses, replications=200).summary

    assert summary.loc["mfu", "updates_lost"] < 0.3 * summary.loc["vanilla", "updates_lost"]
    assert summary.loc["mfu", "updates_lost"] < summary.loc["ssu", "updates_lost"]
    # The portion of lost samples knows no rows; both count from the end of a round.
    pls = summary["pls"]
    assert pls["mfu"] == pls["ssu"] == pytest.approx(pls["vanilla"], rel=0.05)


# What it costs


def save_s(costs: dict, **keys) -> float:
    one = scenario({"mfu": mfu(**keys)}, costs, exactly=0)
    summary = cprsim.run(one, policies=["mfu"], replications=1).summary
    return float(summary.loc["mfu", "save"]) * 360_000


def test_portions_together_take_what_one_save_takes():
    """Four full saves in 100 h, or 39 of an eighth: one is due at the end, and left out."""
    assert save_s({"save": "6 min", "load": "0 s"}) == pytest.approx(39 * 360 / 8)
    assert save_s({"save": "6 min", "load": "0 s"}, fraction=1) == pytest.approx(4 * 360)


def test_choosing_and_collecting_rows_takes_time_on_top():
    """An eighth of a million rows over 4 servers, gathered at 2 min a million."""
    costs = {
        "save": "6 min",
        "load": "0 s",
        "select": "7 s",
        "save_fixed": "5 s",
        "gather": "2 min",
    }

    assert save_s(costs) == pytest.approx(39 * (45 + 7 + 5 + 120 / 8 / 4))
    assert save_s(costs, fraction=1) == pytest.approx(4 * 360)


def test_a_save_that_takes_no_time_still_takes_what_choosing_does():
    assert save_s({"save": "0 s", "load": "0 s", "select": "7 s"}) == pytest.approx(39 * 7)


def test_derived_saves_of_a_portion_move_that_portion_of_the_bytes():
    derived = cprsim.Scenario(
        job={"useful_time": "100 h", "samples": 10_000_000},
        model={"tables": [TABLE, {"rows": 1000, "dim": 16}], "dense": "1 MB"},
        cluster={"parameter_servers": 4, "trainers": 4, "nic": "1 Gbit/s"},
        storage={"write": "1 MB/s", "read": "1 MB/s"},
        failures={"exactly": 0},
        policies={"mfu": mfu()},
    )
    summary = cprsim.run(derived, replications=1).summary

    # The million rows are tracked; the thousand and the dense part are saved whole each time.
    assert summary.loc["mfu", "save"] * 360_000 == pytest.approx(39 * (8e6 + 64e3 + 1e6) / 1e6)


def test_tracking_may_slow_training():
    one = scenario({"mfu": mfu(slowdown=0.02)}, exactly=0)
    summary = cprsim.run(one, replications=1).summary

    assert summary.loc["mfu", "slowdown"] == pytest.approx(0.02)


def test_the_last_save_is_of_everything():
    """A checkpoint of the whole job has to be there in the end."""
    final = cprsim.Scenario(
        **{
            **scenario({"mfu": mfu()}).mapping(),
            "job": {"useful_time": "100 h", "samples": 10_000_000, "final_save": True},
            "failures": {"exactly": 0},
        }
    )
    summary = cprsim.run(final, replications=1).summary

    assert summary.loc["mfu", "save"] * 360_000 == pytest.approx(39 * 45 + 360)


# What it needs to know


@pytest.mark.parametrize(
    ("tables", "lacks"),
    [
        ({"model": None}, "[model] with a preset or tables"),
        ({"model": {"embedding": "1 GB"}}, "[model] with a preset or tables"),
        ({"job": {"useful_time": "100 h"}}, "job.samples"),
    ],
)
def test_a_scenario_that_does_not_tell_how_rows_are_accessed(tables, lacks):
    mapping = scenario({"mfu": mfu()}).mapping() | tables
    with pytest.raises(cprsim.errors.ScenarioError) as caught:
        cprsim.Scenario(**mapping)
    assert str(caught.value) == (
        f"policies.mfu: system 'cpr-mfu' has to know which rows are hot: give {lacks}"
    )


def test_memory_is_that_of_the_tracker():
    policies = {name: mfu() | {"system": f"cpr-{name}"} for name in ("mfu", "ssu", "scar")}
    document = cprsim.run(scenario(policies), replications=1).document()["policies"]

    assert {name: each["memory_overhead"] for name, each in document.items()} == {
        "mfu": 4 / 64,
        "ssu": 4 / 64 / 8,
        "scar": 1.0,
    }
