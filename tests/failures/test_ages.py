"""Jobs that start in the midst of a gap between failures, or of the lives of their nodes."""

import math
from typing import Any

import numpy as np
import pytest

import cprsim
from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, CohortDraws
from cprsim.failures.cohorts import RenewalCohort
from cprsim.runs.fleet import Fleet

LAWS = {
    "exponential": {"distribution": "exponential"},
    "gamma, early failures": {"distribution": "gamma", "shape": 0.5},
    "gamma, wear-out": {"distribution": "gamma", "shape": 3.0},
    "weibull, early failures": {"distribution": "weibull", "shape": 0.6},
    "weibull, wear-out": {"distribution": "weibull", "shape": 3.0},
    "lognormal, narrow": {"distribution": "lognormal", "cv": 0.5},
    "lognormal, wide": {"distribution": "lognormal", "cv": 1.5},
    "deterministic": {"distribution": "deterministic"},
    "uniform": {"distribution": "uniform"},
    "empirical": {"distribution": "empirical", "durations": ["10 s", "50 s", "240 s"]},
}
#: Those of which a new one fails at another rate than an old one.
AGING = [name for name in LAWS if name != "exponential"]
DRAWN = 20_000
MEAN_S = 100.0


def keys(name: str) -> dict[str, Any]:
    return LAWS[name] | ({} if name == "empirical" else {"mean": f"{MEAN_S} s"})


def law(name: str) -> Distribution:
    return Distribution.model_validate(keys(name))


def moment(each: Distribution, n: int) -> float:
    """The mean of the nth power, from a textbook."""
    mean, shape = each.expected_s, each.shape or 1.0
    powers = {
        "exponential": lambda: math.factorial(n) * mean**n,
        "gamma": lambda: (mean / shape) ** n * math.gamma(shape + n) / math.gamma(shape),
        "weibull": lambda: (mean / math.gamma(1 + 1 / shape)) ** n * math.gamma(1 + n / shape),
        "lognormal": lambda: mean**n * (1 + (each.cv or 0.0) ** 2) ** (n * (n - 1) / 2),
        "deterministic": lambda: mean**n,
        "uniform": lambda: (2 * mean) ** n / (n + 1),
        "empirical": lambda: float(np.mean(np.array(each.durations_s) ** n)),
    }
    return powers[each.distribution]()


def left(name: str) -> np.ndarray:
    return law(name).sample_left(np.random.default_rng(0), DRAWN)


def scenario(failures: dict[str, Any], useful_s: float = 50.0, servers: int = 4) -> cprsim.Scenario:
    """A job in which failures cost nothing: it lasts just its useful time."""
    return cprsim.Scenario(
        job={"useful_time": f"{useful_s!r} s"},
        cluster={"parameter_servers": servers, "trainers": 2},
        costs={"save": "0 s", "load": "0 s"},
        failures=failures,
        policies={"partial": {"system": "partial", "interval": "1 h"}},
    )


