"""What can be moved, of every shipped scenario, and how far."""

import shlex
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.app.controls import Control
from cprsim.app.page_model import MovesError, PageModel, WhatIf, faults_at
from cprsim.errors import ScenarioError
from cprsim.scenario import load_scenario
from tests.app.serving import KAGGLE, QUICKSTART, SCENARIOS

#: That the issue names: of the job, in the words of the page.
JOB = ["MTBF of the job", "parameter servers", "save bandwidth", "rescheduling, mean", "target PLS"]
SHIPPED = sorted(
    path.name
    for path in SCENARIOS.glob("*.toml")
    if path.name not in ("production-fleet.toml", "lanl-replay.toml")  # a fleet; a log elsewhere
)


def control(subject: PageModel, name: str) -> Control:
    (found,) = (each for each in subject.controls if each.name == name)
    return found


def test_what_the_quickstart_moves():
    controls = PageModel.read(QUICKSTART).controls
    labels = [each.label for each in controls if not each.group]

    assert [label for label in labels if label in JOB] == JOB
    assert {each.group for each in controls} == {"", "full", "async", "cpr", "replication"}
    moved = {each.name: each.text for each in controls if each.group}
    assert moved == {
        "policies.full.interval": "optimal",
        "policies.async.interval": "optimal",
        "policies.async.in_flight": "1",
        "policies.cpr.interval": "",
        "policies.replication.interval": "",
        "policies.replication.copies": "2",
    }


def test_measured_costs_are_moved_where_they_stand_and_bandwidths_where_not():
    names = {each.name for each in PageModel.read(KAGGLE).controls}

    assert {"costs.save", "costs.load", "costs.reschedule", "failures.exactly"} <= names
    assert not {"storage.write", "failures.mean"} & names


@pytest.mark.parametrize("name", SHIPPED)
def test_every_control_stands_at_its_value_and_can_be_set_to_it(name):
    subject = PageModel.read(SCENARIOS / name)
    names = [each.name for each in subject.controls]
    assert len(names) == len(set(names)) > 0
    texts = {each.name: each.text for each in subject.controls if each.text}

    assert subject.scenario(WhatIf(texts)).plans.keys() == set(subject.policies)
    for each in subject.controls:
        number = each.number(each.text)
        if each.most > 0 and number:
            assert 0 < each.least <= number <= each.most
        assert bool(each.choices) == (each.kind == "choice")
        assert each.text in each.choices or not each.choices


def test_a_policy_with_a_dot_in_its_name_is_moved_as_any(tmp_path):
    text = QUICKSTART.read_text(encoding="utf-8").replace(
        "[policies.full]", '[policies."full-0.1"]'
    )
    (tmp_path / "it.toml").write_text(text, encoding="utf-8")
    subject = PageModel.read(tmp_path / "it.toml")
    name = 'policies."full-0.1".interval'

    assert next(each.text for each in subject.controls if each.name == name) == "optimal"
    moved = subject.scenario(WhatIf({name: "2 h"}))
    assert moved.plan("full-0.1").interval_s == 7200.0


@pytest.mark.parametrize("end", ["least", "most"])
def test_the_ends_of_a_slider_are_jobs(end):
    subject = PageModel.read(QUICKSTART)
    units = {"duration": " s", "rate": " B/s", "size": " B"}
    told = []
    for each in subject.controls:
        if each.most > 0 and each.name != "cluster.parameter_servers":  # 1 is too few for copies
            number = getattr(each, end)
            text = (
                f"{number:.0f}" if each.kind == "whole" else f"{number!r}{units.get(each.kind, '')}"
            )
            try:
                subject.scenario(WhatIf({each.name: text}))
            except ScenarioError as error:
                told.append(str(error))
    assert told == []


def test_where_a_text_stands_on_a_slider():
    subject = PageModel.read(QUICKSTART)
    mean, nic = control(subject, "failures.mean"), control(subject, "cluster.nic")

    assert mean.number("14 h") == 14 * 3600
    assert mean.number('"14 h"') == 14 * 3600
    assert mean.number("optimal") is None
    assert mean.number("14") is None
    assert nic.text == "25 Gbit/s"
    assert nic.number(nic.text) == 25e9 / 8
    assert control(subject, "target_pls").number("nan") is None
    assert control(subject, "cluster.spares").zero


