"""What failures of a log strike, as keys of a scenario."""

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cprsim
from cprsim.failures.logs.log import FailureLog
from cprsim.fitting.strikes import (
    StrikeKind,
    at_most,
    failure_keys,
    graded,
    mean_nodes,
    strikes,
    strikes_of_job,
)
from cprsim.job.severity import Severity
from tests.failures.played import job_of
from tests.failures.test_replay import of_late_nodes

HOUR = 3600.0


def log_of(groups: list[tuple[int, str | None, Severity]], nodes: int = 40) -> FailureLog:
    """A failure each ten hours or so; of each its nodes, its cause and its severity."""
    rng = np.random.default_rng(7)
    at_s = np.cumsum(rng.exponential(10 * HOUR, len(groups)))
    sizes = [size for size, _, _ in groups]
    return FailureLog(
        np.repeat(at_s, sizes),
        np.concatenate([rng.choice(nodes, size, replace=False) for size in sizes]),
        0.0,
        float(at_s[-1]) + HOUR,
        population=nodes,
        causes=tuple(cause for size, cause, _ in groups for _ in range(size)),
        severities=tuple(severity for size, _, severity in groups for _ in range(size)),
    )


def test_records_of_one_instant_are_one_strike() -> None:
    log = log_of([(1, "gpu", "node"), (3, "rack", "node"), (1, "gpu", "process")])
    assert strikes(log) == {
        StrikeKind("gpu", "node", 1): 1,
        StrikeKind("rack", "node", 3): 1,
        StrikeKind("gpu", "process", 1): 1,
    }


def test_rare_causes_are_one_and_a_single_cause_is_none() -> None:
    many = [(1, f"cause {i}", "node") for i in range(9) for _ in range(9 - i)]
    named = {strike.cause for strike in strikes(log_of(many))}  # type: ignore[arg-type]
    assert named == {*(f"cause {i}" for i in range(6)), "other causes"}
    assert strikes(log_of([(1, "gpu", "node")] * 4)) == {StrikeKind(None, "node", 1): 4}


def test_a_job_on_some_nodes_is_struck_as_often_as_its_nodes_are() -> None:
    """By hand: of 10 nodes 4, of which a failure of 2 nodes takes 2, 1 or none."""
    log = log_of([(2, None, "node")] * 90 + [(1, None, "node")] * 10, nodes=10)
    assert strikes_of_job(log, 4) == pytest.approx(
        {
            StrikeKind(None, "node", 2): 90 * math.comb(4, 2) / 45,
            StrikeKind(None, "node", 1): 90 * 4 * 6 / 45 + 10 * 0.4,
        }
    )
    many = {StrikeKind(None, None, 9): 2.0, StrikeKind(None, None, 3): 1.0}
    assert at_most(many, {"parameter_servers": 3}) == {StrikeKind(None, None, 3): 3.0}
    mixed = {StrikeKind(None, None, 12, 5): 1.0, StrikeKind(None, None, 3, 3): 1.0}
    assert at_most(mixed, {"parameter_servers": 4, "trainers": 6}) == {
        StrikeKind(None, None, 10, 4): 1.0,
        StrikeKind(None, None, 3, 3): 1.0,
    }
    assert at_most(mixed, {"trainers": 1}) == {StrikeKind(None, None, 1): 1.0}


def test_a_job_is_struck_on_nodes_that_are_there() -> None:
    """By hand: one of three nodes, of two, of three, and two of three; the job has two."""
    log = of_late_nodes()
    one, two = StrikeKind(None, None, 1), StrikeKind(None, None, 2)
    assert strikes_of_job(log, 2) == pytest.approx({one: 2 / 3 + 1 + 2 / 3 + 2 / 3, two: 1 / 3})
    # Three nodes are not there at 30 s.
    assert strikes_of_job(log, 3) == pytest.approx({one: 2.0, two: 1.0})


def test_the_block_keeps_the_mean_number_of_nodes(tmp_path: Path) -> None:
    """1.31 nodes in the mean, as LANL's system 2: rounded to one, a third of the loss was gone."""
    groups: list[Any] = (
        [(1, None, "node")] * 80 + [(2, None, "node")] * 13 + [(4, None, "node")] * 7
    )
    rng = np.random.default_rng(1)
    log = log_of([groups[i] for i in rng.permutation(len(groups))])
    fitted = cprsim.fit(log)
    keys = tomllib.loads(fitted.toml())["failures"]
    assert {each["name"]: each["share"] for each in keys["causes"]} == pytest.approx(
        {"1 node": 0.8, "2 nodes": 0.13, "4 nodes": 0.07}
    )
    model = job_of(keys, 40, 0).failure_model
    assert model.mean_hit.servers == pytest.approx(mean_nodes(fitted.strikes))
    assert model.mean_hit.servers == pytest.approx(0.8 + 0.26 + 0.28)


