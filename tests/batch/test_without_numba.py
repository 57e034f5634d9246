"""Numba makes it quick, and nothing else: without it the same bytes, and nobody waits for it."""

import hashlib
from pathlib import Path

import pytest

from cprsim.batch import engine as batch
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from tests.batch.compare import Values
from tests.batch.test_rare import CASES
from tests.test_cli import QUICKSTART, python

#: Of tests/batch/test_rare.py: policies with all kinds of controllers, rules and failures.
PLAYED = (
    "failures in a save",
    "failures of severity cluster",
    "of an outage",
    "save at once",
    "saves rarer than at first",
    "runs at several paces",
    "load and reschedule at once",
    "runs under a mirror",
    "returns of all to local",
    "Differences",
    "more experts than at first",
    "runs that lose unequal shares",
)
REPLICATIONS = range(5)
#: Plays the cases where Numba can't be imported, and says which bytes came out.
WITHOUT = """
import sys
sys.modules["numba"] = None
from tests.batch.test_without_numba import by_batch, digest, PLAYED
for what in PLAYED:
    print(digest(by_batch(what)))
"""


def scenario(what: str) -> Scenario:
    return Scenario(**CASES[what])


def by_batch(what: str) -> Values:
    return batch.simulate(scenario(what), ["it"], REPLICATIONS, 0)


def digest(values: Values) -> str:
    return hashlib.sha256(values.tobytes()).hexdigest()


@pytest.mark.slow
def test_without_numba_the_bytes_are_the_same_and_a_line_says_that_it_is_slow() -> None:
    from cprsim.batch.compiled import WITHOUT_NUMBA

    done = python("-c", WITHOUT)
    assert done.returncode == 0, done.stderr
    expected = [digest(sim.simulate(scenario(w), ["it"], REPLICATIONS, 0)) for w in PLAYED]
    assert done.stdout.split() == expected
    assert done.stderr.count(WITHOUT_NUMBA) == 1
    assert [digest(by_batch(what)) for what in PLAYED] == expected


#: Runs a command, and says whether it loaded Numba.
LOADS = """
import sys
from cprsim.cli import command
code = command._main(sys.argv[1:])
print("numba" in sys.modules, code)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["advise", QUICKSTART, "--closed-form"],
        ["run", QUICKSTART, "--replications", "100"],
    ],
    ids=lambda arguments: "-".join(Path(each).stem for each in arguments),
)
def test_a_command_that_plays_few_runs_does_not_load_numba(arguments: list[str]) -> None:
    done = python("-c", LOADS, *arguments)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False 0"
