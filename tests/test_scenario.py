import copy
import math
import pickle
import tomllib
from pathlib import Path

import pytest
import tomli_w
from pydantic import ValidationError

import cprsim
from cprsim.errors import ScenarioError
from cprsim.job.workload import Job
from cprsim.policies.cpr import CprVanilla
from cprsim.policies.full import Full
from cprsim.scenario import Scenario, load_scenario
from cprsim.scenario.mapping import apply_override, parts_of

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FLEETS = {"production-fleet"}
SHIPPED = sorted({path.stem for path in SCENARIOS.glob("*.toml")} - FLEETS)
LANL = SCENARIOS / "../../shared/data/lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
EVERYTHING = tomllib.loads(Path(__file__).with_name("everything.toml").read_text(encoding="utf-8"))


def mapping(**tables) -> dict:
    """A sound scenario, with some of its tables replaced."""
    return {
        "job": {"useful_time": "10 h"},
        "cluster": {"trainers": 4, "parameter_servers": 4},
        "costs": {"save": "1 min", "load": "2 min"},
        "failures": {"distribution": "exponential", "mean": "5 h"},
        "policies": {"full": {"system": "full"}},
    } | tables


def scenario(**tables) -> Scenario:
    return Scenario(**mapping(**tables))


def shipped(name: str) -> Scenario:
    if name == "lanl-replay" and not LANL.exists():
        pytest.skip(f"needs {LANL}")
    return load_scenario(SCENARIOS / f"{name}.toml")


# Loading


def test_a_file_becomes_numbers_in_si_units():
    loaded = shipped("quickstart")

    assert loaded.title == "Quickstart: a four-day job on 10 parameter servers"
    assert loaded.job.useful_time_s == 4 * 86_400
    assert loaded.model.embedding == 1.2e12
    assert loaded.cluster.nic == 25e9 / 8
    assert loaded.storage.write == 8e9
    assert loaded.costs.detect_s == 30
    assert loaded.costs.reschedule.mean_s == 720
    assert loaded.failures.mean_s == 20 * 3600
    assert loaded.failures.hits.weights.trainers == 20
    assert list(loaded.policies) == ["full", "async", "cpr", "replication"]
    assert loaded.policies["async"].snapshot_s is None  # its plan derives it
    assert loaded.cluster.memory_bandwidth == 15e9


def test_what_is_left_out_has_its_default():
    loaded = scenario(costs={"save": "1 min", "load": "1 min"}, cluster={"parameter_servers": 1})

    assert loaded.title == ""
    assert (loaded.job.samples, loaded.job.final_save, loaded.job.network) == (None, False, None)
    assert loaded.model is None
    assert loaded.storage is None
    assert (loaded.cluster.trainers, loaded.cluster.spares, loaded.cluster.nic) == (0, 0, None)
    assert (loaded.costs.reschedule, loaded.costs.detect_s) == (0.0, 0.0)
    assert (loaded.failures.per, loaded.failures.during_recovery) == ("job", True)
    assert loaded.failures.hits.counts(loaded.cluster) == (1, 0)
    assert loaded.policies["full"].interval == "optimal"


def test_a_scenario_can_not_be_changed():
    with pytest.raises(ValidationError):
        scenario().title = "other"
    with pytest.raises(ValidationError):
        scenario().job.useful_time_s = 1.0


def test_an_interval_longer_than_the_job_is_legal_and_never_saves():
    # By hand: no failures and no save, so nothing but the useful time.
    loaded = scenario(
        failures={"exactly": 0}, policies={"it": {"system": "full", "interval": "11 h"}}
    )
    row = cprsim.run(loaded, replications=1).replications.iloc[0]

    assert loaded.plan("it").interval_s == 11 * 3600
    assert (row["saves"], row["overhead"]) == (0, 0.0)


@pytest.mark.parametrize("interval", ["optimal", "exact"])
@pytest.mark.parametrize("system", ["full", "partial", "async"])
def test_every_checkpointing_system_takes_a_rule_for_its_interval(system, interval):
    loaded = scenario(policies={"it": {"system": system, "interval": interval}})

    assert 0 < loaded.plan("it").interval_s < math.inf


# From Python


def test_sections_and_policies_may_be_given_as_they_are():
    given = scenario(
        job=Job(useful_time="10 h"),
        policies={
            "full": {"system": "full"},
            "mine": CprVanilla(system="cpr-vanilla", target_pls=0.02),
        },
    )

    assert given.policies["full"] == Full(system="full")
    assert given.plan("mine").recovery in ("full", "partial")
    assert given == scenario(
        policies={"full": {"system": "full"}, "mine": {"system": "cpr-vanilla", "target_pls": 0.02}}
    )


