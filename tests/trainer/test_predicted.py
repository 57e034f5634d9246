"""Predicted beside measured: what is counted agrees exactly; no test asserts seconds."""

import json
from types import SimpleNamespace

import pytest

from cprsim.cli import command as cli
from cprsim.contract import Plan, Save, Tracking, every
from cprsim.contract.ledger import CAUSES
from cprsim.errors import RunError, ScenarioError
from cprsim.failures.hit import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.policies.full import FULL_ROLLBACK
from cprsim.scenario import Scenario, load_scenario
from cprsim.sim.engine import play, play_against
from cprsim.trainer.coordinator.accounts import MeasuredSpan, ShardSave
from cprsim.trainer.section import trainer_section
from cprsim.trainer.validation.calibration import measured
from cprsim.trainer.validation.modelled import check_predictable, period_of
from cprsim.trainer.validation.pinned import pinned
from cprsim.trainer.validation.rehearsal import rehearsal, strikes
from tools.pages.predicted import rows_of, table

#: Steps of 0.01 s; what failures hit comes from the log.
SMALL = """
title = "small"
[job]
useful_time = "0.6 s"
samples = 3840
[model]
tables = [
    { rows = 3000, dim = 8, skew = "dlrm-production" },
    { rows = 50, dim = 8, skew = "dlrm-production" },
]
[cluster]
trainers = 1
parameter_servers = 3
[costs]
save = "0 s"
load = "0 s"
[failures]
trace = "kills.csv"
[trainer]
batch = 64
test_samples = 256
answer = "60 s"
[policies.full]
system = "full"
interval = "65 ms"
[policies.partial]
system = "partial"
interval = "65 ms"
[policies.portions]
system = "cpr-mfu"
fraction = 0.25
interval = "80 ms"
[policies.behind]
system = "async"
interval = "65 ms"
"""
#: Two in one step, one when a save is due, two in one instant, the trainer, one behind the end.
KILLS = "time_s,node\n0.03,0\n0.101,2\n0.109,1\n0.21,1\n0.33,0\n0.33,2\n0.4,3\n0.9,1\n"


@pytest.fixture
def config(tmp_path):
    (tmp_path / "kills.csv").write_text(KILLS)
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def run(*arguments):
    return cli._main([*map(str, arguments)])


@pytest.mark.slow
@pytest.mark.essential
def test_what_is_counted_is_predicted_exactly(config, tmp_path, capsys):
    out = tmp_path / "out"
    code = run("validate", config, "--json", "--out", out)
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")

    found = json.loads(printed.out)
    assert json.loads((out / "validate.json").read_text()) == found
    assert list(found["policies"]) == ["full", "partial", "portions"]
    assert found["left_out"] == ["behind"]
    for policy, of_policy in found["policies"].items():
        for seconds in (of_policy["predicted"], of_policy["measured"]):
            assert set(seconds) == set(CAUSES)
            assert seconds["save"] > 0
            assert seconds["load"] > 0
        assert of_policy["silent"] == 0
        for count in ("failures", "lost_steps"):
            assert of_policy[count]["predicted"] == of_policy[count]["measured"]
        pls = of_policy["pls"]
        assert pls["predicted"] == pytest.approx(pls["measured"], rel=1e-9)
        assert (pls["measured"] > 0) == (policy != "full")
        updates = of_policy["updates_lost"]
        assert updates["predicted"] == pytest.approx(updates["measured"], rel=0.1)
    full = found["policies"]["full"]
    # Saves every 7 steps; the clock counts all steps. Kills find steps 3, 7 (a save is due, and
    # comes too late), 0, 11, 19 and 21 (due again).
    assert full["period_steps"] == 7
    assert full["lost_steps"]["measured"] == 3 + 7 + 0 + 4 + 5 + 7
    assert [each["step"] for each in full["kills"]] == [3, 10, 10, 21, 33, 40]

    modelled = load_scenario(out / "scenario.toml")
    steps, step_s = 60, found["calibration"]["step_s"]
    assert modelled.job.useful_time_s == pytest.approx(steps * step_s, rel=1e-12)
    assert modelled.policies["full"].interval == pytest.approx(7 * step_s, rel=1e-12)
    assert play(modelled, "full", 0, 0).failures > 0


