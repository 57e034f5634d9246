"""Which runs a study has, under which keys, and what is said of blocks that make none."""

import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from cprsim.errors import RunError, ScenarioError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import load_mapping, scenario_tables
from cprsim.trainer.section import trainer_section
from cprsim.trainer.studies import play
from cprsim.trainer.studies.design import Run, notes, runs, study_section

SHIPPED = Path(__file__).parents[2] / "scenarios" / "train-study.toml"
BLOCK = """
seeds = 3
[parts.pls]
policies = ["cpr-vanilla"]
failures = [4, 8]
[parts.policies]
policies = ["full", "cpr-vanilla"]
failures = [8]
[parts.share]
policies = ["cpr-vanilla"]
failures = [4]
servers_hit = [1, 2]
"""


def planned(block: str = BLOCK, trainer: dict | None = None, **changed: object) -> list[Run]:
    tables = scenario_tables(load_mapping(SHIPPED)) | changed
    section = trainer_section(load_mapping(SHIPPED)["trainer"] | (trainer or {}))
    return runs(Scenario(**tables), section, study_section(tomllib.loads(block)))


def test_each_run_is_there_once_seed_by_seed_the_one_without_failures_first() -> None:
    found = [(r.seed, r.policy, r.failures, r.servers_hit) for r in planned()]

    of_seed = [
        ("cpr-vanilla", 0, 1),
        ("cpr-vanilla", 4, 1),
        ("cpr-vanilla", 8, 1),
        ("full", 8, 1),
        ("cpr-vanilla", 4, 2),
    ]
    assert found == [(seed, *kind) for seed in range(3) for kind in of_seed]
    run = planned()[4]  # which has its policy and its failures alone
    assert list(run.scenario.policies) == ["cpr-vanilla"]
    assert run.scenario.failures.exactly == 4
    assert run.scenario.failure_model.mean_hit.servers == 2


def test_keys_tell_runs_apart_by_what_changes_their_results() -> None:
    keys = [run.key for run in planned()]
    assert len(set(keys)) == len(keys)
    assert keys == [run.key for run in planned(title="another", accuracy=None)]
    assert keys == [run.key for run in planned(trainer={"loading": 0.0})]  # as by default
    for different in (
        planned(trainer={"hidden": 32}),
        planned(job={"useful_time": "6 s", "samples": 200_000}),
        planned(costs={"save": "31 ms", "load": "20 ms"}),
    ):
        assert not {*keys} & {run.key for run in different}


def test_the_shipped_study_has_what_was_asked() -> None:
    block = study_section(load_mapping(SHIPPED)["study"])
    assert block.seeds >= 10
    found = runs(
        Scenario(**scenario_tables(load_mapping(SHIPPED))),
        trainer_section(load_mapping(SHIPPED)["trainer"]),
        block,
    )
    systems = {run.facts["system"] for run in found if run.failures == 32}
    assert systems == {"full", "cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar"}
    assert {run.servers_hit for run in found} == {1, 2, 4}


ONE = "[parts.a]\npolicies = ['full']\nfailures = [1]"
#: What is said of blocks, each with keys of `[trainer]`.
REFUSED = {
    "study.parts: is missing": ("seeds = 3", {}),
    "study.seeds: 21 is out of range: it must be <= 20": (f"seeds = 21\n{ONE}", {}),
    "study.parts.a.failures: is missing": (ONE.replace("failures", "#"), {}),
    "study.parts.a.failures.0: 0 is out of range: it must be >= 1": (ONE.replace("1", "0"), {}),
    "policy 'fall': the scenario has none of that name; did you mean 'full'?": (
        ONE.replace("full", "fall"),
        {},
    ),
    "failures.hits.parameter_servers: ": (f"{ONE}\nservers_hit = [5]", {}),
    "trainer.failures: 'at-time' makes accuracy depend on how fast the machine is; a study needs "
    '"at-step"': (BLOCK, {"failures": "at-time"}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused(said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned(*REFUSED[said])

    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_a_run_on_a_machine_too_slow_for_its_deadlines_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = planned()[0]
    monkeypatch.setattr(play, "train", lambda *_: SimpleNamespace(struck=2, replaced=3))

    with pytest.raises(RunError) as error:
        play.played(run)

    assert str(error.value) == (
        "cpr-vanilla, seed 0: 3 processes were replaced though 2 were struck; give trainer.answer "
        "more time, and start again"
    )


def test_seeds_that_are_too_few_are_told_before_there_are_runs() -> None:
    assert notes(planned()) == [
        "differences between policies: 1 to test, none of which 3 seeds can find significant; give "
        "6 seeds or more",
        "differences by servers hit: 1 to test, none of which 3 seeds can find significant; give 6 "
        "seeds or more",
        "bends of lines, at most: 1 to test, none of which 3 seeds can find significant; give 6 "
        "seeds or more",
    ]
