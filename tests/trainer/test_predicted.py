"""Predicted beside measured: what is counted agrees exactly; no test asserts seconds."""

import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from cprsim.basics.files import write_all
from cprsim.basics.manifest import with_manifest
from cprsim.cli import command as cli
from cprsim.contract import (
    REMOTE,
    Answers,
    Case,
    Clock,
    Failed,
    Plan,
    Recover,
    Redundancy,
    Save,
    Tier,
    Train,
    every,
)
from cprsim.contract.ledger import CAUSES
from cprsim.errors import RunError, ScenarioError
from cprsim.failures.hit import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.policies.accepted_loss import nobody_waits
from cprsim.policies.ecrm import PARITIES, every_group_decodes
from cprsim.policies.full import FULL_ROLLBACK
from cprsim.scenario import Scenario, load_scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.sim.cursor import cursor_of
from cprsim.sim.engine import play, play_against
from cprsim.trainer.coordinator.accounts import MeasuredSpan
from cprsim.trainer.section import trainer_section
from cprsim.trainer.validation import calibration, validated
from cprsim.trainer.validation.calibration import Calibration, measured, rehearse
from cprsim.trainer.validation.longness import longness
from cprsim.trainer.validation.modelled import (
    _resolved,
    check_predictable,
    hits_of,
    is_predictable,
    period_of,
)
from cprsim.trainer.validation.pinned import pinned
from cprsim.trainer.validation.predicted import predict
from cprsim.trainer.validation.rehearsal import (
    kinds,
    lost,
    rehearsal,
    rehearsal_of,
    strikes,
)
from cprsim.trainer.validation.stretches import StretchTimes
from cprsim.trainer.validation.validated import Validation
from tests.trainer.parities import checked_at_the_end
from tests.trainer.sources import criteo_lines
from tests.trainer.test_compared import USUAL, run_of
from tests.trainer.test_rehearsed import seconds_of

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
[policies."two at once"]
system = "async"
interval = "65 ms"
in_flight = 2
[policies.unmissed]
system = "accepted-loss"
interval = "65 ms"
[policies.twins]
system = "replication"
[policies.triplets]
system = "replication"
copies = 3
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
    assert list(found["policies"]) == [*saved, "behind", "unmissed", "triplets"]
    # The first has two saves under way; of the second both copies of a shard are lost at once.
    assert found["left_out"] == ["two at once", "twins"]
    for policy, of_policy in found["policies"].items():
        for seconds in (of_policy["predicted"], of_policy["measured"]):
            assert set(seconds) == set(CAUSES)
            assert seconds["load"] > 0
            assert (seconds["save"] > 0) == (policy in saved)
            assert (seconds["stall"] > 0) == (policy in ("behind", "unmissed"))
        assert of_policy["silent"] == 0
        for count in ("failures", "lost_steps"):
            assert of_policy[count]["predicted"] == of_policy[count]["measured"]
        pls = of_policy["pls"]
        assert pls["predicted"] == pytest.approx(pls["measured"], rel=1e-9)
        assert (pls["measured"] > 0) == (policy in ("partial", "portions", "unmissed"))
        updates = of_policy["updates_lost"]
        assert updates["predicted"] == pytest.approx(updates["measured"], rel=0.1)
    full = found["policies"]["full"]
    # Saves every 7 steps; the clock counts all steps. Kills find steps 3, 7 (a save is due, and
    # comes too late), 0, 11, 19 and 21 (due again).
    assert full["period_steps"] == 7
    assert full["lost_steps"]["measured"] == 3 + 7 + 0 + 4 + 5 + 7
    assert [each["step"] for each in full["kills"]] == [3, 10, 10, 21, 33, 40]

    modelled = load_scenario(out / "scenario.toml")
    step_s = modelled.job.useful_time_s / 60
    assert set(found["calibrations"]) == set(found["policies"])
    assert modelled.policies["full"].interval == pytest.approx(7 * step_s, rel=1e-12)
    assert play(modelled, "full", 0, 0).failures > 0


