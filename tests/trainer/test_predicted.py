"""Predicted beside measured: what is counted agrees exactly; no test asserts seconds."""

import hashlib
import json
from types import SimpleNamespace

import pytest

from cprsim.basics.files import write_all
from cprsim.basics.manifest import with_manifest
from cprsim.cli import command as cli
from cprsim.contract import Always, Plan, Recover, Save, Tracking, every
from cprsim.contract.ledger import CAUSES
from cprsim.errors import RunError, ScenarioError
from cprsim.failures.hits import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.policies.full import FULL_ROLLBACK
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.sim.cursor import cursor_of
from cprsim.sim.engine import play_against
from cprsim.trainer.hooks.running_job import MeasuredSpan
from cprsim.trainer.section import trainer_section
from cprsim.trainer.validation import calibration, validated
from cprsim.trainer.validation.calibration import (
    ONE_SERVER,
    Calibration,
    Rehearsal,
    kinds,
    of_job,
)
from cprsim.trainer.validation.predicted import check_predictable, pinned, predict
from tests.trainer.runs import SMALL, scenario, section
from tests.trainer.test_compared import USUAL, run_of

#: Two in one step, one when a save is due, two in one instant, the trainer, one behind the end.
KILLS = "time_s,node\n0.03,0\n0.101,2\n0.109,1\n0.21,1\n0.33,0\n0.33,2\n0.4,3\n0.9,1\n"


@pytest.fixture
def config(tmp_path):
    (tmp_path / "kills.csv").write_text(KILLS)
    path = tmp_path / "small.toml"
    path.write_text(SMALL.read_text(encoding="utf-8"))
    return path


def run(*arguments):
    return cli._main([*map(str, arguments)])


@pytest.mark.slow
def test_what_is_counted_is_predicted_exactly(config, tmp_path, capsys):
    out = tmp_path / "out"
    code = run("validate", config, "--json", "--out", out)
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")

    found = json.loads(printed.out)
    assert json.loads((out / "validate.json").read_text()) == found
    written = (out / "predictions.json").read_bytes()
    assert found["predictions_sha256"] == hashlib.sha256(written).hexdigest()
    for policy, before in json.loads(written)["policies"].items():
        assert found["policies"][policy]["predicted"] == before["predicted"]
    saved = ["full", "partial", "portions"]
    assert list(found["policies"]) == [*saved, "behind"]
    assert found["left_out"] == ["two at once"]  # it has two saves under way
    for policy, of_policy in found["policies"].items():
        for seconds in (of_policy["predicted"], of_policy["measured"]):
            assert set(seconds) == set(CAUSES)
            assert seconds["load"] > 0
            assert (seconds["save"] > 0) == (policy in saved)
            assert (seconds["stall"] > 0) == (policy == "behind")
        assert of_policy["silent"] == 0
        for count in ("failures", "lost_steps"):
            assert of_policy[count]["predicted"] == of_policy[count]["measured"]
        pls = of_policy["pls"]
        assert pls["predicted"] == pytest.approx(pls["measured"], rel=1e-9)
        assert (pls["measured"] > 0) == (policy in ("partial", "portions"))
        updates = of_policy["updates_lost"]
        assert updates["predicted"] == pytest.approx(updates["measured"], rel=0.1)
    full = found["policies"]["full"]
    # Saves every 7 steps; the clock counts all steps. Kills find steps 3, 7 (which was just saved,
    # twice), 18, 26 and 28 (just saved, too).
    assert full["period_steps"] == 7
    assert full["lost_steps"]["measured"] == 3 + 0 + 0 + 4 + 5 + 0
    assert [each["step"] for each in full["kills"]] == [3, 10, 10, 21, 33, 40]

    assert set(found["calibrations"]) == set(found["policies"])