def test_the_mapping_that_is_given_stays_as_it_is():
    given = mapping()
    before = copy.deepcopy(given)
    Scenario(**given)

    assert given == before


def test_the_policies_keep_their_order():
    names = ["z", "a", "m"]
    loaded = scenario(policies={name: {"system": "full"} for name in names})

    assert loaded.select(None) == names
    assert list(Scenario(**tomllib.loads(loaded.to_toml())).policies) == names
    assert loaded.select(["m", "z", "m"]) == ["m", "z"]
    assert loaded.select("a") == ["a"]


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ([], ["no policy is chosen; the scenario has full, cpr-1"]),
        (
            ["ful", "full", "zzz"],
            [
                "policy 'ful': the scenario has none of that name; did you mean 'full'?",
                "policy 'zzz': the scenario has none of that name; known: cpr-1, full",
            ],
        ),
    ],
)
def test_policies_that_can_not_be_chosen_are_all_named(chosen, told):
    loaded = scenario(policies={"full": {"system": "full"}, "cpr-1": {"system": "cpr-vanilla"}})

    with pytest.raises(ScenarioError) as caught:
        loaded.select(chosen)

    assert list(caught.value.args) == told
    assert str(caught.value) == "\n".join(told)


# There and back


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_scenario_comes_back_from_its_own_file(name, folder):
    loaded = shipped(name)
    Path("again.toml").write_text(loaded.to_toml(), encoding="utf-8")

    assert load_scenario("again.toml") == loaded
    assert load_scenario("again.toml").to_toml() == loaded.to_toml()


@pytest.mark.parametrize("tables", EVERYTHING["case"], ids="-".join)
def test_everything_that_a_scenario_can_hold_comes_back(tables):
    given = scenario(**tables)

    assert Scenario(**tomllib.loads(given.to_toml())) == given


# A log beside the scenario


def write_log(path: str) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("time_s,node\n3600,0\n7200,3\n", encoding="utf-8")


def write_scenario(path: str, trace: str) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(tomli_w.dumps(mapping(failures={"trace": trace})), encoding="utf-8")


def test_a_log_is_found_from_any_folder(folder):
    """A relative path is beside the scenario, or from Python in the working folder."""
    write_log("logs/failures.csv")
    write_scenario("logs/job.toml", "failures.csv")
    write_scenario("elsewhere/job.toml", str(folder / "logs/failures.csv"))
    loaded = load_scenario("logs/job.toml")
    Path("out").mkdir()
    Path("out/scenario.toml").write_text(loaded.to_toml(), encoding="utf-8")
    others = [
        load_scenario("elsewhere/job.toml"),
        load_scenario("out/scenario.toml"),
        scenario(failures={"trace": "logs/failures.csv"}),
    ]

    for each in (loaded, *others):
        assert each.failure_model.timeline(0, 0).times_s == [3600, 7200]
    # MTBF of a replayed log: the useful time, which outlasts it, over the number of failures.
    assert loaded.context.mtbf_s == 18000


# --set


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("failures.mean=14 h", "failures.mean", "14 h"),
        ('failures.mean="14 h"', "failures.mean", "14 h"),
        ("failures.mean='14 h'", "failures.mean", "14 h"),
        ("failures.mean= 14 h ", "failures.mean", "14 h"),
        ("cluster.parameter_servers=8", "cluster.parameter_servers", 8),
        ("job.samples=39_291_958", "job.samples", 39_291_958),
        ("policies.cpr.target_pls=0.05", "policies.cpr.target_pls", 0.05),
        ("job.final_save=true", "job.final_save", True),
        ("policies.full.interval=exact", "policies.full.interval", "exact"),
        ("failures.hits={parameter_servers = 2}", "failures.hits", {"parameter_servers": 2}),
        ('failures.durations=["3 h", "7 h"]', "failures.durations", ["3 h", "7 h"]),
        ("policies.new.system=partial", "policies.new.system", "partial"),
        ("storage.write=3 GB/s", "storage.write", "3 GB/s"),
        ("title=a=b", "title", "a=b"),
        ('policies."cpr-0.1".target_pls=0.1', 'policies."cpr-0.1".target_pls', 0.1),
        ("title=", "title", ""),
        (" failures . mean =14 h", "failures.mean", "14 h"),
    ],
)
def test_an_override_is_toml_where_it_can_be_and_else_a_string(override, path, value):
    tables = mapping()
    apply_override(tables, override)
    found = tables
    for key in parts_of(path):
        found = found[key]

    assert found == value
    assert type(found) is type(value)


