"""Monolith's sum of what yesterday's shard costs, by simulation (arXiv 2209.07663)."""

import math
from functools import cache
from typing import Any

from cprsim.contract.expected import Expected, expected
from cprsim.scenario import Scenario
from tools.validation.systems.mean import Mean, mean_of, played
from tools.validation.systems.row import Row

SOURCE = "Monolith, 2209.07663"
#: 0.01 % of the servers fail in a day; a snapshot a day; users that are active in a day.
SERVERS, RATE_PER_DAY, USERS = 1000, 1e-4, 15e6


def _scenario(days: float, failures: dict[str, Any], save: str = "0 s") -> Scenario:
    return Scenario(
        job={"useful_time": f"{days!r} d"},
        cluster={"parameter_servers": SERVERS},
        costs={"save": save, "load": "0 s"},
        failures=failures,
        policies={"p": {"system": "accepted-loss"}},
    )


def _servers(days: float) -> Scenario:
    """Failures as each of the servers has them."""
    mean = f"{1 / RATE_PER_DAY!r} d"
    return _scenario(days, {"distribution": "exponential", "mean": mean, "per": "node"})


@cache
def _lives(days: int) -> tuple[Mean, Mean]:
    """Failures in ten days and the share of updates lost, of jobs of so many days."""
    runs = played(_servers(days), "p", 20_000 // days, seed=27)
    return mean_of(runs["failures"] * 10 / days), mean_of(runs["updates_lost"])


def failures_in_ten_days(days: int = 400) -> Mean:
    """Return the failures of the whole job."""
    return _lives(days)[0]


def share_lost(days: int = 400) -> Mean:
    """Updates that are lost for good, as a share of all."""
    return _lives(days)[1]


def days_lost_at_worst() -> float:
    """Return the loss of a shard that fails just before a snapshot is taken, days."""
    # One each ten days, on the second in which a snapshot is due.
    scenario = _scenario(100.5, {"distribution": "empirical", "durations": ["10 d"], "ages": "new"})
    runs = played(scenario, "p", 1, seed=0)
    shard_days = runs["updates_lost"][0] * 100.5 * SERVERS
    return float(shard_days / runs["failures"][0])


def late(days_to_land: float, mtbf_days: float) -> tuple[Mean, Expected, float]:
    """Updates lost where a snapshot takes long to land: simulated, first order, and exact.

    A failure r days after the last snapshot that has landed loses r days of one shard: half a day
    since the last was taken, a day more while that one is on its way (P of a day's time), and one
    for each in a row before it that a failure voided, e^(P/M) - 1 on average.
    """
    failures = {"distribution": "exponential", "mean": f"{mtbf_days!r} d"}
    scenario = _scenario(400, failures, save=f"{days_to_land!r} d")
    runs = played(scenario, "p", 40, seed=28)
    lost_days = 0.5 + days_to_land + math.expm1(days_to_land / mtbf_days)
    return (
        mean_of(runs["updates_lost"]),
        expected(scenario.plan("p"), scenario.context),
        lost_days / mtbf_days / SERVERS,
    )


def first_order() -> Expected:
    """The estimate for the servers' own failures."""
    scenario = _servers(400)
    return expected(scenario.plan("p"), scenario.context)


def rows() -> list[Row]:
    """Every figure of this module."""
    worst, failures, lost = days_lost_at_worst(), failures_in_ten_days(), share_lost()
    counted = "each failure just before a snapshot, as the paper counts; half of it on average"
    of_one = "of one shard, and so of all, as long as each failure loses the whole day"
    return [
        Row("a server fails in a day", SOURCE, "input", 0.01, 100 * RATE_PER_DAY, "%"),
        Row(
            *("failures in 10 days, 1,000 servers", SOURCE, "prediction"),
            *(1.0, failures.value, "failures"),
            within=3 * failures.error,
        ),
        Row(
            *("users who lose a day in 10 days, at worst", SOURCE, "prediction"),
            *(15_000.0, worst * USERS / SERVERS, "users", counted),
            within=1e-8,
        ),
        Row(
            *("updates lost, at worst", SOURCE, "prediction"),
            *(1e-4, worst * RATE_PER_DAY, "share", of_one),
            within=1e-16,
        ),
        Row(
            *("updates lost, on average", "r tau / (2 N)", "prediction"),
            *(5e-5, lost.value, "share"),
            within=3 * lost.error,
        ),
    ]
