"""Compiled code is kept, and found again."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from cprsim.batch import compiled, readiness
from cprsim.batch import engine as batch
from cprsim.runs import engines
from cprsim.runs.engines import waits
from cprsim.scenario import load_scenario

KAGGLE = Path(__file__).parents[2] / "scenarios/criteo-kaggle.toml"


def test_what_was_compiled_is_known_and_what_has_changed_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch.make_ready()
    assert readiness.is_compiled()
    monkeypatch.delitem(sys.modules, "cprsim.batch.compiled")
    assert readiness.is_compiled()
    assert not waits("batch")

    monkeypatch.setattr(readiness, "sources", lambda: "those of another day")
    assert not readiness.is_compiled()
    assert waits("batch")
    assert not waits("auto")


def test_until_it_is_compiled_the_simulator_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first block is played by the simulator, the others by the engine."""
    scenario, ready = load_scenario(KAGGLE), iter([False, True])
    monkeypatch.setattr(engines, "is_ready", lambda: next(ready))

    found = engines.simulate(scenario, {"full": "batch"}, range(300), 0)

    assert np.array_equal(found, batch.simulate(scenario, ["full"], range(300), 0))
    assert next(ready, None) is None


@pytest.mark.slow
def test_another_process_compiles_it_and_only_one(tmp_path: Path) -> None:
    """The second finds that somebody has begun."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    script = "from cprsim.batch.readiness import compile_alone; compile_alone()"
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    (mark,) = tmp_path.glob("*/compiled-*")
    (code,) = tmp_path.glob("*/*.nbc")

    code.unlink()
    mark.rename(mark.with_name(f"{mark.name}.begun"))
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert not list(tmp_path.glob("*/*.nbc"))


def test_a_mark_is_left_where_the_machine_code_is(tmp_path: Path) -> None:
    readiness.note_compiled(tmp_path)
    readiness.note_compiled(tmp_path / "that nobody may write to")

    assert len(list(tmp_path.iterdir())) == 1


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = numba.njit

    def nowhere(**options: object) -> object:
        if "cache" in options:
            raise RuntimeError("cannot cache function 'add': no locator available for file 'it'")
        return plain(**options)

    monkeypatch.setattr(numba, "njit", nowhere)

    assert compiled.kept(lambda a, b: a + b)(1, 2) == 3
