"""Policies of other distributions, installed as pip leaves them: a module and its dist-info."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import pytest

import cprsim
from cprsim.contract import Policy, registry
from cprsim.errors import ScenarioError
from cprsim.policies import policy_class, systems

POLICY = """
from typing import Literal

import cprsim
from cprsim.contract import Context, Plan, every
from cprsim.policies.full import everything_returns


class Hourly(cprsim.Policy):
    system: Literal["{system}"]

    def plan(self, context: Context) -> Plan:
        return Plan("full", every(3600.0), everything_returns)
"""


def install(folder: Path, name: str, entry: str, code: str, version: str = "1.2") -> None:
    """Leave in `folder` what pip would: the module of that name, and what it says of it."""
    (folder / f"{name}.py").write_text(code)
    said = folder / f"{name}-{version}.dist-info"
    said.mkdir(parents=True)
    (said / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (said / "entry_points.txt").write_text(f"[cprsim.policies]\n{entry}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of this process; what is imported and registered from it is undone."""
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


def scenario(*names: str) -> cprsim.Scenario:
    """A job under systems of these names."""
    return cprsim.Scenario(
        job={"useful_time": "10 h"},
        cluster={"parameter_servers": 4},
        costs={"save": "1 min", "load": "1 min"},
        failures={"exactly": 2},
        policies={name: {"system": name} for name in names},
    )


def fault(*names: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario(*names)
    return str(caught.value)


# --- What is sound -------------------------------------------------------------------------------


def test_an_installed_policy_is_known_by_its_name(site: Path) -> None:
    install(site, "acme_hourly", "acme = acme_hourly:Hourly", POLICY.format(system="acme"))
    played = scenario("acme", "full")

    assert played.plan("acme").interval_s == 3600.0
    assert type(played.policies["acme"]).__module__ == "acme_hourly"
    assert cprsim.run(played, replications=2).summary.index.tolist() == ["acme", "full"]


def test_it_is_listed_and_not_imported_for_that(site: Path) -> None:
    install(site, "acme_hourly", "acme = acme_hourly:Hourly", "raise RuntimeError('imported')")

    assert systems()[-1] == "acme"
    assert systems()[0] == "full"
    assert fault("acm") == "policies.acm.system: unknown system 'acm'; did you mean 'acme'?"


def test_a_module_may_register_it_as_well(site: Path) -> None:
    code = POLICY.format(system="acme") + "\n\ncprsim.register(Hourly)\n"
    install(site, "acme_hourly", "acme = acme_hourly:Hourly", code)

    assert scenario("acme").plan("acme").interval_s == 3600.0
    assert systems().count("acme") == 1


def test_a_shipped_system_keeps_its_name(site: Path) -> None:
    install(site, "acme_full", "full = acme_full:Hourly", POLICY.format(system="full"))

    full = policy_class("full")
    assert full is not None
    assert full.__module__ == "cprsim.policies.full"
    assert systems().count("full") == 1


# --- What is not ---------------------------------------------------------------------------------

ENTRY = "entry point 'acme = acme_hourly:Hourly' of acme_hourly 1.2"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import surely_not_there",
            f"{ENTRY} can't be imported: ModuleNotFoundError: No module named 'surely_not_there'; "
            "repair or uninstall it",
        ),
        (
            "Other = 1",
            f"{ENTRY} can't be imported: AttributeError: module 'acme_hourly' has no attribute "
            "'Hourly'; repair or uninstall it",
        ),
        (
            "raise RuntimeError('first line\\nsecond line')",
            f"{ENTRY} can't be imported: RuntimeError: first line; repair or uninstall it",
        ),
        (
            "import sys\nsys.exit()",
            f"{ENTRY} can't be imported: SystemExit; repair or uninstall it",
        ),
        ("Hourly = 42", f"{ENTRY} is no subclass of cprsim.Policy"),
        ("class Hourly:\n    system = 'acme'", f"{ENTRY} is no subclass of cprsim.Policy"),
        (
            POLICY.format(system="other"),
            f'{ENTRY} has another system; declare it as system: Literal["acme"]',
        ),
        (
            "from cprsim import Policy\n\n\nclass Hourly(Policy):\n    pass",
            f'{ENTRY} has another system; declare it as system: Literal["acme"]',
        ),
    ],
)
def test_only_who_asks_for_a_broken_one_hears_of_it(site: Path, code: str, said: str) -> None:
    install(site, "acme_hourly", "acme = acme_hourly:Hourly", code)

    assert fault("acme") == f"policies.acme.system: {said}"
    assert scenario("full", "accepted-loss").plan("full").recovery == "full"


def test_two_that_want_the_same_name_are_both_named(site: Path) -> None:
    install(site, "acme_hourly", "acme = acme_hourly:Hourly", POLICY.format(system="acme"))
    install(site, "acme_other", "acme = acme_other:Hourly", POLICY.format(system="acme"))

    assert fault("acme") == (
        f"policies.acme.system: system 'acme' is in {ENTRY} and entry point "
        "'acme = acme_other:Hourly' of acme_other 1.2; uninstall all but one"
    )


