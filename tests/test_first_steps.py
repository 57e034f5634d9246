"""What somebody tries first: names in the place of paths, percentages, keys by another name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import cprsim
from cprsim.basics import shipped
from cprsim.errors import ScenarioError, UsageError
from tools.paths import ROOT

QUICKSTART = Path(__file__).parents[1] / "scenarios/quickstart.toml"


@pytest.mark.parametrize("given", ["quickstart", QUICKSTART, str(QUICKSTART)])
def test_a_name_or_a_path_is_a_scenario(given):
    known = cprsim.run(cprsim.load_scenario("quickstart"), ["full"], 2, engine="sim").summary

    assert cprsim.run(given, ["full"], 2, engine="sim").summary.equals(known)
    assert cprsim.decide(given) == cprsim.decide(cprsim.load_scenario("quickstart"))


def test_values_are_set_by_dotted_keys():
    job = cprsim.load_scenario("quickstart")
    changed = job.with_values({"failures.mean": "8 h", "cluster.parameter_servers": 20})

    assert changed.context.mtbf_s == 8 * 3600
    assert changed.context.servers == 20
    assert job.context.mtbf_s == 20 * 3600
    with pytest.raises(ScenarioError, match=r"failures\.meen: unknown key"):
        job.with_values({"failures.meen": "8 h"})


def test_a_scenario_in_a_line():
    job = cprsim.load_scenario("quickstart")
    policies = "full, async, cpr, replication"
    assert repr(job) == (
        f"<Scenario 'Quickstart: a four-day job on 10 parameter servers': policies {policies}>"
    )


@pytest.mark.slow
def test_a_limit_may_be_a_percentage():
    job = cprsim.load_scenario("quickstart")
    asked = [cprsim.advise(job, systems=["full"], max_pls=most).criteria for most in (0.02, "2%")]
    assert asked[0] == asked[1]
    with pytest.raises(UsageError, match="max_pls: '2' is not a share: write a percentage"):
        cprsim.advise(job, systems=["full"], max_pls="2")


@pytest.mark.slow
def test_the_package_is_the_command():
    called = [sys.executable, "-m", "cprsim", "scenarios"]
    found = subprocess.run(called, capture_output=True, text=True, check=True)
    assert "quickstart" in found.stdout


def test_a_file_is_found_without_its_ending(tmp_path, monkeypatch, called):
    monkeypatch.chdir(tmp_path)
    own = QUICKSTART.read_text(encoding="utf-8").replace("Quickstart: a", "My own: a")
    Path("quickstart.toml").write_text(own, encoding="utf-8")

    out = called("run", "quickstart", "--policy", "full", "--replications", "2").out
    assert "My own" in out  # before the shipped one of that name


def test_policies_that_are_no_table_are_told(tmp_path, called):
    path = tmp_path / "odd.toml"
    path.write_text("policies = 3\n", encoding="utf-8")
    assert "policies: 3 is not a table" in called("run", str(path), "--policy", "full", code=2).err


# --- Shipped scenarios by their names -------------------------------------------------------------


FILES = sorted((ROOT / "scenarios").glob("*.toml"))


def test_all_of_them_are_listed_with_their_titles(called):
    lines = called("scenarios").out.splitlines()

    assert [line.split()[0] for line in lines] == [path.stem for path in FILES]
    assert "quickstart        Quickstart: a four-day job on 10 parameter servers" in lines


def test_the_list_as_json(called):
    listed = json.loads(called("scenarios", "--json").out)["scenarios"]

    assert [each["name"] for each in listed] == [path.stem for path in FILES]
    assert listed[0]["title"].startswith("Accepted loss: 200 parameter servers")


@pytest.mark.parametrize("name", ["tiered", "tiered.toml"])
def test_one_is_shown_as_it_stands(name, called):
    text = (ROOT / "scenarios/tiered.toml").read_text(encoding="utf-8")
    assert called("scenarios", name).out == text


@pytest.mark.parametrize("name", ["quickstart", "failures.csv"])
def test_a_copy_is_the_same_file(name, folder, called):
    assert called("scenarios", name, "--copy", "mine/job").out == ""
    assert Path("mine/job").read_bytes() == shipped.named(name).read_bytes()


def test_a_file_of_ones_own_comes_before_the_shipped_one(folder):
    Path("quickstart").write_text("title = 1")

    with pytest.raises(ScenarioError, match=r"^title: 1 is not a string\n"):
        cprsim.load_scenario("quickstart")


def test_a_folder_of_that_name_does_not_hide_it(folder):
    Path("quickstart").mkdir()

    assert cprsim.load_scenario("quickstart").title.startswith("Quickstart")


SWEEP = ["--vary", "cluster.spares=0,1", "--out", "s", "--replications", "2"]
COMMANDS = [
    ["run", "quickstart", "--replications", "2"],
    ["advise", "quickstart", "--closed-form"],
    ["rows", "criteo-kaggle"],
    ["timeline", "quickstart", "--policy", "full", "--out", "full.json.gz"],
]
SLOW = [
    ["sweep", "quickstart", *SWEEP],
    ["fit", str(ROOT / "scenarios/failures.csv"), "--for", "quickstart"],
    ["figure", "interval", "quickstart", "--out", "interval.svg"],
]


@pytest.mark.parametrize(
    "arguments",
    [*COMMANDS, *(pytest.param(each, marks=pytest.mark.slow) for each in SLOW)],
    ids=lambda each: each[0],
)
def test_commands_take_names(arguments, folder, called):
    said = called(*arguments).err.splitlines()
    assert all(line.startswith("cprsim: wrote ") for line in said), said