#: The tables are those of the files.
OF_FILES = """
title = "on files"
[job]
useful_time = "0.4 s"
samples = 1280
[cluster]
trainers = 1
parameter_servers = 2
[costs]
save = "0 s"
load = "0 s"
[failures]
exactly = 3
while_waiting = false
[trainer]
data = { criteo = "train.txt", most_rows = 100 }
batch = 32
test_samples = 128
answer = "60 s"
[policies.full]
system = "full"
interval = "65 ms"
"""


@pytest.mark.slow
def test_a_job_on_files_rehearses_on_their_samples_as_often_as_it_takes(tmp_path, capsys):
    (tmp_path / "train.txt").write_text("\n".join([*criteo_lines(1408), ""]))
    config = tmp_path / "of-files.toml"
    config.write_text(OF_FILES)

    assert run("validate", config, "--json") == 0
    of = json.loads(capsys.readouterr().out)["policies"]["full"]
    for what in ("pls", "failures", "lost_steps"):
        assert of[what]["predicted"] == of[what]["measured"]
    assert of["failures"]["measured"] == 3


@pytest.mark.slow
def test_parities_are_predicted_from_a_rehearsal_of_their_own(tmp_path, capsys, monkeypatch):
    """Of its steps, which have what is sent to parities, and of the time to work rows out."""
    (tmp_path / "kills.csv").write_text("time_s,node\n0.03,0\n0.21,1\n0.33,2\n0.4,3\n")
    head, _ = SMALL.split("[policies.full]")
    config = tmp_path / "coded.toml"
    config.write_text(f'{head}[policies.coded]\nsystem = "ecrm"\ninterval = "65 ms"\n')

    checked = checked_at_the_end(monkeypatch)
    code = run("validate", config, "--json")
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    assert checked

    found = json.loads(printed.out)["policies"]["coded"]
    for count in ("failures", "lost_steps", "pls", "updates_lost"):
        assert found[count]["predicted"] == found[count]["measured"]
    assert found["failures"]["measured"] == 4
    for seconds in (found["predicted"], found["measured"]):
        assert seconds["load"] > 0
        assert seconds["save"] > 0
        assert seconds["lost"] == 0
    assert found["predicted"]["slowdown"] == found["measured"]["slowdown"] == 0


def test_parities_of_a_policy_of_ones_own_are_modelled_by_what_its_plan_says():
    """Its keys are its own: of the groups that it keeps only the plan tells."""
    answers = every_group_decodes(4, 3, 0.1, 30.0)
    plan = Plan(
        "parity",
        every(20.0),
        answers,
        tiers=(Tier(PARITIES, "peers"), REMOTE),
        slowdown=0.2,
        redundancy=Redundancy(PARITIES, 3, 1),
    )
    given = {"system": "mine", "keep": 4, "stripes": 3}

    own = _resolved(given, plan, 5, SimpleNamespace(step_s=0.5))  # type: ignore[arg-type]

    scenario = Scenario(
        job={"useful_time": "10 s"},
        model={"embedding": "1 MB"},
        cluster={"parameter_servers": 4, "trainers": 1},
        costs={"save": "0.5 s", "load": "0.25 s", "reschedule": "1 s"},
        failures={"exactly": 0},
        policies={"mine": own},
    )
    played = scenario.plan("mine")
    assert (played.redundancy, played.slowdown) == (plan.redundancy, 0.0)
    assert played.schedules[0].interval_s == 2.5
    assert scenario.policies["mine"].keep == 4
    answer = played.recover(lost(1))
    assert (answer.degraded, answer.pause_s) == (0.0, 0.0)
    assert is_predictable(plan, [Hit((1,), ()), Hit((2,), ())])
    # Which no group decodes: it is answered otherwise.
    assert not is_predictable(plan, [Hit((1,), ()), Hit((1, 2), ())])
    waits = Answers((Case(Recover("none", source=PARITIES)),))
    assert not is_predictable(replace(plan, recover=waits))


