"""The settings of each system, the search among them, and the choice among equals."""

import math
from typing import Literal

import pytest

import cprsim
from cprsim.advice.candidates import Candidate, asked, value_of, with_value
from cprsim.advice.criteria import criteria_of
from cprsim.advice.round_numbers import round_durations
from cprsim.advice.search import _of_use, search
from cprsim.advice.trials import Trials
from cprsim.basics.units import parse_duration
from cprsim.contract import Choice, Context, DurationSpan, Interval, Plan, Policy, every
from cprsim.contract.registry import systems
from cprsim.formulas.intervals import exact_interval_s
from cprsim.policies.full import FULL_ROLLBACK
from cprsim.policies.replication import Replication
from tests.advice.given import answered, by_name, measured


def searched(scenario: cprsim.Scenario, *only: str, **criteria: float) -> dict[str, Policy]:
    """The best of each system's settings, by the name of the candidate."""
    _, candidates, _ = asked(scenario, only or None)
    trials = Trials(scenario, criteria_of(scenario, **criteria), 0)
    found = search(candidates, trials, lambda *_: None)
    return {each.name: each.policy for each in found}


def test_every_system_says_what_may_be_chosen_and_all_values_make_a_plan():
    scenario = cprsim.load_scenario("all-systems")
    context = scenario.context
    seen = set()
    for policy in scenario.policies.values():
        seen.add(policy.system)
        settings = policy.settings(context)
        assert settings, policy.system
        for setting in settings:
            if isinstance(setting, DurationSpan):
                assert setting.least_s < setting.start_s <= setting.most_s == context.useful_time_s
                values = [f"{setting.start_s:.0f} s", f"{0.9 * setting.start_s:.0f} s"]
            else:
                values = list(setting.values)
            changed = [with_value(policy, setting.key, value) for value in values]
            plans = [each.planned(context) for each in changed if each is not None]
            assert plans, (policy.system, setting.key)
            assert len({repr(plan) for plan in plans}) == len(plans), (policy.system, setting.key)
    assert len(seen) == 13
    # Autopilot plans for itself: a belief is no choice.
    others = {"cpr-scar", "cpr-ssu", "delta", "autopilot", "elastic", "twin-groups"}
    assert seen | others == set(systems())


def test_servers_that_are_left_and_groups_that_fit_may_be_chosen():
    fewer = {"it": {"system": "elastic", "bound": 0.5}}
    scenario = measured(**fewer)
    servers = scenario.cluster.parameter_servers
    interval, least = scenario.policies["it"].settings(scenario.context)
    assert (interval.key, least.key) == ("interval", "least")
    assert least.values[-1] == servers - 1
    twins = {"it": {"system": "twin-groups", "every": "1 min", "sync": "1 s"}}
    keys = [each.key for each in measured(**twins).policies["it"].settings(scenario.context)]
    assert keys[:2] == ["every", "interval"]


def test_an_interval_of_the_whole_job_makes_no_save():
    scenario = measured()
    never = with_value(scenario.policies["full"], "interval", "8 d")
    assert never is not None
    trials = Trials(scenario, criteria_of(scenario), 0)
    assert trials.plan(never) is not None
    (played,) = trials.play([never], range(64))

    assert not played.causes["save"].any()


def test_full_recovery_stays_within_noise_of_its_exact_optimum():
    """At the exact interval of exponential failures the objective is flat: no setting gains."""
    scenario = measured(full={"system": "full", "interval": "30 min"})
    found = searched(scenario, "full")["full (tuned)"]
    exact_s = exact_interval_s(scenario.context.save_s, scenario.context.mtbf_s)
    trials = Trials(scenario, criteria_of(scenario), 1)
    exact = with_value(found, "interval", f"{exact_s:.0f} s")
    assert exact is not None
    for each in (found, exact):
        assert trials.plan(each) is not None
    ours, theirs = trials.play([found, exact], range(20_000))
    apart = ours.objective - theirs.objective

    # Half of what doesn't matter, and what chance does to a mean of 20,000 differences.
    assert apart.mean() < 0.0005 + 3 * apart.std() / math.sqrt(len(apart))


def test_a_bound_is_kept_to_by_the_longest_interval_about():
    scenario = measured(cpr={"system": "cpr-vanilla"})
    found = searched(scenario, "cpr-vanilla", max_pls=0.05)["cpr (tuned)"]
    trials = Trials(scenario, criteria_of(scenario, max_pls=0.05), 1)
    assert trials.plan(found) is not None
    (played,) = trials.play([found], range(20_000))
    pls = played.measures["pls"]

    assert pls.mean() < 0.05 + 3 * pls.std() / math.sqrt(len(pls))
    assert pls.mean() > 0.7 * 0.05


def test_what_loses_less_is_taken_though_each_step_towards_it_gains_next_to_nothing():
    """Its snapshots are free: a day between them costs as much time as minutes, and loses more."""
    calm = measured().with_values({"failures.mean": "34 h"})
    found = searched(calm, "accepted-loss", max_pls=0.1)["accepted-loss"]

    assert found.planned(calm.context).interval_s < 3600


def test_what_loses_less_is_taken_where_time_is_alike():
    """Copy-on-write snapshots cost no time, so the interval of accepted loss is free."""
    found = searched(measured(), "accepted-loss")["accepted-loss"]

    assert parse_duration(value_of(found, "interval")) < 24 * 3600


