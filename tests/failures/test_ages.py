"""Nodes of all ages: a cluster that has long run before the job starts."""

import math

import numpy as np
import pytest

import cprsim
from cprsim.basics.distributions import Distribution

LAWS = {
    "exponential": {},
    "gamma": {"shape": 0.5},
    "weibull": {"shape": 3.0},
    "lognormal": {"cv": 1.5},
    "deterministic": {},
    "uniform": {},
}


def law(name: str) -> Distribution:
    return Distribution.model_validate({"distribution": name, "mean": "100 s"} | LAWS[name])


def empirical() -> Distribution:
    return Distribution.model_validate(
        {"distribution": "empirical", "durations": ["10 s", "50 s", "240 s"]}
    )


@pytest.mark.parametrize("each", [*map(law, LAWS), empirical()], ids=lambda it: it.distribution)
def test_what_is_left_of_a_life_has_the_survival_over_the_mean_as_its_density(each):
    """Cox, Renewal theory: P(left <= t) is the integral of the survival up to t over the mean."""
    left = np.sort(each.sample_left(np.random.default_rng(0), 20_000))
    grid = np.linspace(0.0, left[-1], 400_001)
    integral = np.concatenate(
        [[0.0], np.cumsum((each.survival(grid[1:]) + each.survival(grid[:-1])) / 2)]
    )
    share = np.interp(left, grid, integral * grid[1] / each.expected_s)
    steps = np.arange(1, len(left) + 1) / len(left)

    assert np.abs(share - steps).max() < 1.95 / math.sqrt(20_000)  # Kolmogorov, 0.1 %


@pytest.mark.parametrize("name", ["gamma", "weibull", "deterministic"])
def test_nodes_of_all_ages_fail_at_a_constant_rate_from_the_start(name):
    """N T / mean failures in a time T, whatever the law and however short T is; the variance of
    the mean over 400 jobs is that of their numbers."""

    def failures(ages: str) -> np.ndarray:
        scenario = cprsim.Scenario(
            job={"useful_time": "2 h"},
            cluster={"parameter_servers": 40, "trainers": 0},
            costs={"save": "0 s", "load": "0 s"},
            failures={"distribution": name, "mean": "10 h", "per": "node", "ages": ages}
            | LAWS[name],
            policies={"partial": {"system": "partial", "interval": "1 h"}},
        )
        return cprsim.run(scenario, replications=400).replications["failures"].to_numpy()

    aged, new = failures("stationary"), failures("new")

    assert aged.mean() == pytest.approx(40 * 2 / 10, abs=3 * aged.std() / 20)
    assert abs(new.mean() - 8.0) > 10 * new.std() / 20  # young nodes fail more often, or less


def test_ages_go_with_nodes():
    with pytest.raises(cprsim.errors.ScenarioError) as caught:
        cprsim.Scenario(
            job={"useful_time": "2 h"},
            cluster={"parameter_servers": 4},
            costs={"save": "1 s", "load": "0 s"},
            failures={"distribution": "exponential", "mean": "1 h", "ages": "stationary"},
            policies={"full": {"system": "full"}},
        )
    assert str(caught.value) == "failures: 'ages' goes with per = 'node'; leave it out"