@pytest.mark.parametrize("meddle", ["change", "remove", "leave"])
def test_predictions_are_written_down_before_training(
    meddle, config, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out"
    write_all(out, with_manifest({"validate.json": b"of an earlier run"}, {}))
    place = out / "predictions.json"
    written = []

    def train(*_):
        written.append(hashlib.sha256(place.read_bytes()).hexdigest())
        assert not (out / "validate.json").exists()
        if meddle == "remove":
            place.unlink(missing_ok=True)
        elif meddle == "change":
            place.write_bytes(b"{}")
        return run_of(*USUAL)

    costs = Calibration(0.01, 0.1, 0.1, 0.1, 0.1, 0.1)
    monkeypatch.setattr(validated, "rehearse", lambda *_: None)
    monkeypatch.setattr(validated, "measured", lambda *_: costs)
    monkeypatch.setattr(validated, "train", train)
    code = run("validate", config, "--policy", "full", "--out", out)
    told = capsys.readouterr()

    if meddle == "leave":
        assert (code, len(written)) == (0, 1)
        assert json.loads((out / "validate.json").read_text())["predictions_sha256"] == written[0]
        assert f"SHA-256 {written[0]}" in " ".join(told.out.split())
        return
    there = {"remove": "none", "change": hashlib.sha256(b"{}").hexdigest()}[meddle]
    assert code == 1
    assert told.err == (
        f"cprsim: {place}: was changed since training began, so nothing is compared with it: its "
        f"SHA-256 is {there}, and was {written[0]}; leave the folder alone meanwhile\n"
    )
    assert not (out / "validate.json").exists()


def test_repeats_that_are_none_are_refused(config, capsys):
    assert run("validate", config, "--repeats", "0") == 2
    assert capsys.readouterr().err == "cprsim: repeats 0 is not a whole number >= 1\n"


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
    cursor = cursor_of(AbsoluteTimeline([9.0, 13.0, 13.5, 18.1, 99.0], hits))

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
    cursor = cursor_of(AbsoluteTimeline([10.0, 11.0], [Hit((0,), ()), Hit((0,), ())]))

    met = pinned(modelled, "full", 1.0, cursor, 1.0)

    assert met.kills == []
    assert list(met.timeline.times_s) == []


def test_what_is_rehearsed_alike_counts_for_all(config, monkeypatch):
    """Titles, intervals, seeds and lengths of jobs don't matter; servers, batches and hits do."""

    def rehearsed(name, seed=0, **sections):
        monkeypatch.setattr(validated, "rehearse", lambda *_: name)
        mapping = load_mapping(config) | {"title": name}
        for section, keys in sections.items():
            mapping[section] |= keys
        section = trainer_section(mapping["trainer"])
        found = Validation(Scenario(**scenario_tables(mapping)), section, ["full"], seed)
        found.rehearse()
        return found

    alike = [
        rehearsed("one"),
        rehearsed(
            "other",
            1,
            job={"samples": 1920},
            policies={"full": {"system": "full", "interval": "50 ms"}},
        ),
    ]
    others = [
        rehearsed("of four servers", cluster={"parameter_servers": 4}),
        rehearsed("of smaller batches", trainer={"batch": 32}),
        rehearsed("of one server at a time", failures={"exactly": 1, "trace": None}),
    ]
    counted = []
    monkeypatch.setattr(validated, "measured", lambda ran, *_: counted.append(ran))
    monkeypatch.setattr(validated, "predict", lambda *_: None)
    for each in alike + others:
        each.predict(alike + others)

    assert counted == [
        ["one", "other"],
        ["other", "one"],
        ["of four servers"],
        ["of smaller batches"],
        ["of one server at a time"],
    ]


def test_a_rehearsal_with_members_that_were_silent_is_spoilt(config, monkeypatch):
    ran = SimpleNamespace(replaced=12, struck=10)
    monkeypatch.setattr(calibration, "carry_out", lambda *_: ran)
    mapping = load_mapping(config)
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])
    with pytest.raises(RunError) as error:
        rehearse(scenario, section, rehearsal(None))
    assert str(error.value) == (
        "2 members were silent for too long in the rehearsal, which spoils it; try again on a "
        'quieter machine, or give them longer, e.g. answer = "10 s" in [trainer]'
    )


