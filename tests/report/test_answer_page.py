"""The page of an answer: its order, what can be pasted and repeated, and that it is sound HTML."""

import json
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cprsim.advice.advising import advise
from cprsim.advice.robustness import robustness
from cprsim.cli.command import _main
from cprsim.report.answer import headline
from cprsim.report.answer_page import contents
from cprsim.report.basis import ScenarioSource
from cprsim.runs.fleet import load
from cprsim.scenario import Scenario, load_scenario
from tests.report.reading import Page, check_closed

SCENARIOS = Path(__file__).parents[2] / "scenarios"
KAGGLE = SCENARIOS / "criteo-kaggle.toml"
SYSTEMS = ["full", "partial", "replication"]
SECTIONS = ["Answer", "Sensitivity", "Candidates", "Notes", "Inputs and assumptions", "Reproduce"]


@pytest.fixture(scope="module")
def advice():
    return advise(load_scenario(KAGGLE), max_pls=0.05, systems=[*SYSTEMS, "hot-swap"], seed=3)


@pytest.fixture(scope="module")
def robust(advice):
    found = robustness(advice)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def files(advice, robust):
    return contents(advice, robust, ScenarioSource(KAGGLE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def page(files):
    return Page(files["report.html"].decode())


def codes(page: Page) -> list[str]:
    return [text.strip() for text in page.texts["code"]]


def test_the_answer_stands_first_and_what_it_rests_on_last(page, advice):
    assert page.texts["h2"] == SECTIONS
    assert page.texts["h1"] == [advice.scenario.title]
    assert advice.best is not None
    assert page.texts["p"][0] == headline(advice)


def test_there_is_one_recommendation_on_a_sound_page(page):
    check_closed(page)
    said = [text for tag in ("p", "li", "td", "caption") for text in page.texts.get(tag, [])]

    assert sum(each.startswith(("Use ", "Keep ")) for each in said) == 1
    assert not any("Recommended" in each for each in said)


def test_the_json_is_the_document(files, advice, robust):
    document = json.loads(files["answer.json"])
    assert document.pop("robustness") == robust.document()
    assert document == json.loads(json.dumps(advice.document()))


def test_all_candidates_and_who_was_not_asked_are_told(page, advice):
    table, notes = " ".join(page.texts["table"]), " ".join(page.texts["li"])
    assert all(each.name in table for each in advice.found)
    assert all(said in notes for said in (*advice.warnings, *(e.name for e in advice.refused)))
    assert "needs iteration: give it in a [policies.NAME]" in notes


def test_what_is_to_paste_is_the_policy(page, advice):
    tables = tomllib.loads(codes(page)[0])["policies"]
    (name,) = tables
    again = Scenario(**advice.scenario.mapping() | {"policies": tables})
    assert again.plan(name) == advice.best.plan


def test_a_system_that_the_scenario_has_not_gets_a_name_of_its_own(advice):
    best = replace(advice.best, candidate=replace(advice.best.candidate, origin=None))
    policies = {best.candidate.system: advice.scenario.policies["full"]}
    found = tuple(best if each is advice.best else each for each in advice.found)
    for scenario, name in (
        (advice.scenario.with_policies(policies), f"{best.candidate.system}-advised"),
        (advice.scenario.with_policies({}), best.candidate.system),
    ):
        other = replace(advice, scenario=scenario, found=found)
        page = Page(contents(other, None)["report.html"].decode())
        assert [*tomllib.loads(codes(page)[0])["policies"]] == [name]


def test_the_command_on_the_page_gives_the_same_answer(page, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_bytes(files["scenario.toml"])
    command = shlex.split(codes(page)[-2])
    assert command[:3] == ["cprsim", "advise", "scenario.toml"]
    assert _main(command[1:]) == 0
    again = json.loads((tmp_path / "again" / "answer.json").read_bytes())
    first = json.loads(files["answer.json"])
    # CPR's own decision is of the target that it was asked for, not of the bound.
    assert {**again, "closed_form": None} == {**first, "closed_form": None}


def test_same_answer_same_bytes(files, advice, robust):
    source = ScenarioSource(KAGGLE.read_text(encoding="utf-8"))
    assert contents(advice, robust, source) == files


def test_text_is_text(advice):
    scenario = advice.scenario.model_copy(update={"title": "<script>alert(1)</script> & more"})
    text = contents(replace(advice, scenario=scenario, warnings=("<b>",)), None)["report.html"]
    page = Page(text.decode())
    check_closed(page)
    assert page.texts["h1"] == ["<script>alert(1)</script> & more"]
    assert "<b>" in page.texts["li"]


def test_nobody_within_the_bounds_has_no_choice_to_tell_of():
    nobody = advise(load_scenario(KAGGLE), max_pls=0.0, systems=["partial"])
    files = contents(nobody, robustness(nobody))
    assert files["robust.png"] is None
    page = Page(files["report.html"].decode())
    assert page.texts["h2"] == [e for e in SECTIONS if e not in ("Sensitivity", "Notes")]


@pytest.mark.slow
def test_a_fleet_is_repeated_from_its_own_file():
    path = SCENARIOS / "production-fleet.toml"
    fleet = advise(load(path), systems=["full", "cpr-vanilla"])
    source = ScenarioSource(path.read_text(encoding="utf-8"), ("failures.shape=0.7",))
    files = contents(fleet, None, source)
    page = Page(files["report.html"].decode())
    assert files["scenario.toml"].decode() == source.text
    assert "--set failures.shape=0.7" in codes(page)[-2]
    assert any("the middle of their law" in text for text in page.texts["p"])
