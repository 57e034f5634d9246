"""The page as text: it is sound HTML, points nowhere outside, and says what the result does."""

import base64
import shlex
from pathlib import Path

import pytest

import cprsim
from cprsim.cli import command as cli
from cprsim.report import outputs
from cprsim.report.basis import ScenarioSource, derived, inputs
from cprsim.report.report import report
from cprsim.runs.runner import run
from cprsim.scenario import load_scenario
from tests.report.reading import Page, check_closed
from tests.report.results import result

SCENARIO = Path(__file__).parents[2] / "scenarios" / "criteo-kaggle.toml"
MANIFEST = {
    "git": None,
    "cprsim": "1",
    "python": "3",
    "libraries": {"numpy": "2"},
    "replications": 2,
}


@pytest.fixture(scope="module")
def files():
    found = cprsim.run(load_scenario(SCENARIO), ["full", "cpr"], replications=5, seed=3)
    source = ScenarioSource(SCENARIO.read_text(encoding="utf-8"))
    return outputs.contents(found, source)


@pytest.fixture(scope="module")
def page(files):
    return Page(files["report.html"].decode())


def test_it_is_sound_and_fetches_nothing(page):
    check_closed(page)
    policy = next(a for t, a in page.tags if t == "meta" and "http-equiv" in a)

    assert policy["content"] == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert ("html", {"lang": "en"}) in page.tags


def test_it_has_a_title_and_headings(page):
    assert page.texts["title"] == ["CPR emulation, Criteo Kaggle (calibrated)"]
    assert page.texts["h1"] == page.texts["title"]
    assert page.texts["h2"] == [
        "Conclusion",
        "Where the time goes",
        "Results",
        "Differences",
        "Example run",
        "Inputs and assumptions",
        "Reproduce",
    ]


def test_the_page_says_once_which_policy_is_the_fastest(page):
    said = [text for tag in ("p", "li", "td", "caption") for text in page.texts.get(tag, [])]

    assert sum("is the fastest" in each for each in said) == 1
    assert not any("ecommend" in each for each in said)


def test_pictures_are_told_in_words_too(page):
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]

    assert len(pictures) == 2
    for each in pictures:
        kind, _, data = (each["src"] or "").partition(";base64,")
        assert kind == "data:image/svg+xml"
        svg = base64.b64decode(data)
        assert svg.startswith(b"<?xml")
        assert b"@media (prefers-color-scheme: dark)" in svg
        assert "full" in (each["alt"] or "")
        assert "cpr" in (each["alt"] or "")


def test_it_says_what_the_scenario_says_of_itself(page):
    (_, file, *_) = page.texts["code"]

    assert file.strip() == SCENARIO.read_text(encoding="utf-8").strip()
    assert "MTBF of the job" in page.texts["table"][-1]


@pytest.mark.slow
def test_the_command_on_the_page_gives_the_same_results(page, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_bytes(files["scenario.toml"])
    timeline, _, run, scenario = (text.strip() for text in page.texts["code"])
    assert scenario.encode() == files["scenario.toml"].strip()

    assert cli._main(shlex.split(run)[1:]) == 0
    assert cli._main(shlex.split(timeline)[1:]) == 0
    assert (tmp_path / "again/results.csv").read_bytes() == files["results.csv"]
    assert (tmp_path / "timeline.png").read_bytes().startswith(b"\x89PNG")


def test_names_cannot_break_the_page():
    name = '<b onclick="x">&amp;</b>'
    found = result({name: [1.0, 2.0], "b": [2.0, 4.0]}, title="</title><script>alert(1)</script>")
    page = Page(report(found, b"", MANIFEST).decode())

    assert page.open == []
    assert {"b", "script"}.isdisjoint(tag for tag, _ in page.tags)
    assert page.texts["h1"] == ["</title><script>alert(1)</script>"]
    assert name in page.texts["th"]


@pytest.mark.slow
def test_differences_are_told_with_lost_updates_trained_again_too():
    lossy = Page(report(result({"a": [1.0], "b": [2.0]}, {"a": 0.1}), b"", MANIFEST).decode())
    lossless = Page(report(result({"a": [1.0], "b": [2.0]}), b"", MANIFEST).decode())

    again = "every lost update trained again"
    assert sum(again in each for each in lossy.texts["caption"]) == 1
    assert not any(again in each for each in lossless.texts["caption"])
    assert "overhead retrained, %" in lossy.texts["th"]
    assert "overhead retrained, %" not in lossless.texts["th"]


# --- What follows from a scenario -----------------------------------------------------------------


SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_the_file_stands_as_it_is_with_what_was_set_and_what_follows():
    path, override = SCENARIOS / "quickstart.toml", "failures.mean=10 h"
    found = run(load_scenario(path, [override]), ["full", "replication"], replications=2)
    told = {each.name: each for each in derived(found.scenario, found.plans)}
    source = ScenarioSource(path.read_text(), (override,))
    page = Page(inputs(found.scenario, found.plans, source))

    # 2.4 TB at 8 GB/s, and read at 16 GB/s.
    assert (told["one save"].value, told["one save"].origin) == ("5 min", "derived")
    assert told["one load of everything"].value == "2.5 min"
    assert told["replication: saves every"].value == "never"
    assert told["replication: slowdown"].origin in ("derived", "assumed", "unknown")
    assert page.texts["code"][0].strip() == source.text.strip()
    assert "Set by --set: failures.mean=10 h." in page.texts["p"]
    assert "10 h" in page.texts["table"][0]


def test_a_measured_cost_is_not_derived():
    scenario = load_scenario(SCENARIOS / "criteo-kaggle.toml")
    told = {each.name for each in derived(scenario, scenario.plans_of(["full"]))}

    assert not {"one save", "one load of everything"} & told
