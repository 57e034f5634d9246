"""Notebooks run to their last assert, say nothing they shouldn't, and agree with their .py."""

import re

import jupytext
import nbformat
import pytest
from nbformat import NotebookNode

from tools.notebooks import SCRIPTS, executed, source
from tools.paths import NOTEBOOKS

#: A folder of somebody's machine: of a home, of temporary files, of an installation.
ABSOLUTE = re.compile(r"(?<![\w.:/<])/(home|root|tmp|usr|opt|work|var|private|Users)/|\b[A-Z]:\\")
MOST_BYTES = 360_000


def texts(notebook: NotebookNode) -> str:
    """All that its cells put out, but pictures."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    said = [output.get("text", "") for output in outputs]
    shown = [output.get("data", {}) for output in outputs]
    said += [text for data in shown for kind, text in data.items() if kind.startswith("text/")]
    return "\n".join(said)


def cells(notebook: NotebookNode) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def test_there_are_five():
    assert [script.stem[0] for script in SCRIPTS] == list("12345")
    assert [path.stem for path in sorted(NOTEBOOKS.glob("*.ipynb"))] == [p.stem for p in SCRIPTS]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_warns_of_nothing(script):
    notebook = source(script)
    warn = "import warnings\nwarnings.simplefilter('always')"  # where they show, on stderr
    notebook.cells.insert(0, nbformat.v4.new_code_cell(warn))

    said = texts(executed(notebook))

    assert not ABSOLUTE.search(said)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_and_its_pair_say_the_same_and_end_with_asserts(script):
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)

    assert cells(notebook) == cells(jupytext.read(script)), "run `make notebooks`"
    code = [text for kind, text in cells(notebook) if kind == "code"]
    assert "\nassert " in code[-1]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_it_ran_and_small(script):
    path = script.with_suffix(".ipynb")
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    nbformat.validate(notebook)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not ABSOLUTE.search(texts(notebook))
    assert "image/png" in str(notebook)
    assert path.stat().st_size < MOST_BYTES


def test_an_absolute_path_is_found():
    for text in ("in /home/me/x.py", "'/tmp/a'", "C:\\Users", "(/usr/lib"):
        assert ABSOLUTE.search(text), text
    for text in ("../scenarios/x.toml", "GB/s", "https://a.org/home/x", "</tmp/>"):
        assert not ABSOLUTE.search(text), text
