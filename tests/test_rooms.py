"""The table of docs/architecture.md has the rooms that there are, and no modules form a circle."""

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tools.paths import DOCS, ROOT

TEXT = (DOCS / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "cprsim"


def test_the_table_has_every_room_on_its_floor() -> None:
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


def test_no_modules_import_each_other_in_a_circle() -> None:
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
