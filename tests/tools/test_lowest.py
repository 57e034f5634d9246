"""The lower bounds of pyproject.toml; `make lowest` installs them."""

import tomllib

import pytest

from tools import lowest
from tools.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: The first version that works, and why the one before does not.
FIRST = {
    "typer": ("0.17.4", "--help ends in a traceback, with click 8.2 or without rich.markup"),
    "pyarrow": ("18", "no wheel for Python 3.13"),
    "pandas": ("2.2.3", "no wheel for Python 3.13"),
    "matplotlib": ("3.9.2", "no wheel for Python 3.13"),
}


@pytest.mark.parametrize("name", FIRST)
def test_no_bound_is_below_the_first_version_that_works(name: str) -> None:
    first, why = FIRST[name]
    bound = lowest.bounds(PROJECT, lowest.RESOLVED)[name]

    assert [*map(int, bound.split("."))] >= [*map(int, first.split("."))], why


@pytest.mark.parametrize(
    ("resolution", "wrong"),
    [
        ("numpy==2.1.0\nPyArrow==18.0.0\n", ["pyarrow>=18 is resolved to no version"]),
        ("numpy==2.1.0\npyarrow==18.0.0\n", []),
        ("numpy==2.1.2\npyarrow==18.0.0\n", ["numpy>=2.1 is resolved to 2.1.2"]),
        ("pyarrow==19.0\n", ["numpy>=2.1 is resolved to no version",
                             "pyarrow>=18 is resolved to 19.0"]),
    ],
)  # fmt: skip
def test_a_bound_without_a_wheel_is_named(resolution: str, wrong: list[str]) -> None:
    found = lowest.missed({"numpy": "2.1", "pyarrow": "18"}, resolution)

    assert found == [f"{each}: raise the bound" for each in wrong]


def test_a_dependency_without_a_bound_is_named() -> None:
    project = {
        "dependencies": ["numpy>=2.1", "rich"],
        "optional-dependencies": {"parquet": ["pyarrow==18"]},
    }
    with pytest.raises(SystemExit) as error:
        lowest.bounds(project, ["parquet"])
    assert error.value.code == ("pyproject.toml: rich, pyarrow==18: declare a lower bound with >=")


def test_every_command_is_asked_for_its_help() -> None:
    helped = {trial.split()[0] for trial in lowest.TRIALS if trial.endswith(" --help")}

    assert {"run", "advise", "fit", "sweep", "figure", "app", "study"} <= helped
