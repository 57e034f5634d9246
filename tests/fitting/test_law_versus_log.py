"""A law and its log, both played at the length, nodes and policies of a job."""

import json
import math
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tomli_w

import cprsim
from cprsim.cli import command as cli
from cprsim.errors import ScenarioError, UsageError
from cprsim.fitting import law_versus_log as module
from cprsim.fitting.block import law_keys
from cprsim.fitting.fit_log import fit_for, of_job
from cprsim.fitting.law_versus_log import (
    COMPARED,
    LawVersusLog,
    MeasureCompared,
    of_new_law,
    of_own_law,
)
from cprsim.fitting.log_fit import LogFit
from cprsim.fitting.strikes import StrikeKind
from cprsim.runs.summaries import Mean
from tests.survival.cases import LANL, needs_lanl

ROOT = Path(__file__).parents[2]
LOG = ROOT / "scenarios/failures.csv"


def job(**tables: object) -> cprsim.Scenario:
    """Of as many nodes as the log is of, so that it is replayed as it stands."""
    given = {
        "title": "ten days",
        "job": {"useful_time": "10 d"},
        "cluster": {"parameter_servers": 8, "trainers": 20},
        "costs": {"save": "5 min", "load": "4 min", "reschedule": "3 min"},
        "failures": {"distribution": "exponential", "mean": "20 h"},
        "policies": {"full": {"system": "full"}, "partial": {"system": "partial"}},
    }
    return cprsim.Scenario(**given | tables)


@pytest.fixture(scope="module")
def fitted() -> LogFit:
    return cprsim.fit(LOG, coalesce="5 min")


@pytest.mark.slow
def test_a_law_of_the_log_holds_and_one_of_another_mean_does_not(fitted: LogFit):
    right = of_new_law(fitted, job())
    doubled = law_keys(of_job(fitted, job())) | {"mean": f"{2 * fitted.law.expected_s} s"}
    wrong = of_own_law(fitted, job(failures=doubled))

    assert right.notes[0] == (
        "The weibull law and the log agree for this job, as far as chance goes."
    )
    assert wrong.policies["full"]["failures"].differs
    assert wrong.policies["full"]["overhead"].differs
    assert wrong.policies["full"]["overhead"].apart.high < 0
    assert wrong.notes[0].startswith("full: the weibull law is off the log by more than chance: ")
    assert " instead of " in wrong.notes[0]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[cprsim.Scenario, int]]:
    """Scenarios that are played, eight times each, and their seeds, in their order."""
    found = []
    run = module.run

    def recorded(scenario, replications, seed=0):
        found.append((scenario, seed))
        return run(scenario, replications=replications, seed=seed)

    monkeypatch.setattr(module, "REPLICATIONS", 8)
    monkeypatch.setattr(module, "run", recorded)
    return found


@pytest.mark.slow
def test_both_play_the_plans_that_are_made_of_the_law(fitted: LogFit, played):
    of_new_law(fitted, job())
    assert len({seed for _, seed in played[1:]}) == 64  # delays are drawn anew for each start
    by_law, *by_log = (scenario for scenario, _ in played)

    assert by_law.failures.trace is None
    assert len(by_log) == 64  # times at which the log is started
    assert len({each.failures.window for each in by_log}) == 64
    for each in by_log:
        assert each.failures.trace is not None
        assert all(each.plan(name) == by_law.plan(name) for name in ("full", "partial"))


