"""Nodes that fail at paces of their own."""

import math
from typing import Any

import numpy as np
import pytest

from cprsim.basics.streams import COHORT
from cprsim.errors import ScenarioError
from cprsim.failures.frailty import Frailty
from cprsim.failures.shared import SharedDraws
from cprsim.runs.runner import run
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from tests.failures.logs_by_hand import log_of
from tests.failures.played import played, timelines

NODES = 12
MEAN_S = 3600.0


def scenario(**failures: Any) -> Scenario:
    law = {"distribution": "exponential", "mean": f"{MEAN_S} s", "per": "node"}
    return Scenario(
        job={"useful_time": "10 h"},
        cluster={"trainers": NODES - 4, "parameter_servers": 4},
        costs={"save": "10 s", "load": "10 s", "reschedule": "1 min"},
        failures=law | failures,
        policies={"full": {"system": "full"}, "cpr": {"system": "partial", "interval": "10 min"}},
    )


def lives(until: int = 1, **failures: Any) -> np.ndarray:
    """Of a cohort, shape (generations, COHORT, nodes)."""
    cohort = scenario(**failures).failure_model.process.cohort(3, 0)
    return np.stack([cohort.generation(i) for i in range(until)])


def strikes(at_hand: Scenario, until_s: float, replications: int) -> np.ndarray:
    """Failures in a time of jobs whose nodes are back at once, shape (replications,)."""
    found = timelines(at_hand.failure_model, 5, range(replications))
    return np.array(
        [len(played(cursor_of(each), most=math.inf, until_s=until_s)) for each in found]
    )


def test_a_frailty_of_none_changes_no_bit():
    with_key = run(scenario(frailty=0.0), replications=40).replications
    without = run(scenario(), replications=40).replications

    assert with_key.equals(without)
    assert lives(3, frailty=0.0).tobytes() == lives(3).tobytes()


def test_a_place_passes_its_pace_on_and_a_machine_does_not():
    alike = lives(2)
    place, machine = (lives(2, frailty=1.0, frailty_of=of) / alike for of in ("place", "machine"))

    assert place[0] == pytest.approx(place[1], rel=1e-12)
    assert place[0] == pytest.approx(machine[0], rel=1e-12)  # the first are the same
    apart = np.corrcoef(np.log(machine).reshape(2, -1))[0, 1]
    assert abs(apart) < 4 / math.sqrt(COHORT * NODES)


def test_factors_are_gamma_with_mean_one():
    """Of mean 1 and variance v: the moments, of 3072 factors."""
    variance = 0.6
    factors = lives()[0] / lives(frailty=variance)[0]

    n, fourth = factors.size, 3 * variance**2 + 6 * variance**3
    assert factors.mean() == pytest.approx(1, abs=4 * math.sqrt(variance / n))
    assert factors.var() == pytest.approx(variance, abs=4 * math.sqrt(fourth / n))


def test_first_lives_are_lomax():
    """Exponential lives over gamma factors: S(t) = (1 + v t / mean)^(-1/v); of 30,720, by KS."""
    from scipy.stats import kstest

    variance = 1.5
    process = scenario(frailty=variance).failure_model.process
    cohorts = [process.cohort(3, i).generation(0).ravel() for i in range(10)]
    drawn = np.concatenate(cohorts) / MEAN_S

    assert kstest(drawn, lambda t: 1 - (1 + variance * t) ** (-1 / variance)).pvalue > 0.01


def test_failures_of_exponential_lives_are_negative_binomial():
    """Of a place: mean m = t / mean and variance m + v m²; the job's are those of its nodes."""
    variance, until_s, replications = 0.8, 2 * MEAN_S, 512
    counts = strikes(scenario(frailty=variance), until_s, replications)

    m = until_s / MEAN_S
    mean, spread = NODES * m, NODES * (m + variance * m**2)
    assert counts.mean() == pytest.approx(mean, abs=4 * math.sqrt(spread / replications))
    assert counts.var() == pytest.approx(spread, rel=4 * math.sqrt(2.6 / replications))


@pytest.mark.parametrize("excluded", [1, 3, 200])
def test_the_mean_without_the_worst_is_that_of_order_statistics(excluded):
    """Of m exponential factors the jth largest has the mean 1/j + ... + 1/m (A. Rényi, 1953)."""
    m = NODES + excluded
    worst = sum(sum(1 / i for i in range(j, m + 1)) for j in range(1, excluded + 1))

    found = Frailty(1.0, "place", excluded).mean(NODES)

    assert found == pytest.approx((m - worst) / NODES, rel=1e-6)