def gaps_of(failures: dict[str, Any], count: int, columns: int) -> np.ndarray:
    """Gaps between failures of so many replications, s."""
    process, found = scenario(failures).failure_model.process, []
    for number in range(-(-count // COHORT)):
        cohort = process.cohort(0, number)
        assert isinstance(cohort, RenewalCohort)
        found.append(cohort.gaps.of(np.arange(COHORT), columns))
    return np.concatenate(found)[:count]


# What is left


@pytest.mark.parametrize("name", LAWS)
def test_what_is_left_has_the_survival_over_the_mean_as_its_density(name):
    """Cox, Renewal theory: P(left <= t) is the integral of the survival up to t over the mean."""
    each, drawn = law(name), np.sort(left(name))
    grid = np.linspace(0.0, drawn[-1], 400_001)
    integral = np.concatenate(
        [[0.0], np.cumsum((each.survival(grid[1:]) + each.survival(grid[:-1])) / 2)]
    )
    share = np.interp(drawn, grid, integral * grid[1] / each.expected_s)
    steps = np.arange(1, DRAWN + 1) / DRAWN

    assert np.abs(share - steps).max() < 1.95 / math.sqrt(DRAWN)  # Kolmogorov, 0.1 %


@pytest.mark.parametrize("name", LAWS)
def test_what_is_left_is_on_average_the_second_moment_over_twice_the_mean(name):
    """And its second moment is the third over three times the mean."""
    each = law(name)
    mean, second = (moment(each, n + 1) / ((n + 1) * each.expected_s) for n in (1, 2))

    assert left(name).mean() == pytest.approx(mean, abs=3 * math.sqrt((second - mean**2) / DRAWN))


def test_what_is_left_is_finite_at_shapes_that_strain_floats():
    rng = np.random.default_rng(0)
    for shape in (0.0059, 1e6):
        each = Distribution(distribution="weibull", mean="28 h", shape=shape)
        assert np.isfinite(each.sample_left(rng, 1000)).all()


# The job's own clock


@pytest.mark.parametrize("name", AGING)
def test_a_stationary_job_fails_alike_in_every_window(name):
    """As many failures as the window has mean gaps, on average, wherever it lies."""
    edges = np.array([0.0, 0.1, 0.5, 1.0, 3.0]) * MEAN_S
    instants = np.cumsum(gaps_of(keys(name) | {"ages": "stationary"}, 2560, 64), axis=1)
    counts = np.array([np.histogram(each, edges)[0] for each in instants])
    errors = counts.std(axis=0, ddof=1) / math.sqrt(len(counts))

    assert all(each[-1] > edges[-1] for each in instants)
    # Of 36 windows one in forty runs would miss three errors; a fixed law has no luck in the last.
    assert (np.abs(counts.mean(axis=0) - np.diff(edges) / MEAN_S) <= 3.3 * errors).all()


@pytest.mark.parametrize("name", [name for name in AGING if "shape" in LAWS[name]])
def test_a_stationary_job_fails_as_often_as_plans_assume_and_a_new_one_does_not(name):
    """T / mean failures in any time T. In half a mean gap a clock that starts new has more of them
    at shapes below 1, and fewer above."""

    def failures(ages: str) -> np.ndarray:
        played = scenario(keys(name) | {"ages": ages})
        assert played.context.mtbf_s == pytest.approx(MEAN_S)
        found = cprsim.run(played, replications=4000).replications
        return found["failures"].to_numpy()

    stationary, new = failures("stationary"), failures("new")

    assert abs(stationary.mean() - 0.5) < 3.3 * stationary.std() / math.sqrt(4000)
    early = 1 if LAWS[name]["shape"] < 1 else -1
    assert early * (new.mean() - 0.5) > 5 * new.std() / math.sqrt(4000)


def test_ages_move_the_first_gap_and_nothing_else():
    clusters = keys("gamma, early failures") | {"severity": {"node": 1.0, "process": 1.0}}
    ages = [clusters | {"ages": each} for each in ("new", "stationary")]
    new, stationary = (gaps_of(each, 256, 40) for each in ages)
    drawn = CohortDraws(law("gamma, early failures").sample, 0, 0, Cause.FAILURE_TIME).upto(40)

    assert new.tolist() == drawn[:, :40].tolist()
    assert (new[:, 0] != stationary[:, 0]).all()
    assert new[:, 1:].tolist() == stationary[:, 1:].tolist()
    one, other = (scenario(each).failure_model.process.cohort(0, 0) for each in ages)
    for row in range(256):
        hits = [[each.victims.hit(row, i) for i in range(9)] for each in (one, other)]
        assert hits[0] == hits[1]


@pytest.mark.parametrize("per", ["job", "node"])
def test_ages_that_are_not_given_are_the_default(per):
    said, unsaid = (
        scenario(keys("gamma, early failures") | {"per": per} | ages)
        for ages in ({"ages": "stationary"}, {})
    )

    assert said.failures.aged
    assert unsaid.failures.aged


@pytest.mark.parametrize("per", ["job", "node"])
def test_where_a_law_has_no_memory_ages_change_nothing(per):
    new, stationary = (
        cprsim.run(
            scenario(keys("exponential") | {"per": per, "ages": ages}, useful_s=300.0),
            replications=300,
        ).replications
        for ages in ("new", "stationary")
    )

    assert new.equals(stationary)


def test_ages_can_be_varied(tmp_path):
    each = scenario(keys("weibull, early failures"))
    done = cprsim.sweep(each, tmp_path, {"failures.ages": "new,stationary"}, replications=300)
    failures = done.table.set_index("failures.ages")["failures"]

    for ages in ("new", "stationary"):
        alone = scenario(keys("weibull, early failures") | {"ages": ages})
        assert failures[ages] == cprsim.run(alone, replications=300).summary["failures"].item()


def test_jobs_of_a_fleet_start_in_the_midst_of_a_gap():
    tables = scenario(keys("weibull, early failures") | {"ages": "stationary"}).mapping()
    tables["job"]["useful_time"] = {"distribution": "uniform", "min": "20 s", "max": "60 s"}
    played = cprsim.run_fleet(Fleet.of(tables), replications=4000).replications
    failures = played["failures"] / (played["wall_s"] / MEAN_S)

    assert failures.mean() == pytest.approx(1.0, abs=3 * failures.std() / math.sqrt(4000))


# Nodes of all ages


@pytest.mark.parametrize("name", ["gamma, early failures", "weibull, wear-out", "deterministic"])
def test_nodes_of_all_ages_fail_at_a_constant_rate_from_the_start(name):
    """N T / mean failures in a time T, whatever the law and however short T is; the variance of
    the mean over 400 jobs is that of their numbers."""

    def failures(ages: str) -> np.ndarray:
        played = scenario(keys(name) | {"per": "node", "ages": ages}, useful_s=20.0, servers=38)
        return cprsim.run(played, replications=400).replications["failures"].to_numpy()

    aged, new = failures("stationary"), failures("new")

    assert aged.mean() == pytest.approx(40 * 0.2, abs=3 * aged.std() / 20)
    assert abs(new.mean() - 8.0) > 10 * new.std() / 20  # young nodes fail more often, or less
