"""What is compiled is kept, found again, and plays in several threads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.batch import compiled, support
from cprsim.batch import engine as batch
from cprsim.cli import run
from cprsim.runs.engines import compiles
from cprsim.scenario import load_scenario

KAGGLE = Path(__file__).parents[2] / "scenarios/criteo-kaggle.toml"


def test_threads_give_the_same_bytes() -> None:
    scenario = load_scenario(KAGGLE)
    policies = list(scenario.policies)
    alone = batch.simulate(scenario, policies, range(2000), 0)

    assert np.array_equal(batch.simulate(scenario, policies, range(2000), 0, threads=3), alone)


def test_what_was_compiled_is_known_and_what_has_changed_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    batch.make_ready()
    scenario = load_scenario(KAGGLE)

    def asked(engine: str) -> dict[str, Any]:
        return {"policies": None, "engine": engine, "replications": 10}

    assert support.is_compiled()
    assert not compiles(["batch"])
    assert not run._compiles(scenario, asked("batch"))

    monkeypatch.setattr(support, "sources", lambda: "those of another day")
    assert not support.is_compiled()
    assert compiles(["sim", "batch"])
    assert not compiles(["sim"])
    assert run._compiles(scenario, asked("batch"))
    assert not run._compiles(scenario, asked("auto"))


def test_a_mark_is_left_where_the_machine_code_is(tmp_path: Path) -> None:
    support.note_compiled(tmp_path)
    support.note_compiled(tmp_path / "that nobody may write to")

    assert len(list(tmp_path.iterdir())) == 1


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numba = pytest.importorskip("numba")
    plain = numba.njit

    def nowhere(**options: object) -> object:
        if "cache" in options:
            raise RuntimeError("cannot cache function 'add': no locator available for file 'it'")
        return plain(**options)

    monkeypatch.setattr(numba, "njit", nowhere)

    assert compiled.kept(lambda a, b: a + b)(1, 2) == 3
