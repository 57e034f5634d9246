"""The helpers of `cprsim.testing` themselves."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import Phase, given, settings
from pydantic import BaseModel

import cprsim
from cprsim.basics.distributions import Distribution, Name
from cprsim.contract.ledger import Ledger
from cprsim.failures.bursts import Bursts
from cprsim.failures.hits import Hits, Weights
from cprsim.failures.spec import SOURCES, Failures
from cprsim.job.costs import Costs
from cprsim.job.platform import Cluster, Storage
from cprsim.job.workload import Job, Model, Table
from cprsim.policies import policy_class
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from cprsim.testing import Recording, assert_time_adds_up, change_future
from tests.drawn import SYSTEMS, scenarios
from tests.drawn.policies import ANSWERING


@pytest.mark.nightly
def test_scenarios_come_with_every_key_but_those_of_traces() -> None:
    sections: dict[str, type[BaseModel] | None] = {
        "job": Job,
        "model": Model,
        "model.tables": Table,
        "cluster": Cluster,
        "storage": Storage,
        "costs": Costs,
        "costs.reschedule": Distribution,
        "failures": Failures,
        "failures.bursts": Bursts,
        "failures.hits": Hits,
        "failures.hits.weights": Weights,
    } | {system: policy_class(system) for system in SYSTEMS}
    missing = {f"{path}.{key}" for path, part in sections.items() for key in keys(part)}
    missing -= {f"failures.{key}" for key in ("trace", "log", *SOURCES["trace"], "preset")}
    # Rows whose updates are not alike take seconds a model; tests/rows has them.
    missing -= {f"model.{key}" for key in ("optimizer_rule", "renewed", "gradient_directions")}
    # No run depends on memory, which goes with [model] alone; tests/contract has it.
    missing -= {"cluster.memory", "cluster.trainer_memory"}
    missing -= {"model.batch", "model.tables.updates", "cpr-ssu.together"}
    missing -= {"cluster.restarts_in_place"}  # tests/sim/test_causes.py draws it
    # Others refuse it, or with some of their keys.
    missing -= {f"{system}.on_notice" for system in set(SYSTEMS) - ANSWERING}
    missing |= {"title", *get_args(Name)}

    class AllSeenError(Exception):
        pass

    @settings(max_examples=5000, phases=[Phase.generate])
    @given(scenarios())
    def draw(tables: dict[str, Any]) -> None:
        policies = {policy["system"]: policy for policy in tables["policies"].values()}
        missing.difference_update(paths(tables | policies))
        missing.discard(tables["failures"].get("distribution"))
        if not missing:
            raise AllSeenError

    with contextlib.suppress(AllSeenError):
        draw()
    assert not missing


def keys(section: type[BaseModel] | None) -> set[str]:
    assert section is not None
    return {field.alias or name for name, field in section.model_fields.items()}


def paths(tables: object, prefix: str = "") -> Iterator[str]:
    """Dotted paths of all keys; those in a list count as in a table."""
    for part in tables if isinstance(tables, list) else [tables]:
        if isinstance(part, dict):
            for key, value in part.items():
                yield f"{prefix}{key}"
                yield from paths(value, f"{prefix}{key}.")


def test_seconds_that_do_not_add_up_are_named() -> None:
    ledger = Ledger(train=100.0, save=3.0, wall=103.0)
    assert_time_adds_up(ledger)
    assert_time_adds_up(replace(ledger, wall=103.0 * (1 + 5e-10)))
    with pytest.raises(
        AssertionError, match=r"add up to 103.0 s, but the wall .* 104.0 s: .*save 3"
    ):
        assert_time_adds_up(replace(ledger, wall=104.0))


@pytest.mark.parametrize("value", [-1e-300, math.nan, math.inf])
def test_a_cause_that_took_no_possible_time_is_named(value: float) -> None:
    with pytest.raises(AssertionError, match=rf"the run: load took {value} s; it must be >= 0"):
        assert_time_adds_up(Ledger(train=100.0, load=value, wall=100.0))


def test_a_result_is_checked_row_by_row() -> None:
    scenario = Scenario(
        job={"useful_time": "10 h"},
        cluster={"parameter_servers": 2},
        costs={"save": "1 min", "load": "1 min"},
        failures={"distribution": "exponential", "mean": "5 h"},
        policies={"a": {"system": "full"}, "b": {"system": "partial"}},
    )
    result = cprsim.run(scenario, replications=3)
    assert_time_adds_up(result)
    result.replications.loc[4, "save_s"] += 1.0
    with pytest.raises(AssertionError, match="policy 'b', replication 1: the causes add up to"):
        assert_time_adds_up(result)


def test_a_changed_future_is_another_one() -> None:
    scenario = Scenario(
        job={"useful_time": "100 s"},
        cluster={"parameter_servers": 2},
        costs={"save": "1 s", "load": "1 s"},
        failures={"distribution": "deterministic", "mean": "20 s", "ages": "new"},
        policies={"it": {"system": "partial", "interval": "1000 s"}},
    )
    # Failures at 20, 40 (loading starts at 20, and the clock with it), 60, 80 and 100; the job
    # ends at 100 + 5 loads. Twice as fast after 30: at 40 - 5 = 35 and every 10 s from there.
    for after_s, pace, at_s in (
        (1000.0, 2.0, [20, 40, 60, 80, 100]),
        (30.0, 0.0, [20]),
        (20.0, 0.0, [20]),
        (30.0, 2.0, [20, 35, 45, 55, 65, 75, 85, 95, 105]),
    ):
        play(change_future(scenario, after_s, pace), "it", 0, 0, seen := Recording())
        assert [strike for strike, _ in seen.failures] == at_s
    play(scenario, "it", 0, 0, seen := Recording())
    assert [strike for strike, _ in seen.failures] == [20, 40, 60, 80, 100]