class Seldom(Policy):
    """One that a user wrote: with an interval, and a number of its own."""

    system: Literal["seldom"]
    interval: Interval = 600.0
    waste: int = 3

    def settings(self, context: Context) -> tuple[DurationSpan | Choice, ...]:
        return (*super().settings(context), Choice("waste", (3, 2, 1, 0)))

    def plan(self, context: Context) -> Plan:
        assert isinstance(self.interval, float)
        return Plan("full", every(self.interval), FULL_ROLLBACK, slowdown=0.01 * self.waste)


def test_a_policy_of_a_user_takes_part():
    plain = measured()
    scenario = plain.with_policies({"mine": Seldom(system="seldom")})
    trials = Trials(scenario, criteria_of(scenario), 0)
    mine = Candidate("mine (tuned)", scenario.policies["mine"], "mine", tuned=True)
    (found,) = search([mine], trials, lambda *_: None)

    assert value_of(found.policy, "waste") == 0
    assert 1.0 < parse_duration(value_of(found.policy, "interval")) / 3600 < 6.0


@pytest.mark.parametrize("value", ["nothing", -1, "2 kg"])
def test_a_value_that_cant_be_is_left_out(value):
    assert with_value(measured().policies["full"], "interval", value) is None


def test_intervals_that_are_too_short_to_matter_are_not_searched():
    """A failure takes back half an interval at most: what is less than what counts is no use."""
    scenario = measured(full={"system": "full"}, partial={"system": "partial"})
    trials, worth = Trials(scenario, criteria_of(scenario), 0), 1e-4
    span = DurationSpan("interval", 1.0, 7200.0, 2.0)
    full, partial = (
        _of_use(scenario.policies[name], [span], trials, worth) for name in ("full", "partial")
    )

    least_s = 2 * worth * 20 * 3600  # half of it, once an MTBF of 20 h
    assert full == (span._replace(least_s=least_s, start_s=least_s),)
    assert partial == (span,)  # a shorter one loses less of what is learned
    assert span.at_least(1e6) == span._replace(least_s=7200.0, start_s=7200.0)


def test_to_meet_many_failures_no_search_takes_fifty_times_as_long():
    scenario = measured()
    trials = Trials(scenario, criteria_of(scenario), 0)
    assert trials.plan(scenario.policies["full"]) is not None
    each_s = trials.seconds(scenario.policies.values())
    wanted = 4096 / (8 * 24 / 20)

    def count(within_s):
        return trials.fit(list(scenario.policies.values()), within_s, 1 << 20)

    assert wanted / 2 < count(wanted * each_s / 40) <= wanted
    assert wanted / 16 < count(wanted * each_s / 400) <= wanted / 8
    assert count(0.0) == 32


# --- What is chosen ---------------------------------------------------------------------------


def test_tuning_a_policy_of_the_users_loses_no_learning_for_less_than_matters():
    """stumbles.md (4): a save every day became one every 4 d, for 0.02 points of time."""
    job = measured(own={"system": "accepted-loss", "interval": "1 h"})
    found = by_name(cprsim.advise(job, systems=["accepted-loss"], max_updates_lost=0.05))
    most = found["own"].measures["updates_lost"].mean

    assert all(each.measures["updates_lost"].mean <= most for each in found.values())


def test_of_those_that_do_the_same_the_one_that_loses_less_is_best():
    scenario = measured(
        day={"system": "accepted-loss", "interval": "24 h"},
        hour={"system": "accepted-loss", "interval": "2 h"},
    )
    advice = cprsim.advise(scenario, systems=["accepted-loss"])
    lost = [each.measures["updates_lost"].mean for each in (advice.best, *advice.tied)]

    assert lost[0] == min(lost)


def test_settings_are_round_with_the_range_that_is_as_good():
    for each in answered("full").found:
        if each.candidate.tuned:
            at_s = parse_duration(each.settings["interval"])
            low_s, high_s = each.candidate.ranges["interval"]
            assert low_s <= at_s <= high_s
            assert at_s in round_durations(low_s, high_s)
            assert each.document()["ranges_s"] == {"interval": [low_s, high_s]}


@pytest.mark.slow
def test_jobs_that_get_nowhere_are_no_error():
    advice = cprsim.advise(measured(never={"system": "full", "interval": "8 d"}), systems=["full"])

    assert by_name(advice)["never"].objective.mean > 1
    assert advice.best.name == "never (tuned)"


#: Costs that are small beside failures that come often.
CHEAP = {"save": "10 s", "load": "10 s"}


def test_who_waits_for_no_replacement_is_not_hopeless_where_failures_strike_whoever_does():
    policies = {"waits": {"system": "full"}, "goes-on": {"system": "accepted-loss"}}
    costs = CHEAP | {"reschedule": "20 min"}
    job = measured(**policies).with_values({"failures.mean": "2 min", "costs": costs})
    trials = Trials(job, criteria_of(job), 0)

    assert trials.is_hopeless(job.policies["waits"])
    assert not trials.is_hopeless(job.policies["goes-on"])
    assert cprsim.run(job, ["goes-on"], replications=3).replications["overhead"].max() < 1


def test_a_system_whose_defaults_are_hopeless_is_searched_from_settings_that_are_not():
    """Copies are lost together often, so never to save, as by default, starts the job anew."""
    lost = {"failures.mean": "2 h", "failures.severity": {"node": 0.9, "cluster": 0.1}}
    costs = CHEAP | {"reschedule": "1 min"}
    job = measured().with_values(lost | {"costs": costs})
    assert Trials(job, criteria_of(job), 0).is_hopeless(Replication(system="replication"))
    found = by_name(cprsim.advise(job, systems=["full", "replication"]))["replication"]

    assert found.settings["interval"] != "never"
    assert found.measures["overhead"].mean < 0.1