@pytest.mark.parametrize("variance", [0.1, 5.0])
@pytest.mark.parametrize("excluded", [30, 1000])
def test_the_mean_without_many_is_what_is_drawn(variance, excluded):
    """By 4,000 draws of all, within 4 standard errors."""
    rng = np.random.default_rng(1)
    drawn = rng.gamma(1 / variance, variance, (4000, NODES + excluded))
    kept = np.sort(drawn, axis=1)[:, :NODES].mean(axis=1)

    found = Frailty(variance, "place", excluded).mean(NODES)

    assert found == pytest.approx(kept.mean(), abs=4 * kept.std() / math.sqrt(4000))
    assert found > 0


def test_plans_know_the_rate_without_the_worst():
    frail = scenario(frailty=1.0, exclude_worst=3)
    until_s, replications = 3 * MEAN_S, 512

    counts = strikes(frail, until_s, replications)

    expected = until_s / frail.failure_model.mtbf_s
    assert counts.mean() == pytest.approx(expected, abs=4 * math.sqrt(counts.var() / replications))
    assert frail.failure_model.mtbf_s > 1.3 * scenario().failure_model.mtbf_s


def test_shared_draws_are_the_same():
    """Whatever else shares them: other frailties have other factors."""
    law, shared = {"distribution": "weibull", "shape": 0.6}, SharedDraws()
    for more in ({"frailty_of": "machine"}, {"exclude_worst": 2}, {"frailty": 2.0}, {}):
        model = scenario(**{"frailty": 0.7, **law, **more}).failure_model
        alone, together = model.process.cohort(1, 0), model.process.cohort(1, 0, shared)
        for number in range(3):
            one, other = alone.generation(number), together.generation(number)
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("engine", ["sim", "batch"])
def test_the_worst_of_a_log_are_left_out_in_both_engines(tmp_path, engine):
    rows = [
        f"8,8,{i % 8 if i % 3 else 5},1/{1 + i // 4}/2004 {5 * i % 24}:{10 + i},\n"
        for i in range(40)
    ]
    path = tmp_path / "log.csv"
    path.write_text("System,nodes,nodenumz,Prob Started,Prob Fixed\n" + "".join(rows), "utf-8")
    keys = {"trace": str(path), "reader": "lanl", "system": 8}
    tables = scenario().mapping() | {"cluster": {"trainers": 3, "parameter_servers": 4}}

    whole, rest = (
        Scenario(**tables | {"failures": keys | more}) for more in ({}, {"exclude_worst": 1})
    )

    assert rest.failure_model.mtbf_s > 1.2 * whole.failure_model.mtbf_s
    found = run(rest, replications=20, engine=engine).replications
    assert found.loc[found["policy"] == "full", "failures"].mean() > 0


def test_a_log_without_its_worst_nodes():
    causes = ("a", "b", "a", "c", "a", "b", "d")
    log = log_of(range(7), [3, 1, 3, 0, 3, 1, 4], span=7.0, population=6, causes=causes)

    rest = log.without_worst(2)

    assert rest.times_s.tolist() == [3.0, 6.0]
    assert rest.nodes.tolist() == [0, 2]  # 1 and 3 are gone
    assert (rest.population, rest.span_s, rest.causes) == (4, 7.0, ("c", "d"))


def test_kinds_close_their_own_gaps():
    kinds = ("parameter_server", "parameter_server", "trainer", "trainer", "parameter_server")
    log = log_of(range(5), [0, 0, 0, 1, 1], span=5.0, kinds=kinds)

    rest = log.without_worst(1)

    assert list(zip(rest.kinds, rest.nodes.tolist(), strict=True)) == [
        ("trainer", 0),
        ("trainer", 1),
        ("parameter_server", 0),
    ]


def test_lives_are_counted_at_the_pace_of_the_worst():
    """As many generations are drawn of all nodes as the worst of them needs."""
    keys = {"job": {"useful_time": "30 d"}, "cluster": {"trainers": 800, "parameter_servers": 200}}
    tables = scenario().mapping() | keys

    assert Scenario(**tables).failure_model
    with pytest.raises(ScenarioError, match=r"failures\.per: 'node' makes some .* lives"):
        Scenario(**tables | {"failures": tables["failures"] | {"frailty": 2.0}})