@pytest.fixture
def modelled():
    """A job of 10 steps of 1 s, a save every 3 of them; a failure takes 1.375 s."""
    return Scenario(
        job={"useful_time": "10 s"},
        cluster={"parameter_servers": 2, "trainers": 1},
        costs={
            "save": "0.5 s",
            "load": "0.25 s",
            "reschedule": "1 s",
            "detect": "0.125 s",
        },
        failures={"exactly": 0},
        policies={"full": {"system": "full", "interval": "3 s"}},
    )


def test_failures_strike_where_so_many_steps_have_been_trained(modelled):
    hits = [Hit((0,), ()), Hit((1,), ()), Hit((0,), ()), Hit((1,), ()), Hit((0,), ())]
    # On a clock of steps of 2 s, nothing but steps taking time.
    cursor = AbsoluteTimeline([9.0, 13.0, 13.5, 18.1, 99.0], hits).cursor()

    met = pinned(modelled, "full", 1.0, cursor, 2.0)

    assert [kill.executed for kill in met.kills] == [4, 6, 6, 9]
    assert [kill.hit for kill in met.kills] == hits[:4]
    # 3 steps, a save, 1 step: 4.5 s. The job is back at 3 at 5.875 s, has done 2 more at 7.875 s,
    # and is back at 9.25 s, when the next strikes at once. Back at 10.625 s; 3 steps later a save
    # is due, and the last one comes before it.
    assert met.timeline.times_s == [4.5, 7.875, 9.25, 13.625]
    ledger = play_against(modelled, "full", met.timeline)
    assert ledger.failures == 4
    assert ledger.lost == 1 + 2 + 0 + 3
    assert ledger.wall == 13.625 + 1.375 + 7 + 2 * 0.5


def test_a_job_that_ends_before_a_failure_does_not_meet_it(modelled):
    cursor = AbsoluteTimeline([10.0, 11.0], [Hit((0,), ()), Hit((0,), ())]).cursor()

    met = pinned(modelled, "full", 1.0, cursor, 1.0)

    assert met.kills == []
    assert list(met.timeline.times_s) == []


def test_a_rehearsal_strikes_a_step_before_a_save():
    script = rehearsal(Tracking("mfu", 0.25)).script
    progress, executed, found = 0, 0, []
    for stretch in script:
        if stretch.returns is not None:
            found.append(executed + stretch.end - 1 - progress)
            executed = found[-1] + (stretch.end - 1 - progress if stretch.returns == "all" else 0)
            executed += 1
        else:
            executed += stretch.end - progress
        progress = stretch.end

    assert [each.executed for each in strikes(script)] == found
    assert {each.returns for each in strikes(script)} == {"all", "lost"}


def rehearsed(plan, *, whole_s, portion_s):
    """Spans of a rehearsal in which everything takes the same time each time."""
    now_s, spans, parts, done, appended = 0.0, [], [], 0, 0

    def take(cause, seconds):
        nonlocal now_s
        spans.append(MeasuredSpan(cause, now_s, now_s + seconds))
        now_s += seconds

    for stretch in plan.script:
        take("train", 0.01 * (stretch.end - done))
        if stretch.returns is not None:
            take("detect", 0.002)
            take("reschedule", 0.05)
            # The store merges when twice as much is appended: after each third save.
            take("load", (0.03 if stretch.returns == "all" else 0.02) + 0.004 * (appended % 3))
            take("train", 0.01)
        done = stretch.end
        chosen = stretch.save.portion < 1
        appended += chosen
        take("save", portion_s if chosen else whole_s)
        for server in (0, 1):
            rows = 100 if chosen else None
            parts.append(ShardSave(done, server, 1000, rows, 0.001 * server, 0.002, 0.003))
    return SimpleNamespace(spans=spans, parts=parts, replaced=10, struck=10)


def test_a_calibrated_model_charges_what_was_measured():
    scenario = Scenario(
        job={"useful_time": "1 s", "samples": 10_000},
        model={"tables": [{"rows": 4000, "dim": 4}, {"rows": 30, "dim": 4}]},
        cluster={"parameter_servers": 2, "trainers": 1},
        costs={"save": "1 s", "load": "1 s"},
        failures={"exactly": 0},
        policies={"full": {"system": "full", "interval": "1 s"}},
    )
    tracking = Tracking("mfu", 0.125)
    plan = rehearsal(tracking)
    ran = rehearsed(plan, whole_s=0.016, portion_s=0.009)

    found = measured(ran, plan, scenario)
    model = Scenario(**(scenario.mapping() | {"costs": found.costs})).cost_model
    tier = plan.tier("remote")

    assert found.step_s == pytest.approx(0.01)
    assert model.seconds(model.save(tier)) == pytest.approx(0.016)
    assert model.seconds(model.save(tier, 0.125)) == pytest.approx(0.009)
    assert model.seconds(model.load(tier, "all", 1)) == pytest.approx(0.03)
    assert model.seconds(model.load(tier, "lost", 1)) == pytest.approx(0.02)
    assert model.reschedule_mean_s == pytest.approx(0.05)
    assert found.detect_s == pytest.approx(0.002)
    assert found.select_s == pytest.approx(0.001)  # of the slower server
    assert found.append_s == pytest.approx(0.004)
    ran.replaced += 2
    with pytest.raises(RunError) as error:
        measured(ran, plan, scenario)
    assert str(error.value) == (
        "2 members were silent for too long in the rehearsal, which spoils it; try again on a "
        'quieter machine, or give them longer, e.g. answer = "10 s" in [trainer]'
    )