def test_failures_are_shared_out_to_the_nodes_of_the_job(fitted: LogFit):
    assert fitted.kinds == {"parameter_servers": 55, "trainers": 144}  # as the log has them
    (first, *_) = tomllib.loads(fitted.toml(has_repairs=False))["failures"]["causes"]
    assert first == {"name": "1 node", "share": 0.91954}
    with_repair = tomllib.loads(fitted.toml())["failures"]["causes"][0]
    assert with_repair.pop("repair")["distribution"] == "lognormal"
    assert with_repair == first
    fitted = replace(fitted, strikes={StrikeKind(None, None, 1): 4})
    unknown = replace(fitted, kinds={})
    block = tomllib.loads(of_job(unknown, job()).toml())["failures"]

    assert block["hits"]["weights"] == {"parameter_servers": 8, "trainers": 20}
    known = replace(fitted, kinds={"parameter_servers": 3, "trainers": 4})
    assert of_job(known, job()).kinds == known.kinds
    servers = job(cluster={"parameter_servers": 2, "trainers": 0})
    many = replace(fitted, strikes={StrikeKind(None, None, 6): 1})
    assert law_keys(of_job(many, servers))["hits"] == {"parameter_servers": 2}
    graded = {StrikeKind(None, "process", 1): 2, StrikeKind(None, "node", 1): 1}
    told = tomllib.loads(replace(known, strikes=graded).toml(has_repairs=False))["failures"]
    assert told["hits"]["weights"] == {"parameter_servers": 3, "trainers": 4}
    assert told["severity"] == {"process": 2, "node": 1}
    cprsim.Scenario(**job().mapping() | {"failures": told})


@pytest.mark.slow
def test_what_a_short_log_tells_is_little(fitted: LogFit, monkeypatch):
    monkeypatch.setattr(module, "REPLICATIONS", 8)
    found = of_new_law(fitted, job())
    days = fitted.source.failures().span_s / 86400 / 10

    assert found.is_replayed
    assert found.notes[-1] == (
        f"The log is {days:.2g} jobs long: its replays are parts of the same few failures."
    )
    log = found.policies["full"]["overhead"].log
    few = replace(found, log_jobs=1e9)
    assert (log.high - log.mean) > 0
    assert "jobs long" not in few.notes[-1]


def test_a_log_that_cant_be_replayed_is_drawn_from_and_that_is_told(fitted: LogFit, monkeypatch):
    monkeypatch.setattr(module, "REPLICATIONS", 8)
    said = (
        "The log can't be replayed for this job: its durations are drawn from, which shows no "
        "clusters and no trend."
    )
    long = job(job={"useful_time": "140 d"})
    small = job(cluster={"parameter_servers": 4, "trainers": 4})
    for each in (long, small):
        found = of_new_law(fitted, each)
        assert not found.is_replayed
        assert found.notes[-1] == said


def test_jobs_without_a_failure_tell_nothing():
    none = Mean(0.0, 0.0, 0.0)
    measures = dict.fromkeys(COMPARED, MeasureCompared(none, none, none))
    assert LawVersusLog(job(), "gamma", {"full": measures}, math.inf, True).notes == [
        "Neither the log nor its law has a failure for this job: nothing is told."
    ]


def test_a_job_of_many_more_nodes_than_the_log_is_refused():
    large = job(cluster={"parameter_servers": 80, "trainers": 200})
    with pytest.raises(UsageError) as raised:
        fit_for(large, LOG)
    assert str(raised.value) == (
        "the job has 280 nodes, and 28 fail in the log: gaps of the one tell nothing of the "
        "other; fit lives of nodes with --view uptime, or say with --population how many the log "
        "is of"
    )
    assert fit_for(large, LOG, view="uptime", population=28).look == "uptime"


def test_the_view_of_a_job_takes_its_nodes_from_the_scenario():
    assert fit_for(job(), LOG, view="job").view.nodes == 28


def test_durations_alone_are_drawn_from(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "REPLICATIONS", 8)
    path = tmp_path / "durations.csv"
    path.write_text("".join(f"{hours} h\n" for hours in range(1, 41)))
    found = of_new_law(cprsim.fit(path, "intervals"), job())

    assert math.isinf(found.log_jobs)
    assert found.document()["log_jobs"] is None
    assert fit_for(job(), path, reader="intervals").look == "gaps"


def test_without_policies_there_is_nothing_to_compare(fitted: LogFit):
    bare = job().with_policies({})
    with pytest.raises(UsageError) as raised:
        of_new_law(fitted, bare)
    assert str(raised.value) == (
        "the scenario has no [policies] to compare the log and its law under"
    )


