"""A rule stands once, in cprsim/machine: neither driver has a function of the other's name."""

import ast
from pathlib import Path

from cprsim.sim.draws import Sink

PACKAGE = Path(__file__).parents[1] / "cprsim"
#: Functions shorter than that hold no rule.
LINES = 4
#: Both engines are called by this name: `simulate(scenario, policies, replications, seed)`. Both
#: take random numbers by the methods of `cprsim.sim.draws.Sink`.
SHARED = {"simulate", *(name for name in vars(Sink) if name.startswith(("put", "add")))}


def functions(room: str) -> set[str]:
    """Names of the functions and methods of a room."""
    return {
        node.name
        for path in (PACKAGE / room).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
        if node.end_lineno - node.lineno + 1 >= LINES
    }


def test_the_drivers_share_no_function_name() -> None:
    drivers = functions("sim") & functions("batch")

    assert len(functions("sim")) > 50
    assert drivers <= SHARED


def test_the_machine_imports_neither_numba_nor_simpy() -> None:
    for path in (PACKAGE / "machine").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import numba" not in text
        assert "import simpy" not in text
        assert "numpy" not in text
