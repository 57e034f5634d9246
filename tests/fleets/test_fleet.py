"""Fleets: which jobs they hold, and what is wrong with them."""

import copy

import pytest
import tomli_w

import cprsim
from cprsim.basics.streams import COHORT
from cprsim.errors import ScenarioError
from cprsim.runs.fleet import Fleet, load, load_fleet
from cprsim.runs.fleet_play import play
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate

PLAIN = {
    "job": {"useful_time": "20 h"},
    "cluster": {"trainers": 4, "parameter_servers": 8},
    "costs": {"save": "5 min", "load": "2 min", "reschedule": "10 min"},
    "failures": {"distribution": "gamma", "mean": "8 h", "shape": 0.675},
    "policies": {"full": {"system": "full"}, "cpr": {"system": "cpr-vanilla", "target_pls": 0.1}},
}
TIME = {"distribution": "lognormal", "mean": "20 h", "cv": 0.5, "min": "10 h", "max": "5 d"}
SERVERS = {"distribution": "uniform", "min": 4, "max": 20}
DELAY = {"distribution": "lognormal", "mean": "1 h", "cv": 3.0, "per": "job"}


def mapping(**values) -> dict:
    """The plain scenario with some values, by `section__key`."""
    tables = copy.deepcopy(PLAIN)
    for name, value in values.items():
        *sections, key = name.split("__")
        table = tables
        for section in sections:
            table = table[section]
        table[key] = value
    return tables


def faults(**values) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        Fleet.of(mapping(**values))
    return list(caught.value.args)


def test_a_job_has_what_it_drew():
    fleet = Fleet.of(
        mapping(job__useful_time=TIME, cluster__parameter_servers=SERVERS, costs__reschedule=DELAY)
    )

    for values, job in zip(fleet.draws(3, range(40)), fleet.jobs(3, range(40)), strict=True):
        tables = job.mapping()
        assert {path: tables[path[0]][path[1]] for path in values} == values
        assert 36_000 <= job.job.useful_time_s <= 432_000
        assert isinstance(job.costs.reschedule, float)
        assert job.failures == fleet.example.failures


def test_whole_numbers_are_rounded_and_others_are_not():
    fleet = Fleet.of(
        mapping(
            cluster__parameter_servers=SERVERS,
            policies__cpr__target_pls={"distribution": "uniform", "min": 0.05, "max": 0.2},
            failures__hits={"parameter_servers": {"distribution": "uniform", "min": 1, "max": 3}},
        )
    )
    draws = list(fleet.draws(0, range(200)))

    servers = {draw["cluster", "parameter_servers"] for draw in draws}
    assert servers == set(range(4, 21))
    assert {draw["failures", "hits", "parameter_servers"] for draw in draws} == {1, 2, 3}
    assert all(0.05 <= draw["policies", "cpr", "target_pls"] <= 0.2 for draw in draws)


def test_a_delay_that_is_drawn_at_each_failure_may_have_a_mean_of_each_job():
    mean = {"distribution": "uniform", "min": "1 h", "max": "2 h"}
    delay = {"distribution": "exponential", "mean": mean}
    job = Fleet.of(mapping(costs__reschedule=delay)).job(0, 0)

    assert job.costs.reschedule.distribution == "exponential"
    assert 3600 <= job.costs.reschedule.expected_s <= 7200


def test_a_value_in_a_list_of_tables_may_be_drawn():
    rows = {"distribution": "uniform", "min": 1000, "max": 2000}
    tables = mapping() | {"model": {"tables": [{"rows": 10, "dim": 4}, {"rows": rows, "dim": 4}]}}
    model = Fleet.of(tables).job(0, 0).model

    assert model.tables[0].rows == 10
    assert 1000 <= model.tables[1].rows <= 2000


def test_a_job_is_the_same_whatever_jobs_are_drawn_beside_it():
    fleet = Fleet.of(mapping(job__useful_time=TIME, cluster__parameter_servers=SERVERS))
    numbers = [COHORT + 3, 7, 2 * COHORT, 8]
    one_by_one = [next(fleet.draws(1, [number])) for number in numbers]

    assert list(fleet.draws(1, numbers)) == one_by_one
    every = list(fleet.draws(1, range(2 * COHORT + 1)))
    assert [every[number] for number in numbers] == one_by_one
    assert list(fleet.draws(2, numbers)) != one_by_one


