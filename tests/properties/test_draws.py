"""What Hypothesis draws depends on the test alone, not on what happens to be imported."""

import subprocess
import sys

import pytest

DRAWS = """
import importlib, sys
import tests.conftest
for name in sys.argv[1:]:
    importlib.import_module(name)
from hypothesis import given, settings, strategies as st
drawn = []
@settings(max_examples=200)
@given(st.tuples(st.integers(), st.floats(), st.text()))
def draw(values):
    drawn.append(repr(values))
draw()
print(hash(tuple(drawn)), len(set(drawn)))
"""
#: Full of constants.
OTHERS = ("cprsim.cli", "cprsim.batch.engine", "cprsim.sim.engine", "cprsim.report.report")


def drawn(*imported: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DRAWS, *imported], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def hashes_are_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")


@pytest.mark.slow
@pytest.mark.usefixtures("hashes_are_fixed")
def test_the_same_is_drawn_alone_and_with_others() -> None:
    alone = drawn()

    assert int(alone.split()[1]) > 100
    assert drawn(*OTHERS) == alone
