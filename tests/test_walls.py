"""What may not import what, beyond the floors of cprsim that pyproject.toml has."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.paths import DOCS, ROOT

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
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in imported(path)
        if name.partition(".")[0] in WALLS[folder]
    ]
    assert found == []


def test_docs_are_pages_and_pictures_alone_beside_how_they_are_built():
    assert list(DOCS.rglob("*.py")) == [DOCS / "conf.py"]


def test_every_way_to_import_is_seen(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import a.b, c as d\n"
        "from e.f import g as h, i\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    import unseen\n"
        "else:\n"
        "    import j\n"
        "def later():\n"
        "    from k import l\n"
        "    importlib.import_module('m.n')\n"
    )
    expected = ["a.b", "c", "e.f.g", "e.f.i", "typing.TYPE_CHECKING", "j", "k.l", "m.n"]
    assert imported(path) == tuple(expected)
