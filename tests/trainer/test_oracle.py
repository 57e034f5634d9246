"""Kills pinned to steps, one trainer: what comes of them is known bit for bit."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cprsim.contract import Save, Tracking, every
from cprsim.policies.full import full_plan
from cprsim.policies.partial import partial_plan
from cprsim.trainer.coordinator.cluster import LocalCluster
from cprsim.trainer.coordinator.running_job import Stopwatch
from cprsim.trainer.manner import InjectionMode
from tests.trainer.runs import IMPATIENT, PATIENT, STEPS, ran, servers_hit, trainer_hit

INTERVAL = 10.0
#: One after a save, two at once, one when a save is due, one after the last save.
KILLS = [
    (3.0, servers_hit(0)),
    (14.5, servers_hit(0, 1)),
    (20.0, servers_hit(1)),
    (38.0, servers_hit(0)),
]


def portions(tracker, fraction=0.25):
    return replace(
        partial_plan(INTERVAL),
        schedules=every(INTERVAL, Save(portion=fraction)),
        tracking=Tracking(tracker, fraction),
    )


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """A run without failures or saves."""
    return ran(full_plan(1e9), [], tmp_path_factory.mktemp("clean"))


def test_without_failures_a_run_gives_the_same_again_whatever_is_saved(clean, tmp_path):
    again = ran(portions("mfu"), [], tmp_path, final_save=True)

    assert again.predictions == clean.predictions
    assert (again.failures, again.struck, again.replaced, again.pls) == (0, 0, 0, 0)
    assert [each.step for each in again.job.row_events][-1] == STEPS


@pytest.mark.parametrize(
    ("failures", "manner", "deadlines"),
    [
        (KILLS, InjectionMode(), PATIENT),
        ([(13.0, trainer_hit()), (27.0, trainer_hit(0))], InjectionMode(), PATIENT),
        (KILLS, InjectionMode(saving=1.0), PATIENT),
        (KILLS, InjectionMode(loading=1.0), PATIENT),
        pytest.param(
            [(13.0, servers_hit(1)), (25.0, trainer_hit())],
            InjectionMode(hangs=1.0),
            IMPATIENT,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["servers", "trainer", "saving", "loading", "hangs"],
)
def test_full_recovery_predicts_what_a_run_without_failures_does(
    clean, tmp_path, failures, manner, deadlines
):
    recovered = ran(full_plan(INTERVAL), failures, tmp_path, manner=manner, deadlines=deadlines)

    assert recovered.predictions == clean.predictions
    assert recovered.pls == 0
    assert recovered.struck > 0
    if deadlines is PATIENT:
        assert recovered.replaced == recovered.struck
    else:
        assert recovered.replaced >= recovered.struck


def test_the_time_that_who_is_killed_takes_to_die_is_that_of_detection(tmp_path, monkeypatch):
    """Whatever the job was at: it has trained, and twice it has just recovered."""
    causes, at = [], []
    switch, strike = Stopwatch.switch, LocalCluster.strike

    def switched(watch, cause):
        causes.append(cause)
        switch(watch, cause)

    def struck(cluster, *victim):
        at.append(tuple(causes[-2:]))
        return strike(cluster, *victim)

    monkeypatch.setattr(Stopwatch, "switch", switched)
    monkeypatch.setattr(LocalCluster, "strike", struck)
    one, other = servers_hit(0), servers_hit(1)
    ran(partial_plan(INTERVAL), [(14.0, one), (14.0, other), (14.0, one)], tmp_path)

    assert at == [(before, "detect") for before in ("train", "load", "load")]


@pytest.mark.parametrize(
    "plan", [full_plan(INTERVAL), partial_plan(INTERVAL)], ids=["full", "partial"]
)
def test_a_server_and_the_trainer_that_die_together_are_replaced_together(tmp_path, plan):
    recovered = ran(plan, [(14.0, trainer_hit(0)), (27.0, trainer_hit(1))], tmp_path)
    causes = [span.cause for span in recovered.job.watch.spans]

    assert (recovered.struck, recovered.replaced) == (4, 4)
    assert [causes.count(each) for each in ("detect", "reschedule", "load")] == [2, 2, 2]


def test_full_recovery_does_again_what_was_lost(tmp_path):
    recovered = ran(full_plan(INTERVAL), KILLS, tmp_path)

    # The clock counts all steps: the kill at 14.5 finds step 11, of which one is lost; that at 20
    # finds step 16, the one at 38 step 28.
    assert recovered.job.executed == STEPS + 3 + 1 + 6 + 8
    assert recovered.job.watch.seconds["lost"] > 0


@pytest.mark.parametrize(
    "plan",
    [
        partial_plan(INTERVAL),
        pytest.param(portions("mfu"), marks=pytest.mark.slow),
        portions("ssu"),
        pytest.param(portions("scar"), marks=pytest.mark.slow),
    ],
    ids=["partial", "mfu", "ssu", "scar"],
)
def test_partial_recovery_gives_failed_shards_their_last_saved_rows_and_leaves_the_others(
    clean, tmp_path, plan
):
    recovered = ran(plan, KILLS, tmp_path, watch=True)
    recoveries = [*recovered.watched.recoveries()]

    assert len(recoveries) == len(KILLS)
    for (loss, before, saved), after in recoveries:
        for server, rows in after.items():
            expected = saved if server in loss.servers else before
            assert np.array_equal(rows, expected[server])
    assert recovered.predictions != clean.predictions
    again = ran(plan, KILLS, tmp_path / "again")
    assert recovered.predictions == again.predictions


def test_pls_is_that_of_the_equation(tmp_path):
    recovered = ran(partial_plan(INTERVAL), KILLS, tmp_path)

    # (E4): steps since the last checkpoint, a term for each failed server. A failure when a save
    # is due comes first.
    terms = [3, 4, 4, 10, 8]
    assert recovered.pls == float(Fraction(sum(terms), STEPS * 2))
    assert recovered.job.lost_steps == sum(terms)


def test_pls_of_portions_counts_from_the_last_full_round(tmp_path):
    kills = [(9.0, servers_hit(0)), (11.0, servers_hit(1)), (33.0, servers_hit(0, 1))]
    recovered = ran(portions("mfu"), kills, tmp_path)

    # A quarter every 2.5 s is saved at the steps 3, 6, 9, 12 and so on: each interval starts at a
    # save, and steps are whole. Rounds end at 12 and 24.
    assert recovered.job.lost_steps == 9 + 11 + 2 * (33 - 24)


def test_a_lost_trainer_takes_no_rows_with_it(tmp_path):
    recovered = ran(partial_plan(INTERVAL), [(13.0, trainer_hit())], tmp_path, watch=True)

    ((_, before, _),), (after,) = recovered.watched.before, recovered.watched.after
    assert all(np.array_equal(after[server], before[server]) for server in before)
    assert recovered.pls == 0
    assert recovered.job.dense_lost_steps == 13 - 10  # since the last checkpoint


@pytest.mark.parametrize("when", ["saving", "loading"])
def test_partial_recovery_from_failures_in_saves_and_loads(tmp_path, when):
    kills = [(13.0, servers_hit(0)), (25.0, servers_hit(1))]
    recovered = ran(partial_plan(INTERVAL), kills, tmp_path, manner=InjectionMode(**{when: 1.0}))

    assert recovered.replaced == recovered.struck == (2 if when == "saving" else 4)
    assert recovered.failures == recovered.struck
    # While saving: the save at 20 isn't usable before all have stored it, so 10 steps are lost, and
    # 10 more at 30. While loading: 3 and 5, as without the second strike.
    assert recovered.job.lost_steps == (20 if when == "saving" else 8)


@pytest.mark.parametrize("plan", [full_plan(INTERVAL), partial_plan(INTERVAL)])
def test_the_final_save_is_of_the_last_step(tmp_path, plan):
    recovered = ran(plan, [(38.0, servers_hit(0))], tmp_path, final_save=True)

    assert recovered.job.usable.last.step == STEPS