# --- The command line ----------------------------------------------------------------------------

FILE = """
[job]
useful_time = "10 h"
[cluster]
parameter_servers = 4
[costs]
save = "1 min"
load = "1 min"
[failures]
exactly = 2
[policies.full]
system = "full"
interval = "1 h"
[policies.hourly]
system = "acme"
"""


def cprsim_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "job.toml").write_text(FILE)
    command = [sys.executable, "-m", "cprsim.cli", "run", "job.toml", *arguments]
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )


@pytest.mark.slow
def test_the_command_line_finds_it_in_every_process(tmp_path: Path) -> None:
    install(tmp_path, "acme_hourly", "acme = acme_hourly:Hourly", POLICY.format(system="acme"))
    # More than a block of replications, or there would be one process.
    done = cprsim_run(tmp_path, "--replications", "60", "--workers", "2", "--json")

    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["policies"]
    assert (found["full"].pop("system"), found["hourly"].pop("system")) == ("full", "acme")
    assert found["full"] == found["hourly"]  # it does what full recovery does at that interval


@pytest.mark.slow
def test_the_command_line_says_in_a_line_what_is_broken(tmp_path: Path) -> None:
    install(tmp_path, "acme_hourly", "acme = acme_hourly:Hourly", "import surely_not_there")
    done = cprsim_run(tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"cprsim: policies.hourly.system: {ENTRY} can't be imported: ModuleNotFoundError: "
        "No module named 'surely_not_there'; repair or uninstall it\n"
    )


@pytest.mark.parametrize("system", registry.SHIPPED)
def test_a_shipped_system_is_loaded_by_its_own_name(system: str) -> None:
    (name,) = get_args(registry.policy_class(system).model_fields["system"].annotation)

    assert name == system


def test_no_other_policy_takes_the_name_of_a_shipped_system() -> None:
    class Full(Policy):
        system: Literal["full"]

    with pytest.raises(ValueError, match="system 'full' is registered already, by Full"):
        registry.register(Full)


CELL = """
from typing import Literal

import cprsim
from cprsim.policies.full import Full

@cprsim.register
class Mine(Full):
    system: Literal["mine"]
    interval: float = {interval}
"""
RUN = """
from cprsim.errors import RunError, UsageError

job = cprsim.load_scenario("quickstart").mapping() | {"policies": {"mine": {"system": "mine"}}}
result = cprsim.run(cprsim.Scenario(**job), replications=200, engine="sim", workers=1)
print(result.plans["mine"].schedules[0].period_s)
try:
    cprsim.run(cprsim.Scenario(**job), replications=200, engine="sim", workers=2)
except RunError as error:
    print(error)
it, vary = cprsim.Scenario(**job), {"failures.mean": "10 h, 20 h"}
print(set(cprsim.sweep(it, "one", vary, replications=2, engine="sim").table["error"]))
try:
    cprsim.sweep(it, "two", vary, replications=2, engine="sim", workers=2)
except UsageError as error:
    print(error)
import mine_too
it = cprsim.Scenario(**job | {"policies": {"it": {"system": "mine-too"}}})
done = cprsim.sweep(it, "three", vary, replications=2, engine="sim", workers=2)
print(set(done.table["error"]))
"""


@pytest.mark.slow
def test_a_cell_of_a_notebook_that_runs_again_changes_its_policy(tmp_path: Path) -> None:
    (tmp_path / "mine_too.py").write_text(
        POLICY.format(system="mine-too") + "cprsim.register(Hourly)\n"
    )
    cells = CELL.format(interval=3600) + CELL.format(interval=7200) + RUN
    done = subprocess.run(
        [sys.executable, "-c", cells], text=True, capture_output=True, check=False, cwd=tmp_path
    )

    assert done.stdout.splitlines() == [
        "7200.0",
        "a worker process died, out of memory perhaps, or for want of a class that this session "
        "defines; try fewer --workers, or write such a class into a module",
        "{''}",
        "policies.mine: workers can't import its class; write that into a module, or do without "
        "workers",
        "{''}",
    ], done.stderr


def test_a_module_that_is_loaded_again_replaces_its_policy(site: Path) -> None:
    install(site, "acme_again", "again = acme_again:Hourly", POLICY.format(system="again"))
    assert policy_class("again") is importlib.import_module("acme_again").Hourly
    found = importlib.reload(sys.modules["acme_again"]).Hourly
    assert cprsim.register(found) is policy_class("again") is found


def test_a_policy_without_a_name_is_not_registered() -> None:
    class Nameless(Policy):
        system: str = "nameless"

    with pytest.raises(ValueError, match="Nameless: declare its name as system: Literal"):
        registry.register(Nameless)