def test_an_interval_is_as_wide_as_the_jobs_in_the_log_make_it():
    """512 replays of a log that is 8 jobs long are 8 jobs: the interval is eight times as wide."""
    values = np.random.default_rng(0).normal(1.0, 0.1, 512)
    found = [MeasureCompared.of(values, 2 * values, jobs) for jobs in (math.inf, 8.0)]
    whole, few = (each.log for each in found)

    assert all(each.apart.mean == pytest.approx(whole.mean) for each in found)
    assert few.mean == whole.mean
    assert few.high - few.mean == pytest.approx(8 * (whole.high - whole.mean))


def test_a_difference_counts_from_three_standard_errors_on():
    zero = Mean.around(0.0, 0.0)
    apart = [Mean.around(1.0, 1.96 / each) for each in (2.9, 3.1)]

    assert [MeasureCompared(zero, zero, each).differs for each in apart] == [False, True]


@needs_lanl
@pytest.mark.slow
def test_of_a_larger_system_a_job_on_some_nodes_is_fitted():
    small, all_of_it = job(), job(cluster={"parameter_servers": 512, "trainers": 512})
    fitted = fit_for(small, LANL, reader="lanl", system=18)
    assert (fitted.look, fitted.view.nodes) == ("job", 28)
    assert fitted.kinds == {"parameter_servers": 8, "trainers": 20}
    assert fit_for(all_of_it, LANL, reader="lanl", system=18).look == "gaps"
    of_lives = fit_for(small, LANL, reader="lanl", system=18, view="uptime")
    assert of_lives.look == "uptime"
    assert "hits" not in law_keys(of_lives)
    assert all("hits" not in each for each in law_keys(of_lives).get("causes", ()))