def test_a_further_law_moves_no_other_draw():
    few = Fleet.of(mapping(job__useful_time=TIME))
    more = Fleet.of(
        mapping(failures__mean=TIME, costs__save=DELAY, job__useful_time=TIME, costs__load=DELAY)
    )
    key = ("job", "useful_time")

    assert [d[key] for d in more.draws(0, range(300))] == [d[key] for d in few.draws(0, range(300))]


def test_laws_of_one_value_give_the_plain_scenario_to_the_last_bit():
    def fixed(value) -> dict:
        return {"distribution": "deterministic", "mean": value}

    fleet = Fleet.of(
        mapping(
            job__useful_time=fixed("20 h"),
            cluster__parameter_servers=fixed(8),
            costs__save={"distribution": "empirical", "values": ["5 min"]},
            costs__reschedule=fixed("10 min") | {"per": "job"},
            failures__mean=fixed("8 h"),
        )
    )
    plain = Scenario(**mapping())
    names = ["full", "cpr"]

    assert fleet.job(0, 5) == plain
    found = play(fleet, names, range(30), 9)[..., : len(COLUMNS)]
    assert found.tobytes() == simulate(plain, names, range(30), 9).tobytes()


def test_a_file_with_a_law_is_a_fleet(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(Fleet.of(mapping(job__useful_time=TIME)).to_toml())

    fleet = load_fleet(path)
    assert isinstance(load(path), Fleet)
    assert isinstance(load(path, ['job.useful_time="1 h"']), Scenario)
    assert list(fleet.drawn) == [("job", "useful_time")]
    assert fleet.job(0, 3) == Fleet.of(mapping(job__useful_time=TIME)).job(0, 3)
    assert cprsim.load_fleet(path, ["job.useful_time.cv=1"]).job(0, 3) != fleet.job(0, 3)


def test_each_job_may_replay_another_log(tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("time_s,node\n3600,0\n", encoding="utf-8")
    tables = mapping()
    tables["failures"] = {"trace": {"distribution": "empirical", "values": ["one.csv", "two.csv"]}}
    path = tmp_path / "fleet.toml"
    path.write_text(tomli_w.dumps(tables), encoding="utf-8")

    traces = {job.failures.trace for job in load_fleet(path).jobs(0, range(20))}
    assert traces == {str(tmp_path / "one.csv"), str(tmp_path / "two.csv")}


def test_only_fleets_take_laws():
    with pytest.raises(ScenarioError) as caught:
        Scenario(**mapping(job__useful_time=TIME, costs__reschedule=DELAY))

    assert str(caught.value) == (
        "job.useful_time, costs.reschedule: drawn for each job of a fleet, which `cprsim run` and "
        "cprsim.load_fleet take; give one value here"
    )


def test_all_faults_of_laws_and_of_other_sections_at_once():
    found = faults(
        job__useful_time=TIME | {"cvv": 1},
        costs__save={"distribution": "lognormal", "mean": "5 min"},
        costs__load=-1,
        cluster__parameter_servers=SERVERS,
        cluster__spares=-1,
    )

    assert found == [
        "job.useful_time.cvv: unknown key; did you mean 'cv'?",
        "costs.save: distribution 'lognormal' needs 'cv': standard deviation / mean, e.g. cv = 1.5",
        "cluster.spares: -1 is out of range: it must be >= 0",
    ]


def test_a_job_that_can_not_be_is_named_with_what_it_drew():
    hit = {"distribution": "uniform", "min": 1, "max": 6}
    fleet = Fleet.of(
        mapping(cluster__parameter_servers=SERVERS, failures__hits={"parameter_servers": hit})
    )
    pairs = [tuple(draw.values()) for draw in fleet.draws(0, range(300))]
    job = next(number for number, (servers, hit) in enumerate(pairs) if hit > servers)
    servers, servers_hit = pairs[job]

    assert len(list(fleet.jobs(0, range(job)))) == job
    with pytest.raises(ScenarioError) as caught:
        fleet.job(0, job)
    assert caught.value.args == (
        f"job {job}, which drew cluster.parameter_servers = {servers}, "
        f"failures.hits.parameter_servers = {servers_hit}: failures.hits.parameter_servers: "
        f"{servers_hit} is more than cluster.parameter_servers = {servers}; a failure can hit "
        f"{servers} at most",
    )