def test_predictions_are_written_down_before_training(config, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    write_all(out, with_manifest({"validate.json": b"of an earlier run"}, {}))
    written = []

    def train(*_):
        written.append(hashlib.sha256((out / "predictions.json").read_bytes()).hexdigest())
        assert not (out / "validate.json").exists()
        return run_of(*USUAL)

    costs = Calibration(0.01, 0.1, 0.1, 0.1, 0.1)
    monkeypatch.setattr(Rehearsal, "carry_out", lambda *_: None)
    monkeypatch.setattr(Rehearsal, "measured", lambda *_: costs)
    monkeypatch.setattr(validated, "train", train)

    assert (run("validate", config, "--policy", "full", "--out", out), len(written)) == (0, 1)
    assert json.loads((out / "validate.json").read_text())["predictions_sha256"] == written[0]
    assert f"SHA-256 {written[0]}" in " ".join(capsys.readouterr().out.split())


def test_repeats_that_are_none_are_refused(config, capsys):
    assert run("validate", config, "--repeats", "0") == 2
    assert capsys.readouterr().err == "cprsim: repeats 0 is not a whole number >= 1\n"


def test_failures_strike_where_so_many_steps_have_been_trained():
    """A job of 10 steps of 1 s, a save every 3 of them; a failure takes 1.375 s."""
    modelled = Scenario(
        job={"useful_time": "10 s"},
        cluster={"parameter_servers": 2, "trainers": 1},
        costs={"save": "0.5 s", "load": "0.25 s", "reschedule": "1 s", "detect": "0.125 s"},
        failures={"exactly": 0},
        policies={"full": {"system": "full", "interval": "3 s"}},
    )
    hits = [Hit((0,), ()), Hit((1,), ()), Hit((0,), ()), Hit((1,), ()), Hit((0,), ())]
    # On a clock of steps of 2 s, nothing but steps taking time.
    cursor = cursor_of(AbsoluteTimeline([9.0, 13.0, 13.5, 18.1, 99.0], hits))

    kills, timeline = pinned(modelled, "full", 1.0, cursor, 2.0)

    assert [kill.executed for kill in kills] == [4, 6, 6, 9]
    assert [kill.hit for kill in kills] == hits[:4]
    # 3 steps, a save, 1 step: 4.5 s. The job is back at 3 at 5.875 s, has done 2 more at 7.875 s,
    # and is back at 9.25 s, when the next strikes at once. Back at 10.625 s; 3 steps later a save
    # is due, and the last one comes just behind it.
    assert timeline.times_s == [4.5, 7.875, 9.25, 14.125]
    ledger = play_against(modelled, "full", timeline)
    assert ledger.failures == 4
    assert ledger.lost == 1 + 2 + 0 + 0
    assert ledger.wall == 14.125 + 1.375 + 4 + 0.5

    # A job that ends before a failure does not meet it.
    beyond = cursor_of(AbsoluteTimeline([10.0, 11.0], [Hit((0,), ()), Hit((0,), ())]))
    assert pinned(modelled, "full", 1.0, beyond, 1.0)[0] == []


def test_a_rehearsal_with_members_that_were_silent_is_spoilt(config, monkeypatch):
    ran = SimpleNamespace(replaced=12, struck=10)
    monkeypatch.setattr(calibration, "train", lambda *_: ran)
    mapping = load_mapping(config)
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])
    with pytest.raises(RunError) as error:
        Rehearsal(scenario, section, "full", scenario.plan("full"), [ONE_SERVER]).carry_out()
    assert str(error.value) == (
        "2 members were silent for too long in the rehearsal, which spoils it; try again on a "
        'quieter machine, or give them longer, e.g. answer = "10 s" in [trainer]'
    )


