"""Plans of policies worked by hand, in `plans.toml`: what each has, and its answers to losses."""

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cprsim.contract import Loss, Recover
from cprsim.contract.expected import expected
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from tests.policies.by_hand import job_of

SYSTEMS = tomllib.loads(Path(__file__).with_name("plans.toml").read_text(encoding="utf-8"))


def cases(kind: str) -> dict[str, Any]:
    """By name, the system's table and a case of it."""
    return {
        f"{name} | {row[0]}": (of, *row[1:])
        for name, of in SYSTEMS.items()
        for row in of.get(kind, ())
    }


PLANS, LOSSES = cases("plans"), cases("losses")


def worked(entry: float | str) -> float:
    """Return a number, or the value of a sum such as "sqrt(2 * 4)"."""
    return float(eval(entry, vars(math).copy())) if isinstance(entry, str) else entry


def job(of: dict[str, Any], keys: dict[str, Any], others: list[dict[str, Any]]) -> Scenario:
    return job_of(of["policy"] | keys, **of.get("tables", {}) | (others[0] if others else {}))


def value_of(scenario: Scenario, path: str) -> float:
    """Return what a plan has at a path such as `tier.remote.snapshot_s`."""
    plan = scenario.plan("p")
    first, *rest = path.split(".")
    if first == "tier":
        found: Any = plan.tier(rest.pop(0))
    elif first == "expected":
        found = expected(plan, scenario.context)
    elif first == "run":
        found = play(scenario, "p", 0, 0)
    else:
        found = plan.schedules[0].save if first == "save" else getattr(plan, first)
    for name in rest:
        found = found[int(name)] if name.isdecimal() else getattr(found, name)
    return float(found)


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_by_hand(name: str) -> None:
    of, keys, entries, *others = PLANS[name]
    scenario = job(of, keys, others)

    found = {path: value_of(scenario, path) for path in entries}
    by_hand = {path: worked(entry) for path, entry in entries.items()}
    assert found == pytest.approx(by_hand, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_an_answer_by_hand(name: str) -> None:
    of, keys, lost, answer, *others = LOSSES[name]
    nodes = (frozenset(lost.get(kind, ())) for kind in ("servers", "trainers"))
    found = job(of, keys, others).plan("p").recover(Loss(*nodes, lost.get("severity", "node")))

    assert found.degraded == pytest.approx(worked(answer.get("degraded", 0)))
    assert found._replace(degraded=0.0) == Recover(**{**answer, "degraded": 0.0})