def test_a_period_is_whole_steps():
    def plan(interval_s, portion=1.0):
        return Plan("full", every(interval_s, Save(portion=portion)), FULL_ROLLBACK)

    assert period_of(plan(3.0), 1.0) == 3
    assert period_of(plan(0.3), 0.1) == 3  # 0.3 / 0.1 is a little less than 3
    assert period_of(plan(3.1), 1.0) == 4
    assert period_of(plan(20.0, 0.125), 1.0) == 3
    assert period_of(plan(float("inf")), 1.0) is None


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        (
            {"failures": "at-time"},
            "trainer.failures: 'at-time' strikes at other steps than a simulation does; write "
            'failures = "at-step" to validate',
        ),
        ({"hangs": 0.5}, "trainer.hangs: 0.5 is in no simulation; write 0 to validate"),
        ({"saving": 1}, "trainer.saving: 1 is in no simulation; write 0 to validate"),
        ({"loading": 1}, "trainer.loading: 1 is in no simulation; write 0 to validate"),
    ],
)
def test_failures_that_can_not_be_predicted_are_refused(keys, fault):
    with pytest.raises(ScenarioError) as error:
        check_predictable(trainer_section(keys), 1, {})

    assert str(error.value) == fault


def test_a_plan_that_can_not_be_predicted_is_refused():
    with pytest.raises(ScenarioError) as error:
        check_predictable(trainer_section({}), 1, {"mine": Plan("full", (), FULL_ROLLBACK)})

    assert str(error.value) == (
        "policies.mine: can't be validated yet; choose a policy with one schedule of saves that "
        "training waits for, and no copies"
    )


def test_several_trainers_are_refused():
    with pytest.raises(ScenarioError) as error:
        check_predictable(trainer_section({}), 2, {})

    assert str(error.value) == "cluster.trainers: 2 can't be validated yet; give 1"


def test_without_torch_the_command_says_what_to_install(config, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert run("validate", config) == 2
    assert capsys.readouterr().err == (
        'cprsim: torch is not installed, and real training needs it: pip install "cprsim[torch]"\n'
    )


def compared(measured, predicted):
    """A document of one run, all causes alike."""
    causes = dict.fromkeys(CAUSES, 0.0) | {"save": 1.0}
    return {
        "predicted": causes | predicted,
        "measured": causes | measured,
        "overhead_s": {"predicted": 1.0, "measured": 1.0 + measured.get("more", 0.0)},
        "pls": {"predicted": 0.1, "measured": 0.1 + 1e-15},
        "updates_lost": {"predicted": 0.095, "measured": 0.1},
        "failures": {"predicted": 4, "measured": 4},
        "lost_steps": {"predicted": 9, "measured": 10},
    }


def test_the_page_tells_what_is_within_bounds():
    runs = [compared({"load": 0.06 + late, "more": late}, {"load": 0.1}) for late in (0, 0.03, 9)]
    rows = list(rows_of("here", "full", runs))

    found = {row.what: (row.predicted, row.measured, row.within) for row in rows}
    assert found["save"] == (1.0, 1.0, True)
    assert found["load"] == (0.1, pytest.approx(0.09), True)  # the median of three
    assert "lost" not in found
    assert found["overhead"] == (1.0, 1.03, True)
    assert found["pls"][2]
    assert found["updates_lost"] == (0.095, 0.1, True)
    assert found["lost_steps"] == (9, 10, False)
    lines = table(rows).splitlines()
    assert "| here | full | load | 100 ms | 90 ms | +10 ms (+11.1 %) | yes |" in lines
    assert "| here | full | lost_steps | 9 | 10 | -1 (-10.0 %) | **no** |" in lines