def test_what_trains_on_is_rehearsed_with_its_own_saves_and_answers(modelled):
    """A save holds training up for 3 ms; one that has to land before a failure for less."""
    own = Plan("partial", every(9.0, Save(blocking=False)), nobody_waits(2, 1))
    plan = rehearsal_of(own)
    spans, struck, now_s = [], 0, 0.0
    for stretch in plan.script:
        after = [("train", 0.1), ("stall", 0.003)]
        if stretch.returns is not None:
            before = [("train", 0.02), ("stall", 0.0001), ("detect", 0.002)]
            after = [*before, ("reschedule", 0.01), ("load", 0.02), *after]
            struck += 1
        for cause, took_s in after:
            spans.append(MeasuredSpan(cause, now_s, now_s + took_s))
            now_s += took_s
    ran = SimpleNamespace(
        spans=spans, parts=[], seconds=seconds_of(spans), replaced=struck, struck=struck
    )

    found = measured([ran], plan, modelled)

    assert {each.returns for each in strikes(plan.script)} == {"lost"}
    assert (found.stall_s, found.beside_s) == pytest.approx((0.003, 0.02))
    assert (found.save_s, found.reschedule_s) == pytest.approx((0.0, 0.01))
    assert plan.start().ask(Clock(0.0, 0.0)) == Train(13)
    asked = plan.start()
    asked.tell(Failed(Clock(1.0, 1.0), lost(1)))
    assert asked.ask(Clock(1.0, 1.0)).keep_training


def test_stretches_take_more_than_their_steps(modelled):
    """Those of `test_failures_strike_where_so_many_steps_have_been_trained`."""
    timeline = AbsoluteTimeline([4.5, 7.875, 9.25, 13.625], [Hit((0,), ())] * 4)
    costs = Calibration(*(1.0, 0, 0, 0, 0, 0), stretch_s=0.1, resumed_s=0.001, slow_s=0.01)
    times = StretchTimes(costs, 2)
    play_against(modelled, "full", timeline, times)

    # Struck are stretches of 1, 2 and 3 steps, the last two of which follow a recovery; none is
    # under way when the third failure strikes. Kept are 3, 3 after a recovery, 3, and 1.
    lost_s, kept_s = (0.01 * sum(map(longness, steps)) for steps in ((1, 2, 3), (3, 3, 3, 1)))
    assert times.lost_s == pytest.approx(1 + 2 + 3 + 0.1 + 2 * 0.001 + lost_s)
    assert times.kept_s == pytest.approx(10 + 3 * 0.1 + 0.001 + kept_s)


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
    assert kinds(hits_of(of(exactly=0), 0)) == [1]
    assert kinds(hits_of(of(exactly=3, hits={"parameter_servers": 3}), 0)) == [3]
    found = hits_of(of(trace=str(log), while_waiting=False), 0)
    assert [(each.servers, each.trainers) for each in found] == [((0,), ()), ((1, 3), (0,))]


@pytest.mark.parametrize(
    ("policy", "load_s"), [("full", 10.0), ("partial", 4.0), ("triplets", 13.0)]
)
def test_a_trainer_that_fails_alone_loads_its_dense_part(config, policy, load_s):
    """Of five failures two are its: all return in 2 s, shards in 1 s or 4, the trainer in 0.5."""
    (config.parent / "kills.csv").write_text("time_s,node\n0.03,0\n0.1,3\n0.2,1\n0.3,2\n0.4,3\n")
    mapping = load_mapping(config)
    scenario, section = Scenario(**scenario_tables(mapping)), trainer_section(mapping["trainer"])
    costs = {"load_full_s": 2.0, "load_partial_s": 1.0, "beside_s": 4.0, "load_trainer_s": 0.5}
    costs |= {"step_s": 0.01, "save_s": 0.0, "reschedule_s": 7.0, "detect_s": 0.0}
    found = predict(scenario, section, [policy], {policy: Calibration(**costs)}).of[policy]

    assert [kill.hit.servers for kill in found.kills][:5] == [(0,), (), (1,), (2,), ()]
    assert found.ledger.load == pytest.approx(load_s)
    assert found.ledger.reschedule == pytest.approx(7.0 * len(found.kills))


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
        "policies.mine: can't be validated yet; choose a policy with one schedule, all of whose "
        "saves are alike, at most one under way at a time, and with one answer to all failures of "
        "servers"
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
