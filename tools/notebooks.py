"""Execute the notebooks and write them, with their pictures, as .ipynb into the same folder.

Edit the .py (Jupytext's percent format). A notebook runs in its own folder, as in
Jupyter. Run `python -m tools.notebooks` when one changes, or what it shows; a test executes all of
them, and compares the sources of each pair.
"""

from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from cprsim.basics.files import write_all
from tools.paths import NOTEBOOKS

SCRIPTS = sorted(NOTEBOOKS.glob("*.py"))
#: Of a cell, before Jupyter gives up on it.
_LONGEST_S = 120


def source(script: Path) -> NotebookNode:
    """A notebook as its .py says, without outputs; cells are named by their numbers."""
    notebook = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def executed(notebook: NotebookNode) -> NotebookNode:
    """The notebook with its outputs; `CellExecutionError` if a cell raises."""
    client = NotebookClient(
        notebook,
        timeout=_LONGEST_S,
        record_timing=False,
        resources={"metadata": {"path": str(NOTEBOOKS)}},
        extra_arguments=["--HistoryManager.enabled=False"],  # one file, shared by all kernels
    )
    client.execute()
    return notebook


def _write() -> None:
    for script in SCRIPTS:
        text = nbformat.writes(executed(source(script))) + "\n"
        write_all(NOTEBOOKS, {f"{script.stem}.ipynb": text.encode()})


if __name__ == "__main__":
    _write()