def test_medians_are_of_each_kind_of_failure_and_weigh_as_these_do_in_the_job():
    """Each third failure is of the trainer alone; a save in nine merges, and one load is slow."""
    hits = [ONE_SERVER, ONE_SERVER, Hit((), (0,))]
    plan = Plan(
        "partial",
        every(5.0, Save(portion=0.5)),
        Always(Recover("lost")),
        tracking=Tracking("mfu", 0.5),
    )
    rehearsal = Rehearsal(scenario(), section(), "mfu", plan, hits)
    spans, now_s = [], 0.0
    for number in range(12):
        alone = number % 2 == 0  # kinds come in turn, and that of none is the first
        told = [
            ("train", 1.0),
            ("save", 0.9 if number == 9 else 0.1),
            ("train", 1.0),
            ("detect", 0.02),
            ("reschedule", 0.3 if alone else 0.6),
            ("load", 0.1 if alone else 8.0 if number == 5 else 0.4),
        ]
        for cause, took_s in told:
            spans.append(MeasuredSpan(cause, now_s, now_s + took_s))
            now_s += took_s
    rows = {0: [3, 4, 3, 4], 1: [4, 5, 4, 5]}
    ran = SimpleNamespace(
        spans=spans, saved_rows=rows, seconds={"train": 20.0, "lost": 4.0}, executed=48
    )

    rehearsal.ran = [ran]
    found = rehearsal.measured()

    assert found.step_s == 0.5
    assert found.save_s == pytest.approx(2.0 / 12)
    assert (found.load_s, found.load_trainer_s) == pytest.approx((0.4, 0.1))
    assert found.reschedule_s == pytest.approx((2 * 0.6 + 0.3) / 3)
    assert found.detect_s == pytest.approx(0.02)
    assert found.rows == 4.5
    assert rehearsal.steps == 12 * 10 + 1


def test_who_fails_at_once_in_the_job(tmp_path):
    def of(**failures):
        return Scenario(
            job={"useful_time": "10 s"},
            cluster={"parameter_servers": 4, "trainers": 1},
            costs={"save": "1 s", "load": "1 s"},
            failures=failures,
            policies={"full": {"system": "full", "interval": "1 s"}},
        )

    log = tmp_path / "failures.csv"
    log.write_text("time_s,node\n1,0\n2,3\n2,1\n2,4\n90,0\n90,1\n90,2\n")
    assert kinds(of_job(of(exactly=0), 0)) == [1]
    assert kinds(of_job(of(exactly=3, hits={"parameter_servers": 3}), 0)) == [3]
    found = of_job(of(trace=str(log), while_waiting=False), 0)
    assert [(each.servers, each.trainers) for each in found] == [((0,), ()), ((1, 3), (0,))]


@pytest.mark.parametrize(("policy", "load_s"), [("full", 10.0), ("partial", 4.0)])
def test_a_trainer_that_fails_alone_loads_its_dense_part(config, policy, load_s):
    """Of five failures two are its: all return in 2 s, shards in 1 s, the trainer in 0.5."""
    (config.parent / "kills.csv").write_text("time_s,node\n0.03,0\n0.1,3\n0.2,1\n0.3,2\n0.4,3\n")
    mapping = load_mapping(config)
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])
    each_s = {"full": 2.0, "partial": 1.0}[policy]
    costs = Calibration(0.01, 0.0, each_s, 7.0, 0.0, load_trainer_s=0.5)
    found = predict(scenario, section, [policy], {policy: costs}).of[policy]

    assert [kill.hit.servers for kill in found.kills][:5] == [(0,), (), (1,), (2,), ()]
    assert found.quantities["load"] == pytest.approx(load_s)
    assert found.quantities["reschedule"] == pytest.approx(7.0 * len(found.kills))


MINE = {"mine": Plan("full", (), FULL_ROLLBACK)}


@pytest.mark.parametrize(
    ("keys", "plans", "fault"),
    [
        (
            {"failures": "at-time"},
            {},
            "trainer.failures: 'at-time' strikes at other steps than a simulation does; write "
            'failures = "at-step" to validate',
        ),
        ({"hangs": 0.5}, {}, "trainer.hangs: 0.5 is in no simulation; write 0 to validate"),
        ({"loading": 1}, {}, "trainer.loading: 1 is in no simulation; write 0 to validate"),
        (
            {},
            MINE,
            "policies.mine: can't be validated yet; choose a policy with one schedule, all of "
            "whose saves are alike, at most one under way at a time, and with one answer to all "
            "failures of servers",
        ),
    ],
)
def test_what_can_not_be_predicted_is_refused(keys, plans, fault):
    with pytest.raises(ScenarioError) as error:
        check_predictable(trainer_section(keys), plans)

    assert str(error.value) == fault
