"""Answers as data: which case a loss meets, and which servers must not be down together."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest

from cprsim.batch.engine import Part, simulate_all
from cprsim.batch.engine import simulate as compiled
from cprsim.contract.actions import Loss, Recover
from cprsim.contract.answers import Always, Answers, Case, Groups, InARow, Together, Within, is_gone
from cprsim.contract.plan import Plan
from cprsim.scenario import Scenario, load_scenario
from cprsim.sim.engine import COLUMNS, simulate

SCENARIOS = Path(__file__).parents[2] / "scenarios"
ALL, LOST, NONE = Recover("all"), Recover("lost"), Recover("none")


def loss(servers: int = 0, trainers: int = 0, severity="node") -> Loss:
    return Loss(frozenset(range(servers)), frozenset(range(trainers)), severity)


def subsets(servers: int) -> Iterator[frozenset[int]]:
    every = (combinations(range(servers), size) for size in range(servers + 1))
    return map(frozenset, chain.from_iterable(every))


# --- Cases ---------------------------------------------------------------------------------------


def test_the_first_case_that_fits_is_the_answer():
    rule = Answers((Case(ALL, servers=(2, 3)), Case(LOST, servers=(1, 9)), Case(NONE)))

    assert [rule(loss(n)) for n in (0, 1, 2, 3, 4)] == [NONE, LOST, ALL, ALL, LOST]


def test_counts_are_from_the_least_to_the_most():
    case = Case(ALL, servers=(1, 2), trainers=(0, 0))

    assert [case.fits(loss(n)) for n in (0, 1, 2, 3)] == [False, True, True, False]
    assert not case.fits(loss(1, 1))


def test_a_case_is_for_its_severities_alone():
    rule = Answers((Case(ALL, severities=("process", "cluster")), Case(NONE)))

    found = {severity: rule(loss(1, 0, severity)) for severity in ("process", "node", "cluster")}
    assert found == {"process": ALL, "node": NONE, "cluster": ALL}


def test_all_conditions_of_a_case_hold_together():
    case = Case(ALL, ("node",), (2, 2), (1, 1), InARow(4, 2))

    assert case.fits(Loss(frozenset({3, 0}), frozenset({5})))
    assert not case.fits(Loss(frozenset({0, 2}), frozenset({5})))
    assert not case.fits(Loss(frozenset({3, 0}), frozenset({5}), "process"))
    assert not case.fits(Loss(frozenset({3, 0}), frozenset()))
    assert not case.fits(Loss(frozenset({3, 0, 1}), frozenset({5})))


@pytest.mark.parametrize(
    "case",
    [
        Case(ALL, ("process", "node")),
        Case(ALL, servers=(1, float("inf"))),
        Case(ALL, trainers=(0, 7)),
        Case(ALL, gone=InARow(4, 1)),
    ],
)
def test_the_last_case_has_no_conditions(case):
    with pytest.raises(ValueError, match="must fit every loss") as caught:
        Answers((Case(NONE), case))

    assert str(caught.value) == (
        f"the last of the cases must fit every loss, but it is {case}; end with Case(answer), "
        "without conditions"
    )


def test_there_is_a_case():
    with pytest.raises(ValueError, match="must fit every loss, but it is none; end with"):
        Answers(())


def test_always_is_one_case():
    rule = Always(LOST)

    assert isinstance(rule, Answers)
    assert rule.cases == (Case(LOST),)
    assert rule == Always(LOST) != Always(ALL)
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert {rule(loss(1)), rule(loss(0, 3)), rule(loss(8, 4, "cluster"))} == {LOST}


# --- Servers that must not be down together ------------------------------------------------------


def test_sets_by_hand():
    assert InARow(5, 3).sets(4) == ((4, 0, 1),)
    assert InARow(5, 1).sets(2) == ((2,),)
    assert Within(5, 2).sets(3) == ((3, 4), (3, 0))
    assert Within(3, 3).sets(1) == ((1, 2), (1, 0))  # a server is no pair
    assert Groups(7, 2).sets(5) == ((5, 6),)


@pytest.mark.parametrize("servers", range(1, 9))
def test_servers_in_a_row(servers):
    for count in range(1, servers + 1):
        rows = [{(start + i) % servers for i in range(count)} for start in range(servers)]
        for down in subsets(servers):
            assert is_gone(InARow(servers, count), down) == any(row <= down for row in rows)


@pytest.mark.parametrize("servers", range(1, 9))
def test_servers_that_are_too_near(servers):
    # Of those that are down, two neighbours on the ring; the way from the last to the first is one.
    for distance in range(1, servers + 2):
        for down in subsets(servers):
            found = sorted(down)
            ahead = [*found[1:], found[0] + servers] if len(found) > 1 else []
            near = any(b - a <= distance for a, b in zip(found, ahead, strict=False))
            assert is_gone(Within(servers, distance), down) == near, (distance, down)


@pytest.mark.parametrize("together", [InARow(6, 2), Within(6, 2), Groups(7, 3)])
def test_each_set_has_its_server(together: Together):
    assert all(server in each for server in range(6) for each in together.sets(server))
    assert hash(together) == hash(pickle.loads(pickle.dumps(together)))


@dataclass(frozen=True)
class Uneven:
    """Sets of any number and size, by server."""

    by_server: tuple[tuple[tuple[int, ...], ...], ...]

    def sets(self, server: int) -> tuple[tuple[int, ...], ...]:
        return self.by_server[server]


@pytest.mark.parametrize(
    "sets",
    [
        (((0, 1),), ((1, 2, 3), (1, 0)), (), ((3,),)),
        (((0, 1, 2, 3),), (), (), ()),
        (((),), (), (), ()),
        ((), (), (), ()),
    ],
)
def test_sets_of_ones_own_are_played_as_they_are_read(sets):
    """They ended in a ValueError of NumPy unless all had one size."""
    made = _with_servers(4)
    rule = Answers((Case(ALL, gone=Uneven(sets)), Case(LOST)))
    made.plans["data"] = replace(made.plan("data"), recover=rule)
    made.plans["called"] = replace(made.plan("called"), recover=rule.__call__)

    data, called = simulate(made, ["data", "called"], range(20), 0).swapaxes(0, 1)
    assert np.array_equal(data, called)
    assert np.array_equal(data[:, None], compiled(made, ["data"], range(20), 0))
    assert (data[:, COLUMNS.index("lost")].sum() > 0) == any(sets)


def _with_servers(servers: int) -> Scenario:
    return Scenario(
        job={"useful_time": "3000 s"},
        cluster={"parameter_servers": servers},
        costs={"save": "5 s", "load": "10 s", "reschedule": "30 s"},
        failures={
            "distribution": "exponential",
            "mean": "100 s",
            "hits": {"parameter_servers": "40%"},
        },
        policies={name: {"system": "partial", "interval": "100 s"} for name in ("data", "called")},
    )


@dataclass(frozen=True)
class Pairs:
    """Neighbours of any number of servers."""

    def sets(self, server: int) -> tuple[tuple[int, ...], ...]:
        return ((server, server ^ 1),)


def test_sets_of_jobs_of_several_sizes_that_are_played_together():
    """The sets of the first job were taken for all jobs."""
    jobs = [_with_servers(4), _with_servers(8)]
    for each in jobs:
        rule = Answers((Case(ALL, gone=Pairs()), Case(LOST)))
        each.plans["data"] = replace(each.plan("data"), recover=rule)

    together = simulate_all([Part(each, ["data"], np.arange(20)) for each in jobs], 0)
    for each, found in zip(jobs, together, strict=True):
        assert np.array_equal(found, simulate(each, ["data"], range(20), 0))


# --- Shipped policies ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["all-systems", "tiered", "partial-experts", "async", "ecrm"])
def test_plans_of_shipped_policies_are_data(name):
    scenario = load_scenario(SCENARIOS / f"{name}.toml")
    for policy in scenario.policies:
        plan = scenario.plan(policy)
        assert type(plan) is Plan
        assert isinstance(plan.recover, Answers)
