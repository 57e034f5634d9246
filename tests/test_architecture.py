"""docs/architecture.md says of the machine what its code does."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import cprsim
from cprsim.machine import phases as codes
from cprsim.scenario import Scenario
from cprsim.sim import engine
from cprsim.sim.failure_draws import Sink
from cprsim.sim.observer import Observer
from tools.pages import phases as page
from tools.paths import DOCS, ROOT

TEXT = page.PAGE.read_text(encoding="utf-8")
PACKAGE = Path(cprsim.__file__).parent
MACHINE = PACKAGE / "machine"
JOB = {
    "job": {"useful_time": "4 h"},
    "cluster": {"parameter_servers": 4},
    "costs": {"save": "2 s", "load": "10 s", "reschedule": "30 s", "detect": "8 s"},
    "policies": {"it": {"system": "partial", "interval": "1 h"}},
}


def tables(folder: Path) -> dict[str, Any]:
    """A job whose servers fail after 30 min, 2 h and 3 h."""
    (folder / "log.csv").write_text(
        "time_s,node,severity\n1800,0,node\n7200,1,node\n10800,2,node\n"
    )
    return JOB | {"failures": {"trace": str(folder / "log.csv")}}


# --- Phases ------------------------------------------------------------------------------------


def test_the_tables_of_phases_are_what_the_code_gives():
    assert page.refreshed(TEXT) == TEXT, "run `make pages` and commit docs/architecture.md"


def test_every_phase_has_a_row_and_a_cause_where_it_takes_time():
    found = page.phases()

    assert [number for number, _ in found.values()] == list(range(len(found)))
    assert len(codes.CAUSE_OF) == codes.TURN == found["TURN"][0]


# --- A failure under partial recovery ----------------------------------------------------------


def calls(scenario: Scenario) -> list[str]:
    """What a run that is observed calls in the machine, by module and function."""
    found = []

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.parent == MACHINE:
            found.append(f"{path.stem}.{frame.f_code.co_name}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        engine.play(scenario, "it", 0, 0, Observer())
    finally:
        sys.setprofile(before)
    return found


def test_a_failure_under_partial_recovery_is_as_the_page_says(tmp_path):
    walk = TEXT.partition("### What happens when a failure strikes")[2].partition("\n### ")[0]
    steps = re.findall(r"^\d\. (.*(?:\n   .*)*)", walk, re.MULTILINE)
    expected = [name for step in steps for name in re.findall(r"`(\w+\.\w+)`", step)]
    files = set(re.findall(r"`(\w+)\.py`", walk))

    made = calls(Scenario(**tables(tmp_path)))
    strike = made.index("cursors.strike")
    made = made[: made.index("cursors.strike", strike + 1)]  # of the first failure alone
    place, missing = strike - made[strike::-1].index("step.happen"), []
    for name in expected:
        try:
            place = made.index(name, place) + 1
        except ValueError:
            missing.append(name)

    assert missing == []
    assert len(expected) > len(steps)
    assert {name.partition(".")[0] for name in expected} == files
    assert len(files) <= 5


# --- Rooms ----------------------------------------------------------------------------------------


def test_the_table_has_every_room_on_its_floor():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    floors = enumerate(reversed(layers), 1)
    expected = [(number, room) for number, layer in floors for room in layer.split(" | ")]
    table = TEXT.partition("## Rooms")[2].partition("\n## ")[0]
    named = re.findall(r"^\| (\d+) \| `(\w+)` \|", table, re.MULTILINE)

    assert sorted((int(number), room) for number, room in named) == sorted(expected)


def test_the_modules_of_the_table_are_there():
    rows = re.findall(r"^\| \d+ \| `(\w+)` \|.*\|(.*)\|$", TEXT, re.MULTILINE)
    modules = [(room, name) for room, cell in rows for name in re.findall(r"`([\w/]+)`", cell)]
    missing = [
        f"{room}/{name}"
        for room, name in modules
        if not (PACKAGE / room / (name if name.endswith("/") else f"{name}.py")).exists()
    ]
    assert len(modules) > len(rows)
    assert missing == []


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(\w+(?:/\w+)+\.py)`", TEXT))))
def test_a_path_in_the_text_is_there(name):
    assert (PACKAGE / name).exists()


def test_no_modules_import_each_other_in_a_circle():
    """A cycle raises `CycleError` with its modules; imports within functions are for later."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    needs = {name: _at_once(path, set(names)) - _parents(name) for name, path in names.items()}

    assert len(list(TopologicalSorter(needs).static_order())) == len(names) > 100


def _at_once(path: Path, names: set[str]) -> set[str]:
    """Modules of `names` that a module imports as it is imported itself."""
    found = set()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            found.add(str(statement.module))
            found |= {f"{statement.module}.{alias.name}" for alias in statement.names}
    return found & names


def _parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


# --- One machine ----------------------------------------------------------------------------------


#: Functions shorter than that hold no rule.
LINES = 4
#: Both engines are called by this name: `simulate(scenario, policies, replications, seed)`. Both
#: take random numbers by the methods of `cprsim.sim.failure_draws.Sink`.
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


def test_the_drivers_share_no_function_name():
    drivers = functions("sim") & functions("batch")

    assert len(functions("sim")) > 50
    assert drivers <= SHARED


def test_the_machine_imports_neither_numba_nor_simpy():
    for path in (PACKAGE / "machine").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import numba" not in text
        assert "import simpy" not in text
        assert "numpy" not in text


# --- Walls beyond the floors of pyproject.toml ----------------------------------------------------


#: By folder: what no file in it imports.
WALLS = {
    "cprsim": ("benchmarks", "docs", "tests", "tools"),
    "tools": ("benchmarks", "docs", "tests"),
    "benchmarks": ("docs", "tests", "tools"),
    "docs": ("benchmarks", "tests"),
    "notebooks": ("benchmarks", "docs", "tests", "tools"),
    "tests": ("benchmarks", "docs"),
}


def imported(path: Path) -> tuple[str, ...]:
    """Dotted names of all that a file imports, wherever in it; not what types alone need.

    For `from a import b` that is `a.b`, be `b` a module or not.
    """
    return tuple(_within(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))))


def _within(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(module=str(module), level=0):
            yield from (f"{module}.{alias.name}" for alias in node.names)
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _called(node) in _BY_NAME:
            yield name
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            for statement in node.orelse:
                yield from _within(statement)
            return
    for each in ast.iter_child_nodes(node):
        yield from _within(each)


_BY_NAME = ("import_module", "importlib.import_module", "__import__")


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func)


@pytest.mark.parametrize("folder", WALLS)
def test_nothing_is_imported_through_a_wall(folder):
    others = WALLS[folder]
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if any(each in path.read_text(encoding="utf-8") for each in others)  # else none is imported
        for name in imported(path)
        if name.partition(".")[0] in others
    ]
    assert found == []


def test_docs_are_pages_and_pictures_alone_beside_how_they_are_built():
    assert list(DOCS.rglob("*.py")) == [DOCS / "conf.py"]