CASES: dict[str, tuple[dict[StrikeKind, float], dict[str, int], dict[str, Any]]] = {
    "one node": ({StrikeKind(None, None, 1): 5.0}, {}, {}),
    "three nodes": ({StrikeKind(None, None, 3): 5.0}, {}, {"hits": {"parameter_servers": 3}}),
    "trainers": ({StrikeKind(None, None, 1): 5.0}, {"trainers": 5}, {"hits": {"trainers": 1}}),
    "severities": (
        {StrikeKind(None, "process", 1): 3.0, StrikeKind(None, "node", 1): 1.0},
        {},
        {"severity": {"process": 3.0, "node": 1.0}},
    ),
    "causes": (
        {StrikeKind("gpu", None, 1): 3.0, StrikeKind("rack", None, 5): 1.0},
        {},
        {
            "causes": [
                {"name": "gpu", "share": 0.75},
                {"name": "rack, 5 nodes", "share": 0.25, "hits": {"parameter_servers": 5}},
            ]
        },
    ),
    "of several kinds": (
        {
            StrikeKind(None, None, 1): 6.0,
            StrikeKind(None, None, 12, 4): 1.0,
            StrikeKind(None, None, 2, 0): 2.0,
            StrikeKind(None, None, 2, 2): 1.0,
        },
        {"parameter_servers": 8, "trainers": 14},
        {
            "hits": {"weights": {"parameter_servers": 8, "trainers": 14}},
            "causes": [
                {"name": "1 node", "share": 0.6},
                {"name": "2 trainers", "share": 0.2, "hits": {"trainers": 2}},
                {
                    "name": "12 nodes",
                    "share": 0.1,
                    "hits": {"parameter_servers": 4, "trainers": 8},
                },
                {"name": "2 servers", "share": 0.1, "hits": {"parameter_servers": 2}},
            ],
        },
    ),
    "with letters that can't be seen": (
        {StrikeKind("line one\nline two \x07", None, 1): 1.0, StrikeKind("b", None, 1): 1.0},
        {},
        {"causes": [{"name": "line one line two", "share": 0.5}, {"name": "b", "share": 0.5}]},
    ),
    "rare ones": (
        {
            StrikeKind("gpu", None, 1): 995.0,
            StrikeKind("gpu", None, 2): 3.0,
            StrikeKind("os", None, 2): 2.0,
        },
        {},
        {
            "causes": [
                {"name": "gpu", "share": 0.995},
                {
                    "name": "other causes, 2 nodes",
                    "share": 0.005,
                    "hits": {"parameter_servers": 2},
                },
            ]
        },
    ),
    "alike when cut short": (
        {StrikeKind("x" * 50 + "a", None, 1): 1.0, StrikeKind("x" * 50 + "b", None, 1): 1.0},
        {},
        {
            "causes": [
                {"name": "x" * 30, "share": 0.5},
                {"name": "x" * 30 + " 2", "share": 0.5},
            ]
        },
    ),
    "the whole cluster": (
        {StrikeKind("power", "cluster", 40): 1.0, StrikeKind("gpu", "node", 1): 3.0},
        {},
        {
            "causes": [
                {"name": "gpu, node", "share": 0.75, "severity": "node"},
                {"name": "power, 40 nodes, cluster", "share": 0.25, "severity": "cluster"},
            ]
        },
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_keys_say_what_is_struck(
    case: tuple[dict[StrikeKind, float], dict[str, int], dict[str, Any]],
) -> None:
    found, kinds, keys = case
    assert failure_keys(found, kinds) == keys
    law = {"distribution": "exponential", "mean": "1 d"}
    for told in (
        keys,
        graded(keys, {"process": 1.0, "node": 1.0}) if "severity" not in keys else keys,
    ):
        job_of(law | told, 40, 40)


def test_lives_of_nodes_say_themselves_what_is_struck() -> None:
    mild, bad = StrikeKind("gpu", "process", 1), StrikeKind("rack", "node", 5)
    keys = failure_keys({mild: 3.0, bad: 1.0}, {}, of_lives=True)
    assert keys["causes"][1] == {"name": "rack, 5 nodes, node", "share": 0.25, "severity": "node"}
    names = {StrikeKind("gpu", None, 1): 3.0, StrikeKind("rack", None, 5): 1.0}
    assert failure_keys(names, {}, of_lives=True) == {}
    assert failure_keys({StrikeKind(None, None, 2): 1.0}, {}, of_lives=True) == {}


def test_severities_of_a_job_are_those_of_all_causes() -> None:
    causes = [{"name": "1 node", "share": 0.8, "hits": {"parameter_servers": 1}}]
    found = graded({"causes": causes}, {"process": 3.0, "cluster": 1.0})["causes"]
    assert [(each["name"], each["share"], "hits" in each) for each in found] == [
        ("1 node, process", pytest.approx(0.6), True),
        ("1 node, cluster", pytest.approx(0.2), False),
    ]
    assert graded({"mean": "1 h"}, {"process": 1.0}) == {
        "mean": "1 h",
        "severity": {"process": 1.0},
    }
