"""Failures that are announced: who is told when, and what a save in time is worth."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cprsim.batch import engine as batch
from cprsim.batch.readiness import refusals
from cprsim.contract import EmergencySave, Loss, Plan, ScheduledController
from cprsim.contract.answering import answering
from cprsim.contract.expected import expected
from cprsim.contract.ledger import Ledger
from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import play
from cprsim.testing import Recording
from cprsim.trainer.support import LAB
from tests.formulas.forms import announced_goodput, predicted_interval_s, predicted_waste
from tests.sim.means import assert_mean, measured, more_s

ONE = Loss(frozenset([1]), frozenset())
CERTAIN = {"lead": "20 s", "recall": 1.0}


def scenario(failures: dict[str, Any], **more: Any) -> Scenario:
    """A job of 1000 s that saves for 5 s each 100 s, loads for 10 s, and answers notices.

    `more`: keys of the policy, where not of the job or of costs; None for one that it hasn't.
    """
    job, costs = more.pop("job", {}), more.pop("costs", {})
    keys = {"system": "full", "interval": "100 s", "on_notice": "save"} | more
    return Scenario(
        job={"useful_time": "1000 s"} | job,
        cluster={"parameter_servers": 4},
        costs={"save": "5 s", "load": "10 s", "reschedule": "30 s"} | costs,
        failures=failures,
        policies={"it": {key: value for key, value in keys.items() if value is not None}},
    )


def log(folder: Path, *times_s: float) -> dict[str, Any]:
    lines = "".join(f"{each},0\n" for each in times_s)
    (folder / "log.csv").write_text(f"time_s,node\n{lines}", encoding="utf-8")
    return {"trace": str(folder / "log.csv")}


def played(it: Scenario) -> tuple[Ledger, list[tuple[float, float]]]:
    """A run, and its saves."""
    seen = Recording()
    ledger = play(it, "it", 0, 0, seen)
    return ledger, [(span.start_s, span.end_s) for span in seen.spans if span.cause == "save"]


@pytest.mark.parametrize("engine", [sim, batch])
def test_a_scenario_without_plans_yet_is_played_alike(engine: Any) -> None:
    law = {"distribution": "exponential", "mean": "200 s", "notice": CERTAIN}
    it = scenario(law)
    assert it.plan("it").on_notice is not None
    new = it.model_copy()
    assert not new.plans

    found, expected = (engine.simulate(each, ["it"], [0, 1], 0) for each in (new, it))
    assert found.tolist() == expected.tolist()
    assert play(it.model_copy(), "it", 0, 0) == play(it, "it", 0, 0)


def test_what_nobody_announces_costs_what_it_always_has(tmp_path):
    quiet = CERTAIN | {"recall": 0.0}
    told, saves = played(scenario(log(tmp_path, 80.0) | {"notice": quiet}))
    alone, others = played(scenario(log(tmp_path, 80.0)))

    assert told.lost == 80.0
    assert saves == others
    assert told.wall == pytest.approx(alone.wall, rel=1e-12)


def test_a_false_alarm_costs_a_save():
    notice = {"lead": "20 s", "false_alarms": "10 / 1000 s"}
    ledger, saves = played(scenario({"exactly": 0, "notice": notice}))

    early = [
        start_s
        for (start_s, _), (_, end_s) in zip(saves[1:], saves, strict=False)
        if start_s - end_s < 99.9
    ]
    assert early
    assert ledger.wall == pytest.approx(1000 + 5 * len(saves))
    assert ledger.lost == 0


def test_too_short_a_notice_is_ignored_to_the_last_bit_and_said():
    law = {"distribution": "exponential", "mean": "200 s"}
    short = scenario(law | {"notice": {"lead": "4 s"}})
    plan = short.plan("it")

    assert plan.on_notice is None
    assert plan.note == (
        "a notice of 4 s is too short to save in, which takes 5 s and a step before it; it is "
        "ignored"
    )
    assert play(short, "it", 1, 2) == play(scenario(law), "it", 1, 2)


def test_notices_move_no_failure():
    """Who ignores them has the same run; who answers the same failures by their number."""
    law = {"distribution": "gamma", "shape": 0.7, "mean": "200 s", "severity": {"process": 1.0}}
    notice = {"lead": "20 s", "recall": 0.5, "false_alarms": "1 / 300 s"}
    ignores = scenario(law | {"notice": notice}, on_notice=None)
    assert refusals(ignores, ["it"]) == {"it": None}
    for number in range(5):
        assert play(ignores, "it", 3, number) == play(scenario(law), "it", 3, number)


def test_the_trainer_leaves_answers_to_the_engines(tmp_path):
    it = scenario(log(tmp_path, 80.0) | {"notice": CERTAIN})
    assert refusals(it, ["it"]) == {"it": None}
    with pytest.raises(ScenarioError, match="answers to notices of failures can be simulated but"):
        LAB.check_plan("it", it.plan("it"), lambda: {"it": it.plan("it")})


def test_the_interval_is_that_of_unannounced_failures():
    law = {
        "distribution": "exponential",
        "mean": "2000 s",
        "notice": {"lead": "9 s", "recall": 0.75},
    }
    it = scenario(law, interval="optimal")
    assert it.plan("it").interval_s == pytest.approx(predicted_interval_s(5.0, 2000.0, 0.75))
    assert it.plan("it").interval_s == pytest.approx(math.sqrt(2 * 4 * 2000 * 5))
    found = expected(it.plan("it"), it.context)
    waste = predicted_waste(it.plan("it").interval_s, 5.0, 2000.0, 40.0, 0.75)
    assert found.overhead == pytest.approx(waste + 0.75 * 4 / 2000)  # what is trained after it


@pytest.mark.parametrize(
    "keys",
    [
        {"system": "partial"},
        {"system": "cpr-vanilla"},
        {"system": "async"},
        {"system": "elastic", "bound": 0.5},
        {"system": "twin-groups", "every": "50 s", "sync": "0 s"},
        {"system": "accepted-loss"},
        {"system": "check-n-run", "modified": 0.2},
        {"system": "autopilot", "prior": "200 s", "interval": None},
        {"system": "tiered", "remote": {"interval": "100 s"}, "interval": None},
    ],
    ids=lambda keys: keys["system"],
)
def test_who_saves_everything_answers(keys, tmp_path):
    it = scenario(log(tmp_path, 80.0) | {"notice": CERTAIN}, **keys)
    answer = it.plan("it").on_notice

    assert isinstance(answer, EmergencySave)
    assert (answer.save.tier, answer.save.blocking, answer.takes_s) == ("remote", True, 5.0)
    assert (60.0, 65.0) in played(it)[1]


class _OwnPlan(Plan):
    def start(self):
        return ScheduledController(self.schedules, self.recover)


def test_a_plan_with_its_own_controller_has_to_answer_itself():
    it = scenario({"exactly": 0, "notice": CERTAIN}, on_notice=None)
    plan = it.plan("it")
    own = _OwnPlan(plan.recovery, plan.schedules, plan.recover)

    with pytest.raises(ValueError, match="its controller is its own, which has to answer itself;"):
        answering(own, "save", it.context)


def test_a_target_on_lost_samples_counts_what_nobody_announces():
    law = {"distribution": "exponential", "mean": "100 s"}
    cpr = {"system": "cpr-vanilla", "interval": None, "pls_interval": "E6", "target_pls": 0.02}
    half = scenario(law | {"notice": CERTAIN | {"recall": 0.5}}, **cpr)
    rarer = scenario(law | {"mean": "200 s"}, **cpr)

    assert half.plan("it").interval_s == rarer.plan("it").interval_s == 2 * 0.02 * 4 * 200


@pytest.mark.slow
def test_pls_is_that_of_the_failures_that_nobody_announces():
    """Of saves that take no time to speak of, begun anew after each notice.

    A piece of training is an interval, or what comes before the next notice: so its age at a
    failure has a density in proportion to `exp(-rate age)`. A failure loses that of one shard of N.
    """
    interval_s, mtbf_s, recall, runs, servers = 1000.0, 4000.0, 0.6, 300, 4
    law = {"distribution": "exponential", "mean": f"{mtbf_s} s"}
    notice = {"lead": "2 ms", "recall": recall}
    it = scenario(
        law | {"notice": notice},
        system="partial",
        interval=f"{interval_s} s",
        job={"useful_time": "100000 s"},
        costs={"save": "1 ms", "load": "0 s", "reschedule": "0 s"},
    )
    pls = measured(it, "pls", runs, seed=3)

    rate = recall / mtbf_s
    age_s = 1 / rate - interval_s / math.expm1(rate * interval_s)
    assert_mean(pls, (1 - recall) / mtbf_s * age_s / servers, within=0.03)
    assert expected(it.plan("it"), it.context).pls == pytest.approx(pls.mean(), rel=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("false_every_s", [None, 9000.0])
def test_goodput_is_that_of_the_renewal_form(false_every_s):
    """What 200,000 s more of training take; of a notice just a save ahead."""
    interval_s, save_s, wait_s, load_s, mtbf_s, recall = 1000.0, 60.0, 60.0, 40.0, 8000.0, 0.7
    notice: dict[str, Any] = {"lead": f"{save_s + 1e-6} s", "recall": recall}
    if false_every_s is not None:
        notice["false_alarms"] = f"1 / {false_every_s} s"
    law = {"distribution": "exponential", "mean": f"{mtbf_s} s", "during_recovery": False}
    costs = {"save": f"{save_s} s", "load": f"{load_s} s", "reschedule": f"{wait_s} s"}
    it = partial(scenario, law | {"notice": notice}, costs=costs, interval=f"{interval_s} s")

    alarms = 0.0 if false_every_s is None else 1 / false_every_s
    rates = interval_s, save_s, mtbf_s, wait_s + load_s, recall, alarms
    exact_s = 200_000 / announced_goodput(*rates)
    assert_mean(more_s(it, (50_000, 250_000), 80, 5), exact_s, within=0.002)
    # To first order it is Aupy's, Robert's and Vivien's, of the wall clock 1 % of what is wasted.
    waste = predicted_waste(*rates)
    assert 1 / announced_goodput(*rates) - 1 == pytest.approx(waste, rel=0.03)
