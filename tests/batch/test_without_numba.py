"""Numba makes it quick, and nothing else: without it the same bytes, and nobody waits for it."""

import hashlib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cprsim.runs.engines import chosen, simulate
from cprsim.scenario import Scenario, load_scenario
from cprsim.sim import engine as sim
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
#: Ways to be without the compiler, as Python has them, and the reason that a line gives.
WAYS = {
    "not installed": ("import sys; sys.modules['numba'] = None", "Numba can't be imported"),
    "environment": ("import os; os.environ['NUMBA_DISABLE_JIT'] = '1'", "NUMBA_DISABLE_JIT is set"),
    "file": (
        "from pathlib import Path; Path('.numba_config.yaml').write_text('disable_jit: 1')",
        "NUMBA_DISABLE_JIT is set",
    ),
    "Python": ("import numba; numba.config.DISABLE_JIT = True", "NUMBA_DISABLE_JIT is set"),
}
#: Plays the cases without the compiler, and says which bytes came out.
WITHOUT = """
WAY
from tests.batch.test_without_numba import by_batch, digest, PLAYED
for what in PLAYED:
    print(digest(by_batch(what)))
"""


Values = NDArray[np.float64]


def scenario(what: str) -> Scenario:
    return Scenario(**CASES[what])


def by_batch(what: str) -> Values:
    return simulate(scenario(what), {"it": "batch"}, REPLICATIONS, 0)


def digest(values: Values) -> str:
    return hashlib.sha256(values.tobytes()).hexdigest()


def without(way: str, folder: Path, played: tuple[str, ...]) -> None:
    setting, reason = WAYS[way]
    script = WITHOUT.replace("WAY", setting).replace("PLAYED:", f"{played!r}:")
    done = python("-c", script, cwd=folder)
    assert done.returncode == 0, done.stderr
    expected = [digest(sim.simulate(scenario(w), ["it"], REPLICATIONS, 0)) for w in played]
    assert done.stdout.split() == expected
    assert f"{reason}: the simulator plays in place of the batch engine" in done.stderr


@pytest.mark.slow
def test_without_numba_the_bytes_are_the_same_and_a_line_says_so(tmp_path) -> None:
    without("not installed", tmp_path, PLAYED)
    import_module("cprsim.batch.engine").make_ready()
    assert [digest(by_batch(what)) for what in PLAYED] == [
        digest(sim.simulate(scenario(what), ["it"], REPLICATIONS, 0)) for what in PLAYED
    ]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["environment", "file", "Python"])
def test_numba_that_is_switched_off_changes_no_byte(way: str, tmp_path: Path) -> None:
    without(way, tmp_path, PLAYED[:1])


@pytest.mark.parametrize(
    ("value", "compiles"), [(None, True), ("0", True), ("false", True), ("1", False), ("2", False)]
)
def test_auto_takes_no_engine_that_runs_uncompiled(value, compiles, monkeypatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    if value is not None:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", value)

    engines = chosen(load_scenario(QUICKSTART), ["full"], "auto", 1e9)
    assert engines == {"full": "batch" if compiles else "sim"}


#: Runs a command, and says whether it loaded Numba.
LOADS = """
import sys
from cprsim.cli import command
code = command._main(sys.argv[1:])
print("numba" in sys.modules, code)
"""


@pytest.mark.slow
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
