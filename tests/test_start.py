"""The command and the library start quickly: what is slow is imported where it is needed."""

from pathlib import Path

import pytest

import cprsim
from tests.test_cli import QUICKSTART, python

SLOW = ("numba", "numpy", "pandas", "scipy", "simpy", "matplotlib", "pydantic")


def imported_by(code: str) -> list[str]:
    """Which of the slow libraries a new interpreter has imported once it has run `code`."""
    done = python("-c", f"{code}\nimport sys; print(*[m for m in {SLOW} if m in sys.modules])")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def test_help_imports_nothing_slow():
    assert imported_by('from cprsim.cli import command; command._main(["--help"])') == []


@pytest.mark.slow
def test_help_that_lists_readers_imports_none():
    found = imported_by('from cprsim.cli import command; command._main(["fit", "--help"])')

    assert set(found) <= {"pydantic"}  # typer itself looks at it


@pytest.mark.slow
def test_importing_cprsim_imports_nothing_slow():
    assert imported_by("import cprsim; dir(cprsim); cprsim.__version__") == []


def test_importing_cprsim_still_gives_all_its_names():
    public = [name for name in dir(cprsim) if not name.startswith("__")]
    assert public == sorted(cprsim.__all__)
    assert all(callable(getattr(cprsim, name)) for name in public)
    with pytest.raises(AttributeError, match="module 'cprsim' has no attribute 'sumulate'"):
        _ = cprsim.sumulate


@pytest.mark.slow
def test_loading_a_scenario_does_not_import_what_only_results_need():
    found = imported_by(f"import cprsim; cprsim.load_scenario({QUICKSTART!r})")

    assert set(found) <= {"numpy", "pydantic"}


def test_load_scenario_is_imported_with_few_lines_of_ours():
    done = python(
        "-c",
        "import sys\nfrom cprsim import load_scenario\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.partition('.')[0] == 'cprsim'))",
    )
    files = done.stdout.split()

    assert len(files) <= 60
    assert sum(len(Path(each).read_text("utf-8").splitlines()) for each in files) <= 8_000
