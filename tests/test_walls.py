"""What may not import what, beyond the floors of cprsim that pyproject.toml has."""

import pytest

from tools.imports import imported
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
