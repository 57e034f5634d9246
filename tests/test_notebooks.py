"""Notebooks run to their last assert."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda p: p.stem
)
def test_a_notebook_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    runpy.run_path(str(notebook))
