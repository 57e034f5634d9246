"""Causes of failures, and restarts in place: docs/semantics.md, rules 30 and 40."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.batch import engine as batch
from cprsim.contract.expected import expected
from cprsim.contract.failure_kinds import kinds
from cprsim.contract.ledger import FAILURE_COSTS
from cprsim.errors import ScenarioError
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS
from tests.batch.compare import assert_alike
from tests.drawn import scenarios

Tables = dict[str, Any]
HANG = {"name": "hang", "share": 0.25, "detect": "30 min", "severity": "process"}
CRASH = {"name": "crash", "share": 0.5, "detect": "1 min", "severity": "process"}
LOST = {"name": "lost node", "share": 0.25, "detect": "2 min"}
#: No other failure in a recovery, so that each costs what it says.
ALONE = {"during_recovery": False, "while_waiting": False}


def job(
    causes: list[Tables] | None = None,
    policy: Tables | None = None,
    failures: Tables | None = None,
    cluster: Tables | None = None,
    **costs: Any,
) -> cprsim.Scenario:
    of_failures = {"distribution": "exponential", "mean": "10 h", **ALONE}
    if causes is not None:
        of_failures["causes"] = causes
    return cprsim.Scenario(
        job={"useful_time": "200 h"},
        cluster={"parameter_servers": 4, "trainers": 2, **(cluster or {})},
        costs={"save": "2 min", "load": "3 min", "reschedule": "20 min", **costs},
        failures=of_failures | (failures or {}),
        policies={"it": policy or {"system": "full", "interval": "1 h"}},
    )


def played(scenario: cprsim.Scenario, count: int = 64) -> dict[str, np.ndarray]:
    values = batch.simulate(scenario, ["it"], range(count), 0)[:, 0]
    return dict(zip(COLUMNS, values.T, strict=True))


def accounts(scenario: cprsim.Scenario, count: int = 64) -> tuple[dict[str, Tables], Any]:
    result = cprsim.run(scenario, replications=count)
    return result.causes.set_index("cause").to_dict("index"), result


def test_each_cause_is_noticed_after_its_own_time() -> None:
    found, result = accounts(job([HANG, CRASH, LOST]))

    useful_s = 200 * 3600.0
    for cause, detect_s in (("hang", 1800.0), ("crash", 60.0), ("lost node", 120.0)):
        shares = found[cause]
        assert shares["detect"] * useful_s == pytest.approx(shares["failures"] * detect_s)
    in_all = math.fsum(each["failures"] for each in found.values())
    assert in_all == pytest.approx(result.replications["failures"].mean())


def test_what_causes_cost_adds_up_to_the_ledger() -> None:
    found, result = accounts(job([HANG, CRASH, LOST], failures={"during_recovery": True}))

    for part in FAILURE_COSTS:
        of_causes = math.fsum(each[part] for each in found.values())
        assert of_causes == pytest.approx(result.summary[part]["it"], abs=1e-12)


def test_shares_of_causes_are_those_asked_for() -> None:
    found, result = accounts(job([HANG, CRASH, LOST]))

    failures = result.replications["failures"].sum()
    for cause in (HANG, CRASH, LOST):
        share = found[cause["name"]]["failures"] * result.count / failures
        spread = math.sqrt(cause["share"] * (1 - cause["share"]) / failures)
        assert abs(share - cause["share"]) < 4 * spread


def test_lost_updates_are_of_the_cause_that_takes_servers() -> None:
    on_trainers = {**HANG, "hits": {"trainers": 1}}
    partial = {"system": "cpr-vanilla", "interval": "4 h"}
    found, result = accounts(job([on_trainers, {**LOST, "share": 0.75}], partial))

    assert found["hang"]["updates_lost"] == 0.0 < found["lost node"]["updates_lost"]
    lost = result.summary["updates_lost"]["it"]
    assert found["lost node"]["updates_lost"] == pytest.approx(lost)
    # A failure of a trainer adds no portion of lost samples.
    servers_hit = result.scenario.context.servers_hit
    assert servers_hit == pytest.approx(0.75)


def test_causes_with_means_are_shares_of_their_rates() -> None:
    means = [
        {"name": "a", "mean": "20 h", "severity": "process"},
        {"name": "b", "mean": "60 h", "detect": "5 min"},
    ]
    shares = [
        {"name": "a", "share": 0.75, "severity": "process"},
        {"name": "b", "share": 0.25, "detect": "5 min"},
    ]
    by_means = cprsim.Scenario(**{**job(shares).mapping(), "failures": {"causes": means, **ALONE}})
    by_shares = job(shares, failures={"mean": "15 h"})

    assert by_means.failures.mean_s == pytest.approx(15 * 3600)
    one, other = played(by_means), played(by_shares)
    assert all(np.allclose(one[name], other[name], rtol=1e-9) for name in COLUMNS)


def test_processes_restart_on_their_nodes() -> None:
    """No spare is taken, nothing is rescheduled."""
    found = played(job([{**CRASH, "share": 1.0}], restart="2 min", cluster={"spares": 1}))

    assert found["reschedule"] == pytest.approx(found["failures"] * 120.0)
    assert found["load"] == pytest.approx(found["failures"] * 180.0)


def test_other_failures_wait_for_other_nodes() -> None:
    found, _ = accounts(job([CRASH, {**LOST, "share": 0.5}], restart="2 min"))

    useful_s = 200 * 3600.0
    for cause, wait_s in (("crash", 120.0), ("lost node", 1200.0)):
        waited_s = found[cause]["reschedule"] * useful_s
        assert waited_s == pytest.approx(found[cause]["failures"] * wait_s)


@pytest.mark.slow
def test_nodes_are_repaired_as_their_cause_says() -> None:
    """Without a spare the job waits for the repair, of a cause without one for `reschedule`."""
    law = {"distribution": "gamma", "mean": "3 h", "shape": 4}
    causes = [{**CRASH, "repair": "5 min"}, {**LOST, "repair": law}, {**HANG, "severity": "node"}]
    found, _ = accounts(job(causes), 512)

    waits_s = {
        cause: each["reschedule"] * 200 * 3600 / each["failures"] for cause, each in found.items()
    }
    assert waits_s["crash"] == pytest.approx(300.0)
    assert waits_s["hang"] == pytest.approx(1200.0)
    spread_s = 10800.0 / 2 / math.sqrt(512 * found["lost node"]["failures"])
    assert abs(waits_s["lost node"] - 10800.0) < 4 * spread_s


def test_a_repaired_node_joins_the_spares() -> None:
    """A failure waits for its own repair only if the one before is still in repair."""
    slow = {**LOST, "share": 1.0, "repair": "4 h"}
    failures = {"distribution": "deterministic", "ages": "new"}
    often, rarely = (
        played(job([slow], failures=failures | {"mean": mean}, cluster={"spares": 1}), 1)
        for mean in ("3 h", "10 h")
    )
    assert rarely["reschedule"].sum() == 0.0 < often["reschedule"].sum()


@pytest.mark.parametrize("restart", [{}, {"restart": "2 min", "restart_fails": 0.2}])
def test_the_formula_knows_repairs(restart: Tables) -> None:
    causes = [{**HANG, "repair": "1 h"}, {**CRASH, "repair": "10 min"}, {**LOST, "repair": "5 h"}]
    scenario = job(causes, **restart)
    found, formula = played(scenario, 1024), expected(scenario.plan("it"), scenario.context)

    useful_s = 200 * 3600.0
    waited = found["reschedule"] / useful_s
    running = (found["wall"] - found["detect"] - found["reschedule"] - found["load"]).mean()
    half = 4 * waited.std() / math.sqrt(1024)
    assert abs(waited.mean() - formula.reschedule * running / useful_s) < half


def test_the_formula_knows_which_repairs_spares_spare() -> None:
    """A spare stands in for one server; only failures of four wait for their repair."""
    causes = [
        {"name": "a", "share": 0.8, "repair": "1 min", "hits": {"parameter_servers": 1}},
        {"name": "b", "share": 0.2, "repair": "10 h", "hits": {"parameter_servers": 4}},
    ]
    scenario = cprsim.Scenario(
        job={"useful_time": "20 d"},
        cluster={"parameter_servers": 8, "spares": 1},
        costs={"save": "1 min", "load": "1 min", "reschedule": "3 min"},
        failures={"distribution": "exponential", "mean": "100 h", "causes": causes},
        policies={"it": {"system": "full", "interval": "2 h"}},
    )

    assert expected(scenario.plan("it"), scenario.context).reschedule == pytest.approx(0.02)


def test_a_restart_that_fails_is_a_failure_of_the_node() -> None:
    """It costs the restart and the replacement; its share is the one asked for."""
    scenario = job([{**CRASH, "share": 1.0}], restart="2 min", restart_fails=0.3)
    found = played(scenario, 256)

    failures = found["failures"].sum()
    failed = (found["reschedule"] - 120.0 * found["failures"]).sum() / 1200.0
    assert failed == pytest.approx(round(failed), abs=1e-6)
    assert abs(failed / failures - 0.3) < 4 * math.sqrt(0.3 * 0.7 / failures)
    wasted = [each.share for each in kinds(scenario.context) if each.restart == "fails"]
    assert wasted == [pytest.approx(0.3)]


@pytest.mark.slow
def test_a_restart_in_place_loads_what_hosts_hold() -> None:
    """From host memory after a process died, from the store after a node was lost."""
    policy = {
        "system": "tiered",
        "local": {"interval": "10 min", "save": "1 s", "load": "5 s"},
        "remote": {"interval": "2 h"},
    }
    found, _ = accounts(job([CRASH, {**LOST, "share": 0.5}], policy, restart="1 min"))

    loads_s = {cause: each["load"] * 200 * 3600 / each["failures"] for cause, each in found.items()}
    assert loads_s == pytest.approx({"crash": 5.0, "lost node": 180.0})


def test_a_law_of_restarts_has_its_mean() -> None:
    law = {"distribution": "gamma", "mean": "4 min", "shape": 4}
    found = played(job([{**CRASH, "share": 1.0}], restart=law), 256)

    waits_s = found["reschedule"].sum() / found["failures"].sum()
    spread_s = 240.0 / 2 / math.sqrt(found["failures"].sum())
    assert abs(waits_s - 240.0) < 4 * spread_s


def test_machines_of_the_policy_take_over_from_processes_too() -> None:
    swap = {"system": "hot-swap", "iteration": "1 s", "takeover": "40 s", "snapshot": "1 GB"}
    found = played(job([{**CRASH, "share": 1.0}], swap, restart="2 min"))

    # With two spares, each away for 20 min, hardly any failure waits longer.
    assert np.median(found["reschedule"] / found["failures"]) == pytest.approx(40.0)


@pytest.mark.parametrize("in_place", [None, ["node"], ["process", "node"]])
def test_the_formula_knows_causes_and_restarts(in_place: list[str] | None) -> None:
    """First order leaves out failures in recoveries, of which there are none here."""
    cluster = None if in_place is None else {"restarts_in_place": in_place}
    scenario = job([HANG, CRASH, LOST], cluster=cluster, restart="2 min", restart_fails=0.2)
    found, formula = played(scenario, 1024), expected(scenario.plan("it"), scenario.context)

    useful_s = 200 * 3600.0
    for part in ("detect", "reschedule", "load"):
        mean = found[part].mean() / useful_s
        half = 4 * found[part].std() / math.sqrt(1024) / useful_s
        # Failures come at one per MTBF of running time, which saves and reloads make longer.
        running = (found["wall"] - found["detect"] - found["reschedule"] - found["load"]).mean()
        assert abs(mean - getattr(formula, part) * running / useful_s) < half


def test_policies_that_train_on_wait_for_no_restart() -> None:
    """What a restart takes in vain holds nobody up who trains on meanwhile."""
    policy = {"system": "accepted-loss", "interval": "1 h", "snapshot": "0 s"}
    given: Tables = {"restart": "20 min", "restart_fails": 0.5}
    scenario = job([{**CRASH, "share": 1.0}], policy, **given)

    assert played(scenario)["reschedule"].sum() == 0.0
    assert expected(scenario.plan("it"), scenario.context).reschedule == 0.0


def test_cpr_plans_with_the_time_that_nodes_are_away() -> None:
    """Fewer failures come in shorter recoveries, so that it saves more rarely for its target."""
    policy = {"system": "cpr-vanilla", "target_pls": 0.1}
    always: Tables = {"during_recovery": True, "while_waiting": True}
    processes = [{**CRASH, "share": 1.0}]
    waits, restarts = (
        job(processes, policy, always, reschedule="10 h", **costs).plan("it").interval_s
        for costs in ({}, {"restart": "1 min"})
    )
    assert restarts != waits


def test_a_mean_beside_causes_with_means_is_that_of_all() -> None:
    causes = [{"name": "a", "mean": "20 h"}, {"name": "b", "mean": "60 h"}]
    failures = {"causes": causes, "mean": "5 h"}
    found = cprsim.Scenario(**{**job().mapping(), "failures": failures}).failures

    assert found.mean_s == 5 * 3600
    assert [each.share for each in found.causes or ()] == pytest.approx([0.75, 0.25])


def test_values_of_a_cause_are_set_by_its_name() -> None:
    for key in ("hang", "0"):
        changed = job([HANG, CRASH, LOST]).with_values({f"failures.causes.{key}.detect": "5 min"})
        causes = changed.failures.causes or ()
        assert [each.detect for each in causes] == [300.0, 60.0, 120.0]
    with pytest.raises(ScenarioError, match="'nobody' is none of hang, crash, lost node, or"):
        job([HANG, CRASH, LOST]).with_values({"failures.causes.nobody.detect": "5 min"})


@st.composite
def cured(draw: st.DrawFn) -> Tables:
    """Random scenarios with causes and restarts in place."""
    tables: Tables = draw(scenarios())
    failures = tables["failures"]
    failures.pop("severity", None)
    mtbf_s = 1000.0 + 9000.0 * draw(st.floats(0, 1))
    weights = draw(st.lists(st.floats(0.1, 1.0), min_size=1, max_size=3))
    severities = st.sampled_from(["process", "process", "node", "cluster"])
    delays = st.one_of(
        st.none(),
        st.integers(0, 20).map(lambda share: f"{share * mtbf_s / 1000!r} s"),
        st.just({"distribution": "exponential", "mean": f"{mtbf_s / 100!r} s"}),
    )
    causes = []
    for number, weight in enumerate(weights):
        cause: Tables = {"name": f"c{number}", "share": weight / math.fsum(weights)}
        cause["severity"] = "process" if number == 0 else draw(severities)
        times = {"detect": draw(delays), "repair": draw(delays)}
        cause |= {part: time for part, time in times.items() if time is not None}
        takes_all = failures.get("per") == "node" or cause["severity"] == "cluster"
        if not takes_all and draw(st.booleans()):
            cause["hits"] = {"parameter_servers": 1}
        causes.append(cause)
    failures["causes"] = causes
    exponential = failures.get("distribution", "exponential") == "exponential"
    if failures.get("per") != "node" or (exponential and "frailty_of" not in failures):
        costs = tables.setdefault("costs", {})
        costs["restart"] = draw(delays) or "1 s"
        if draw(st.booleans()):
            costs["restart_fails"] = draw(st.integers(0, 5)) / 10
        if draw(st.booleans()):
            tables["cluster"]["restarts_in_place"] = ["process", "node"]
    return tables


@given(cured())
def test_both_engines_play_causes_alike(tables: Tables) -> None:
    assert_alike(cprsim.Scenario(**tables), [0, 1, 256])


def test_causes_move_no_other_draw() -> None:
    """A cause that is like all failures were changes no bit."""
    alone = job(failures={"severity": {"node": 1}})
    caused = job([{"name": "any", "share": 1.0}])

    assert (
        sim.simulate(alone, ["it"], range(8), 3) == sim.simulate(caused, ["it"], range(8), 3)
    ).all()
