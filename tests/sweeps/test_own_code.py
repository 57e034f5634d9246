"""Sweeps of policies of other packages, whose code may change between two of them."""

import importlib.util
import linecache
import sys
from pathlib import Path
from typing import Literal

import pytest

import cprsim
from cprsim.contract import registry
from cprsim.errors import UsageError
from cprsim.policies.full import Full
from cprsim.sweeps import points
from cprsim.sweeps.points import own_code
from tests.sweeps.cases import MEANS, scenario

SOURCE = """
from typing import Literal

from cprsim.contract import Always, Plan, Policy, Recover, every

HOURS = {hours}


class Mine(Policy):
    system: Literal["mine"]

    def plan(self, _context):
        return Plan("partial", every(HOURS * 3600.0), Always(Recover("lost", takeover_s={late}.0)))
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Registers the policy of a module that saves every so many hours."""
    # Within a second Python can't tell two files of one size apart by their times.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def of(hours: int, late: int = 0) -> cprsim.Scenario:
        file = tmp_path / "mine.py"
        file.write_text(SOURCE.format(hours=hours, late=late))
        linecache.clearcache()
        spec = importlib.util.spec_from_file_location("mine", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "mine", module)
        spec.loader.exec_module(module)
        classes = {k: each for k, each in registry._CLASSES.items() if k != "mine"}
        monkeypatch.setattr(registry, "_CLASSES", classes)
        cprsim.register(module.Mine)
        return scenario(policies={"mine": {"system": "mine"}, "full": {"system": "full"}})

    return of


def swept(job: cprsim.Scenario, out: Path) -> cprsim.Sweep:
    return cprsim.sweep(job, out, {"costs.save": ["1 min"]}, replications=2)


def test_a_sweep_goes_on_with_the_same_code(mine, out):
    first = swept(mine(2), out).table

    assert swept(mine(2), out).table.equals(first)


def test_numbers_of_numpy_in_a_plan_are_stored_as_numbers(mine, out):
    found = swept(mine("__import__('numpy').float64(2)"), out)

    assert found.table["interval_s"].tolist()[0] == 7200.0
    assert found.played(0)[0].plan.lossless is False


@pytest.mark.parametrize(("hours", "late"), [(8, 0), (2, 30)])
def test_a_policy_whose_code_has_changed_is_not_mixed_with_what_it_was(mine, out, hours, late):
    before = swept(mine(2), out).table

    with pytest.raises(UsageError) as error:
        swept(mine(hours, late), out)
    assert str(error.value) == (
        f"--out {out}: holds another sweep: the code of its policy 'mine' was another; choose "
        "another folder"
    )
    assert swept(mine(2), out).table.equals(before)


def test_what_makes_a_scenario_another_is_told_before_its_code(mine, out):
    swept(mine(2), out)
    other = mine(2).mapping() | {"failures": {"exactly": 1}}

    with pytest.raises(UsageError, match="holds another sweep: its scenario is another"):
        swept(cprsim.Scenario(**other), out)


def test_sets_and_places_in_memory_change_no_hash(mine):
    sets = (f"frozenset({{{', '.join(each)}}}) at 0x7f" for each in ("abc", "cab"))

    assert {points._SET.sub(points._in_order, each) for each in sets} == {
        "frozenset({a, b, c}) at 0x7f"
    }
    assert len(own_code(mine(2), ["mine"])["mine"]) == 64


def test_shipped_policies_have_none():
    assert own_code(scenario(), scenario().policies) == {}


def test_what_stands_nowhere_counts_by_its_plan():
    class Typed(type(scenario().policies["full"])):
        __module__ = "prompt"

    one = scenario().with_policies({"typed": Typed(system="full")})
    other = scenario().with_policies({"typed": Typed(system="full", interval="3 h")})

    assert own_code(one, ["typed"]) == own_code(one, ["typed"])
    assert own_code(one, ["typed"]) != own_code(other, ["typed"])


def test_a_class_may_have_its_system_by_default(out):
    class Hourly(Full):
        system: Literal["full"] = "full"

    job = scenario().with_policies({"hourly": Hourly(interval="1 h")})
    done = cprsim.sweep(job, out, MEANS, replications=2)

    assert done.table["interval_s"].tolist() == [3600.0, 3600.0]
