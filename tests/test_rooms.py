"""The picture and the table of docs/architecture.md have the rooms that there are."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tools import rooms
from tools.paths import DOCS

TEXT = (DOCS / "architecture.md").read_text(encoding="utf-8")
FLOORS = rooms.floors()
picture = cache(rooms.picture)


@pytest.mark.slow
def test_the_picture_is_what_the_code_gives():
    drawn = rooms.PICTURE.read_text(encoding="utf-8")
    assert drawn == picture(), "run `make pages` and look at docs/figures/rooms.svg"


def test_the_table_has_every_room_once_from_the_bottom_up():
    table = TEXT.partition("## Rooms")[2].partition("\n## ")[0]
    named = iter(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    for floor in reversed(FLOORS):
        assert sorted(next(named, "") for _ in floor) == sorted(floor)
    assert list(named) == []


def test_the_modules_of_the_table_are_there():
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", TEXT, re.MULTILINE)
    modules = [(room, name) for room, cell in rows for name in re.findall(r"`([\w/]+)`", cell)]
    missing = [
        f"{room}/{name}"
        for room, name in modules
        if not (rooms.PACKAGE / room / (name if name.endswith("/") else f"{name}.py")).exists()
    ]
    assert len(modules) > len(rows)
    assert missing == []


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(\w+(?:/\w+)+\.py)`", TEXT))))
def test_a_path_in_the_text_is_there(name):
    assert (rooms.PACKAGE / name).exists()


def test_all_arrows_lead_down_and_the_drawn_ones_along_all_others():
    floor_of = {room: number for number, floor in enumerate(FLOORS) for room in floor}
    arrows = rooms.imports(list(floor_of))
    assert all(floor_of[room] < floor_of[other] for room in arrows for other in arrows[room])

    drawn = rooms.reduced(arrows)

    def reached(room):
        return drawn[room].union(*map(reached, drawn[room]))

    assert all(arrows[room] <= reached(room) for room in arrows)
    assert set(rooms.INTERPRETERS) <= set(floor_of)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """A cycle raises `CycleError` with its modules; imports within functions are for later."""
    package = rooms.PACKAGE
    names = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
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