def test_overrides_change_what_is_loaded_one_after_the_other():
    loaded = load_scenario(
        SCENARIOS / "criteo-kaggle.toml",
        [
            "job.useful_time=10 h",
            "job.useful_time=20 h",
            "cluster.parameter_servers=16",
            "job.final_save=true",
            'costs.reschedule={distribution = "lognormal", mean = "20 min", cv = 1.5}',
            "policies.mine.system=partial",
            "policies.mine.interval=45 min",
            "failures.hits.parameter_servers=25%",
        ],
    )

    assert loaded.job.useful_time_s == 20 * 3600
    assert loaded.job.final_save is True
    assert loaded.costs.reschedule.cv == 1.5
    assert [*loaded.policies] == [*shipped("criteo-kaggle").policies, "mine"]
    assert loaded.plan("mine").interval_s == 2700
    assert loaded.failure_model.mean_hit.servers == 4


def test_a_number_of_failures_takes_the_place_of_a_law():
    path = SCENARIOS / "quickstart.toml"
    loaded = load_scenario(path, ["failures.exactly=2"])

    assert loaded.failures.exactly == 2
    assert loaded.failures.distribution is None
    assert loaded.failures.hits == load_scenario(path).failures.hits
    assert loaded.context.mtbf_s == 2 * 86_400  # 4 d / 2


TO_WEIBULL = ["failures.shape=0.5", "failures.distribution=weibull", "failures.mean=9 h"]


@pytest.mark.parametrize(
    ("name", "overrides", "law"),
    [
        # Of a number of failures, in any order of the keys.
        *(
            ("criteo-kaggle", order, {"distribution": "weibull", "mean": "9 h", "shape": 0.5})
            for order in (TO_WEIBULL, TO_WEIBULL[::-1], sorted(TO_WEIBULL))
        ),
        (
            "quickstart",
            ["failures.distribution=gamma", "failures.shape=0.5"],
            {"distribution": "gamma", "mean": "20 h", "shape": 0.5},
        ),
        (
            "quickstart",
            ["failures.distribution=exponential"],
            {"distribution": "exponential", "mean": "20 h"},
        ),
    ],
)
def test_a_law_takes_the_place_of_a_number_or_of_another_law(name, overrides, law):
    loaded = load_scenario(name, overrides)

    assert loaded.failures.exactly is None
    assert loaded.failures.law.mapping() == law


def test_a_log_takes_the_place_of_a_law_and_gives_it_back(folder):
    write_log("log.csv")
    Path("job.toml").write_text(scenario().to_toml(), encoding="utf-8")
    loaded = load_scenario("job.toml", ["failures.trace=log.csv", "failures.window=0:1"])

    assert loaded.failures.distribution is None
    assert loaded.failures.window == (0.0, 1.0)

    Path("log.toml").write_text(loaded.to_toml(), encoding="utf-8")
    back = load_scenario("log.toml", ["failures.distribution=exponential", "failures.mean=5 h"])

    assert back == scenario()


def test_ages_stay_with_the_law_and_go_with_it(folder):
    law = {"distribution": "gamma", "mean": "9 h", "shape": 0.5}
    tables = mapping(failures=law | {"per": "node", "ages": "stationary"})
    Path("job.toml").write_text(Scenario(**tables).to_toml(), encoding="utf-8")

    assert load_scenario("job.toml", ["failures.per=job"]).failures.ages == "stationary"
    assert load_scenario("job.toml", ["failures.exactly=2"]).failures.ages is None


# Faults


def test_a_plan_is_resolved_once_in_a_scenario_and_a_run(monkeypatch):
    planned = []
    original = Full.plan
    monkeypatch.setattr(Full, "plan", lambda self, ctx: planned.append(1) or original(self, ctx))
    scenario = cprsim.load_scenario(SCENARIOS / "criteo-kaggle.toml")
    cprsim.run(scenario, policies=["full"], replications=1000)

    assert len(planned) == 1


def test_a_scenario_is_pickled_without_its_plans():
    scenario = cprsim.load_scenario(SCENARIOS / "criteo-kaggle.toml")
    scenario.plans["full"] = lambda: None  # as of a user's own policy

    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario
    assert again.plan("full") == cprsim.load_scenario(SCENARIOS / "criteo-kaggle.toml").plan("full")


def test_a_copy_with_another_table_is_planned_anew():
    scenario = cprsim.load_scenario(SCENARIOS / "criteo-kaggle.toml")
    assert scenario.plan("full").interval_s == pytest.approx(2.29 * 3600, rel=1e-2)
    copied = scenario.model_copy(update={"policies": {"full": Full(system="full", interval="5 h")}})

    assert copied.plan("full").interval_s == 5 * 3600
    assert scenario.plan("full").interval_s != 5 * 3600
    longer = scenario.model_copy(
        update={"job": scenario.job.model_copy(update={"useful_time_s": 9.0})}
    )
    assert longer.context.useful_time_s == 9.0
