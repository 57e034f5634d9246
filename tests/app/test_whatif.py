"""A question in the address is the question of the commands, and of the scenario that they read."""

import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.app.page_model import MovesError, PageModel, WhatIf, faults_at
from cprsim.errors import ScenarioError
from cprsim.scenario import load_scenario
from tests.app.serving import KAGGLE, QUICKSTART

SUBJECT = PageModel.read(QUICKSTART)
DURATIONS = st.builds("{:.3g} {}".format, st.floats(0.01, 1e4), st.sampled_from(["s", "min", "h"]))
TOO_MANY_COPIES = (
    "policies.replication: copies = 2 is more than the 1 parameter servers; each copy of a shard "
    "needs its own server"
)
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
def test_the_address_gives_the_question_back(
    moved: dict[str, str], seed: int, replications: int, objective: str
) -> None:
    asked = WhatIf(moved, seed, replications, 3, objective)

    assert WhatIf.from_query(asked.query, SUBJECT.controls) == asked


@given(MOVED)
def test_the_copied_command_reads_the_scenario_of_the_page(moved: dict[str, str]) -> None:
    asked = WhatIf(moved)
    name, command, path, *options = shlex.split(SUBJECT.commands(asked)[0])
    sets = [text for flag, text in pairwise(options) if flag == "--set"]

    assert (name, command, path) == ("cprsim", "run", str(QUICKSTART))
    scenario = load_scenario(Path(path), sets)
    assert scenario.to_toml() == SUBJECT.scenario(asked).to_toml()
    assert options[-4:] == ["--replications", "1000", "--seed", "0"]


def test_a_target_that_policies_share_is_moved_for_all_of_them() -> None:
    found = PageModel.read(KAGGLE).overrides(WhatIf({"target_pls": "0.02"}))

    names = ("cpr", "cpr-mfu", "cpr-ssu", "cpr-scar")
    assert found == tuple(f"policies.{name}.target_pls=0.02" for name in names)


@pytest.mark.parametrize(
    ("query", "faults"),
    [
        ("seed=x", {"seed": "seed 'x' is not a whole number >= 0"}),
        ("seed=-1", {"seed": "seed -1 is not a whole number >= 0"}),
        ("replications=0", {"replications": "replications 0 is not a whole number >= 1"}),
        ("replication=1.5", {"replication": "replication '1.5' is not a whole number >= 0"}),
        ("objective=tiem", {"objective": "objective 'tiem' is not known; did you mean 'time'?"}),
        (
            "failures.meen=1+h",
            {"failures.meen": "is not moved here; did you mean 'failures.mean'?"},
        ),
    ],
)
def test_what_cannot_be_asked_is_told(query: str, faults: dict[str, str]) -> None:
    with pytest.raises(MovesError) as error:
        WhatIf.from_query(query, SUBJECT.controls)
    assert error.value.faults == faults


def test_as_many_replications_as_would_never_end_are_refused() -> None:
    with pytest.raises(MovesError, match=r"replications: replications 10,000,000,000: would take"):
        WhatIf.from_query("replications=10000000000", SUBJECT.controls)


@pytest.mark.parametrize(
    ("moved", "at", "others"),
    [
        (
            {"failures.mean": "14"},
            {"failures.mean": '14 has no unit: write a string with one, e.g. "14 h"'},
            [],
        ),
        (
            {"failures.mean": "14 m", "cluster.trainers": "many"},
            {
                "failures.mean": '\'14 m\': a lone "m" is ambiguous; write "14 min" for minutes',
                "cluster.trainers": "'many' is not a whole number",
            },
            [],
        ),
        ({"target_pls": "2"}, {"target_pls": "2 is out of range: it must be <= 1"}, []),
        (
            {"policies.full.interval": "1 ms"},
            {
                "policies.full.interval": "a save every 1 ms makes 3.5e+08 of them in the job; "
                "give an interval that makes at most 10,000,000"
            },
            [],
        ),
        ({"cluster.parameter_servers": "1"}, {"cluster.parameter_servers": TOO_MANY_COPIES}, []),
        ({"cluster.parameter_servers": "1", "failures.mean": "14 h"}, {}, [TOO_MANY_COPIES]),
    ],
)
def test_a_fault_is_told_at_its_control(
    moved: dict[str, str], at: dict[str, str], others: list[str]
) -> None:
    asked = WhatIf(moved)
    with pytest.raises(ScenarioError) as error:
        SUBJECT.scenario(asked)
    found, more = faults_at(error.value, SUBJECT.controls, asked)

    assert (found, more) == (at, others)