def test_detection_is_moved_where_some_failure_has_no_other(tmp_path):
    text = (SCENARIOS / "causes.toml").read_text()
    text = text.replace("[costs]\n", '[costs]\ndetect = "10 min"\n')
    each_its_own, some = tmp_path / "each.toml", tmp_path / "some.toml"
    each_its_own.write_text(text)
    some.write_text(text.replace('detect = "3 min"\n', "", 1))

    assert not [each for each in PageModel.read(each_its_own).controls if each.label == "detection"]
    assert control(PageModel.read(some), "costs.detect").text == "10 min"


def test_prices_are_moved_where_there_are_any(tmp_path):
    priced = tmp_path / "priced.toml"
    text = QUICKSTART.read_text() + '\n[prices]\ntrainer = "2.5 USD/h"\n'
    priced.write_text(text)

    assert control(PageModel.read(priced), "prices.trainer").text == "2.5 USD/h"


def test_a_file_without_policies_has_nothing_to_compare(folder):
    Path("job.toml").write_text(QUICKSTART.read_text().partition("[policies")[0])
    with pytest.raises(ScenarioError, match=r"^policies: there are none; write e\.g\."):
        PageModel.read(Path("job.toml"))


# --- A question in the address --------------------------------------------------------------------


SUBJECT = PageModel.read(QUICKSTART)
DURATIONS = st.builds("{:.3g} {}".format, st.floats(0.01, 1e4), st.sampled_from(["s", "min", "h"]))
FAULTS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))
MOVED = st.fixed_dictionaries(
    {},
    optional={
        # As of what can be played.
        "failures.mean": st.builds("{} min".format, st.integers(10, 10**6)),
        "cluster.parameter_servers": st.integers(2, 400).map(str),
        "storage.write": st.builds("{:.3g} GB/s".format, st.floats(0.1, 1e3)),
        "costs.reschedule.mean": DURATIONS,
        "target_pls": st.builds("{:.3g}".format, st.floats(0.001, 1)),
    },
)


@given(MOVED, st.integers(0, 2**40), st.integers(1, 10**6), st.sampled_from(["time", "retrained"]))
def test_the_address_gives_the_question_back(moved, seed, replications, objective):
    asked = WhatIf(moved, seed, replications, 3, objective)

    assert WhatIf.from_query(asked.query, SUBJECT.controls) == asked


@given(MOVED)
def test_the_copied_command_reads_the_scenario_of_the_page(moved):
    asked = WhatIf(moved)
    name, command, path, *options = shlex.split(SUBJECT.commands(asked)[0])
    sets = [text for flag, text in pairwise(options) if flag == "--set"]

    assert (name, command, path) == ("cprsim", "run", str(QUICKSTART))
    scenario = load_scenario(Path(path), sets)
    assert scenario.to_toml() == SUBJECT.scenario(asked).to_toml()
    assert options[-4:] == ["--replications", "1000", "--seed", "0"]


def test_a_target_that_policies_share_is_moved_for_all_of_them():
    found = PageModel.read(KAGGLE).overrides(WhatIf({"target_pls": "0.02"}))

    names = ("cpr", "cpr-mfu", "cpr-ssu", "cpr-scar")
    assert found == tuple(f"policies.{name}.target_pls=0.02" for name in names)


@pytest.mark.parametrize(("query", "faults"), FAULTS["asked"].items())
def test_what_cannot_be_asked_is_told(query, faults):
    with pytest.raises(MovesError) as error:
        WhatIf.from_query(query, SUBJECT.controls)
    assert error.value.faults == faults


def test_as_many_replications_as_would_never_end_are_refused():
    with pytest.raises(MovesError, match=r"replications: replications 10,000,000,000: would take"):
        WhatIf.from_query("replications=10000000000", SUBJECT.controls)


@pytest.mark.parametrize("case", FAULTS["moved"], ids=lambda case: " ".join(case["moved"]))
def test_a_fault_is_told_at_its_control(case):
    asked = WhatIf(case["moved"])
    with pytest.raises(ScenarioError) as error:
        SUBJECT.scenario(asked)
    found, more = faults_at(error.value, SUBJECT.controls, asked)

    assert (found, more) == (case["at"], case["others"])