@pytest.mark.slow
def test_the_command_prints_the_law_beside_the_log(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "REPLICATIONS", 16)
    path = tmp_path / "job.toml"
    path.write_text(job().to_toml())
    asked = ["fit", str(LOG), "--coalesce", "5 min", "--for", str(path)]

    assert cli._main(asked) == 0
    said = capsys.readouterr().out
    assert "under the log and under the weibull law; ± 95 %" in said
    assert "law and the log agree for this job, as far as chance goes." in said
    assert cli._main([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["best"] == "weibull"
    policies = document["for"]["policies"]
    assert {name: set(each) for name, each in policies.items()} == {
        "full": {*COMPARED},
        "partial": {*COMPARED},
    }
    assert cli._main([*asked, "--toml"]) == 0
    block = tomllib.loads(capsys.readouterr().out)["failures"]
    weights = {"parameter_servers": 55, "trainers": 144}
    assert block["hits"]["weights"] == weights
    struck = [each["name"] for each in block["causes"]]
    assert struck == ["1 node", "2 trainers", "2 nodes", "5 trainers", "3 trainers", "5 servers"]
    cprsim.Scenario(**job().mapping() | {"failures": block})


def of_its_own(tmp_path: Path, **failures: object) -> Path:
    """A scenario that says which log its law was fitted to, by a path beside it."""
    (tmp_path / "failures.csv").write_bytes(LOG.read_bytes())
    law = {"distribution": "weibull", "mean": "20.3 h", "shape": 0.798}
    weights = {"parameter_servers": 55, "trainers": 144}  # without them PLS is off
    named = {"log": "failures.csv", "coalesce": "5 min", "hits": {"weights": weights}}
    path = tmp_path / "job.toml"
    path.write_text(tomli_w.dumps(job().mapping() | {"failures": {**law, **named, **failures}}))
    return path


def test_a_scenario_names_the_log_of_its_law_and_what_was_taken_of_it(tmp_path: Path):
    named = cprsim.load_scenario(of_its_own(tmp_path, window="0.5:1"))
    source = fit_for(named).source

    assert source.path == str(tmp_path / "failures.csv")
    assert (source.reader, source.window, source.coalesce_s) == ("csv", (0.5, 1.0), 300.0)
    assert fit_for(named, window="0:0.5", coalesce=None).source.window == (0, 0.5)
    alike = cprsim.Scenario(**job().mapping() | {"failures": law_of_lives(tmp_path)})
    assert fit_for(alike, population=28).look == "uptime"


def law_of_lives(tmp_path: Path) -> dict[str, object]:
    log = str(tmp_path / "failures.csv")
    return {"distribution": "exponential", "mean": "28 d", "per": "node", "log": log}


@pytest.mark.slow
def test_the_law_that_is_played_is_the_scenarios_own(tmp_path: Path, played):
    named = cprsim.load_scenario(of_its_own(tmp_path, distribution="gamma"))
    found = of_own_law(fit_for(named), named)

    (by_law, _), *by_log = played
    assert by_law is named
    assert found.law == "gamma"
    assert all(each.failures.trace == named.failures.log for each, _ in by_log)


@pytest.mark.slow
def test_law_and_log_wait_alike_whatever_repairs_the_law_has(
    fitted: LogFit, tmp_path: Path, played
):
    """The block of the log, repairs and all, as the law of a job: a replay knows no causes."""
    block = tomllib.loads(fitted.toml())["failures"]
    assert all("repair" in each for each in block["causes"])
    path = tmp_path / "job.toml"
    path.write_text(tomli_w.dumps(job().mapping() | {"failures": block}))
    named = cprsim.load_scenario(path)
    for found in (of_own_law(fit_for(named), named), of_new_law(fitted, named)):
        assert found.is_replayed
    for each, _ in played:
        assert each.costs == named.costs
        assert all(cause.repair is None for cause in each.failures.causes or ())
    laws = [each for each, _ in played if each.failures.trace is None]
    assert len(laws) == 2
    assert laws[0].failures.log == named.failures.log
    assert [each.share for each in laws[0].failures.causes] == [
        each.share for each in named.failures.causes
    ]


@pytest.mark.slow
def test_a_law_that_the_log_contradicts_is_told_without_a_new_fit(tmp_path: Path, capsys):
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.mkdir()
    wrong.mkdir()

    assert cli._main(["fit", "--for", str(of_its_own(right))]) == 0
    said = capsys.readouterr().out
    assert "The weibull law and the log agree for this job, as far as chance goes." in said
    assert "KS" not in said
    assert cli._main(["fit", "--for", str(of_its_own(wrong, mean="60 h"))]) == 0
    assert "the weibull law is off the log by more than chance" in capsys.readouterr().out


def test_nothing_of_a_named_log_is_played_and_nothing_needs_it(tmp_path: Path):
    path = of_its_own(tmp_path)
    (tmp_path / "failures.csv").unlink()
    named = cprsim.load_scenario(path)
    tables = named.mapping()
    del tables["failures"]["log"], tables["failures"]["coalesce"]
    plain = cprsim.Scenario(**tables)

    ours, theirs = (cprsim.run(each, replications=8).summary for each in (named, plain))
    assert ours.equals(theirs)


@pytest.mark.parametrize("source", [{"exactly": 2}, {"trace": "failures.csv"}])
def test_a_log_goes_with_a_law(source):
    with pytest.raises(ScenarioError) as raised:
        job(failures={**source, "log": "failures.csv"})
    assert "'log' goes with a law that was fitted to it; leave it out" in str(raised.value)


@needs_lanl
@pytest.mark.slow
def test_a_law_of_lives_that_loses_the_rate_is_seen_at_once():
    """LANL 20's lives: the lognormal law, which the mean refuses, and the one that holds."""
    fitted = cprsim.fit(LANL, "lanl", 20, view="uptime")
    quickstart = cprsim.load_scenario(ROOT / "scenarios/quickstart.toml")
    lognormal = [each for each in fitted.fits if each.law.distribution == "lognormal"]

    assert not any(
        each.differs
        for measures in of_new_law(fitted, quickstart).policies.values()
        for each in measures.values()
    )
    fitted = replace(fitted, fits=lognormal, frailty=None)
    wrong = of_new_law(fitted, quickstart).policies["full"]["failures"]
    assert wrong.differs
    assert wrong.law.mean < wrong.log.mean / 5
