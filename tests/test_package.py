"""What is installed: the wheel alone, outside the repository, and what its metadata says."""

import doctest
import inspect
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib import import_module

import pytest
import yaml

import cprsim
from cprsim.contract import registry
from tools.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: What comes with extras alone, by the name to import it by.
EXTRAS = ("distributed", "opentelemetry", "prometheus_client", "pyarrow", "torch", "xarray")


@pytest.mark.parametrize(
    ("old", "new", "module"),
    [
        ("closed_form", "formulas", "intervals"),
        ("analytic", "formulas", "intervals"),
        ("history", "sim.history", "phases"),
    ],
)
def test_an_old_name_works_and_warns(old, new, module):
    with pytest.MonkeyPatch.context() as patch:
        for name in (f"cprsim.{old}", f"cprsim.{old}.{module}"):
            patch.delitem(sys.modules, name, raising=False)
        with pytest.warns(DeprecationWarning, match=f"cprsim.{old} is now cprsim.{new}"):
            found = import_module(f"cprsim.{old}.{module}")

    known = import_module(f"cprsim.{new}.{module}")
    assert found.__file__ == known.__file__


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

    assert citation["version"] == cprsim.__version__ == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"] == [{"name": "cprsim developers"}]
    assert citation["abstract"] == f"{PROJECT['description']}."


def test_the_image_is_made_of_the_wheel_and_what_that_takes():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    taken = [line.removeprefix("!") for line in lines if line.startswith("!")]
    copied = " ".join(
        line
        for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("COPY ") and "--from" not in line
    )

    assert lines[0] == "*"
    assert [name for name in taken if not (ROOT / name).exists()] == []
    assert [name for name in taken if name not in copied.split()] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Runs `cprsim` of an environment that has the wheel, its dependencies and nothing else."""
    home = tmp_path_factory.mktemp("elsewhere")
    venv.create(home / "venv", with_pip=False)
    python = home / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--quiet", str(wheel)], check=True)
    (site,) = (home / "venv/lib").glob("python*/site-packages")
    # Links in a .pth lead to packages, but not to what an editable install left there.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    for extra in EXTRAS:
        (site / f"{extra}.py").write_text(f"raise ModuleNotFoundError('No module {extra}')")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*arguments):
        command = [str(python.parent / "cprsim"), *arguments]
        done = subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert all(line.startswith("cprsim: wrote ") for line in done.stderr.splitlines())
        return done.stdout

    return run


@pytest.mark.slow
def test_the_wheel_has_the_package_and_its_scenarios_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    code = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "cprsim").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts
    }
    shipped = {
        f"cprsim/{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "scenarios").rglob("*")
        if path.is_file()
    }

    assert {name for name in names if ".dist-info/" not in name} == code | shipped


@pytest.mark.slow
def test_the_wheel_works_where_there_is_no_repository(installed):
    listed = installed("scenarios").splitlines()
    assert [line.split()[0] for line in listed if not line.startswith(" ")] == [
        path.stem for path in sorted((ROOT / "scenarios").glob("*.toml"))
    ]

    found = json.loads(installed("run", "quickstart", "--replications", "8", "--json"))
    expected = cprsim.run(cprsim.load_scenario("quickstart"), replications=8).document()
    assert found["policies"] == expected["policies"]

    schema = json.loads(installed("schema"))
    assert {"job", "policies", "trainer", "study"} <= schema["properties"].keys()

    installed("scenarios", "failures.csv", "--copy", "failures.csv")
    fitted = json.loads(installed("fit", "failures.csv", "--coalesce", "5 min", "--json"))
    assert (fitted["n"], fitted["best"]) == (173, "weibull")
    decision = json.loads(installed("advise", "quickstart", "--closed-form", "--json"))
    assert decision["recommendation"] == "partial"


# --- Examples of every public name ----------------------------------------------------------------


FUNCTIONS = [name for name in cprsim.__all__ if inspect.isfunction(getattr(cprsim, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_returns(name):
    assert "\nReturns\n-------\n" in (inspect.getdoc(getattr(cprsim, name)) or "")


@pytest.mark.slow
@pytest.mark.parametrize("name", cprsim.__all__)
def test_every_name_has_an_example_that_works(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))  # one registers a policy
    text = getattr(cprsim, name).__doc__ or ""
    test = doctest.DocTestParser().get_doctest(text, {"cprsim": cprsim}, name, None, 0)

    assert "Examples\n" in text
    assert test.examples
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert failed == 0, "".join(said)
