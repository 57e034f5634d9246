"""Bursts: what they take down and when, beside the lives of nodes."""

import collections
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import cprsim
from cprsim.errors import ScenarioError
from cprsim.failures.bursts import Bursts
from cprsim.failures.cohorts import NodeCohort, Shocks
from cprsim.failures.hits import Hit
from cprsim.failures.model import FailureModel
from cprsim.failures.timeline import AbsoluteTimeline, Timeline
from cprsim.sim.engine import play
from tests.failures.played import lives, played

HOUR = 3600.0
LIVES = {"distribution": "exponential", "mean": "1200 h", "per": "node"}
BURSTS = {"mean": "400 h", "rack": 4, "sizes": {"2": 0.8, "3": 0.15, "4": 0.05}}
POLICIES = {
    "full": {"system": "full", "interval": "2 h"},
    "partial": {"system": "partial", "interval": "2 h"},
    "async": {"system": "async", "interval": "1 h", "snapshot": "1 min"},
    "replication": {"system": "replication", "interval": "2 h"},
}


def scenario(
    bursts: dict | None = None, servers: int = 8, trainers: int = 4, **failures: object
) -> cprsim.Scenario:
    return cprsim.Scenario(
        job={"useful_time": "1000 h"},
        cluster={"parameter_servers": servers, "trainers": trainers, "spares": 1},
        costs={"save": "3 min", "load": "9 min", "reschedule": "40 min", "detect": "1 min"},
        failures=LIVES | ({} if bursts is None else {"bursts": bursts}) | failures,
        policies=POLICIES,
    )


def shocks(nodes: int = 12, seed: int = 0, **keys: object) -> Shocks:
    return Shocks(Bursts.model_validate(BURSTS | keys), nodes, seed, 0)


def cohort_of(model: FailureModel, seed: int = 0) -> NodeCohort:
    cohort = model.process.cohort(seed, 0)
    assert isinstance(cohort, NodeCohort)
    return cohort


# --- Worked by hand ------------------------------------------------------------------------------


def test_lives_and_bursts_worked_by_hand():
    cursor = lives(100.0, [(30.0, {0, 1}), (100.0, {2}), (180.0, {0, 3})])

    assert played(cursor, 5.0, most=6) == [
        (30.0, Hit((0, 1), ())),
        # The servers' first lives would have ended now: forgotten. The burst takes one of the two
        # trainers whose lives end at the same instant: one failure.
        (100.0, Hit((), (0, 1))),
        (135.0, Hit((0, 1), ())),
        (180.0, Hit((0,), (1,))),
        (205.0, Hit((), (0,))),  # 100 s after it was placed at 105 s
        (240.0, Hit((1,), ())),
    ]
    assert cursor.next_s == 285.0  # server 0 and trainer 1, placed at 185 s
    assert cursor.absorbed == 0


def test_bursts_are_one_failure_each_in_the_downtime():
    bursts = [(10.0, {0}), (20.0, {1, 2}), (30.0, {2}), (40.0, {0, 3}), (50.0, {4})]
    cursor = lives(45.0, bursts, nodes=5)
    played(cursor, 40.0, most=1)

    # Those at 20, 30 and 40 s, and the life of node 4: all other lives had been cut short. The one
    # at 50 s comes when the recovery ends, and strikes.
    assert cursor.absorbed == 4
    assert played(cursor, most=1) == [(50.0, Hit((), (2,)))]
    assert cursor.next_s == 95.0  # all were replaced at 50 s


def test_a_burst_and_lives_of_one_instant_are_absorbed_as_one():
    cursor = lives(50.0, [(10.0, {0}), (50.0, {1})])
    played(cursor, 60.0, most=1)

    assert cursor.absorbed == 1
    assert cursor.next_s == 120.0


@pytest.mark.parametrize(("burst_s", "ends_s"), [(20.0, 93.0), (48.0, 95.0), (49.0, 95.0)])
def test_a_burst_takes_a_replacement_only_once_it_is_placed(burst_s, ends_s):
    """Without failures while loading, nodes are placed some time before the job can be hit."""
    cursor = lives(45.0, [(10.0, {0}), (burst_s, {0})])
    hit = cursor.strike()
    cursor.replace(hit, 48.0)
    cursor.resume(50.0)

    assert cursor.next_s == ends_s
    assert cursor.absorbed == 1 + 3  # the burst, and the lives of the others at 45 s


def test_a_node_that_is_down_is_not_hit_again():
    cursor = lives(1000.0, [(10.0, {0}), (20.0, {0, 1}), (30.0, {0}), (60.0, {0, 3})])
    hits = []
    for _ in range(3):  # the job trains on, and nobody is replaced yet
        at_s = cursor.next_s
        hits.append((at_s, cursor.strike()))
        cursor.resume(at_s + 1.0)

    # Down, but hit once more: nobody else was chosen.
    assert hits == [(10.0, Hit((0,), ())), (20.0, Hit((1,), ())), (30.0, Hit((0,), ()))]
    cursor.replace(Hit((0,), ()), 40.0)
    assert played(cursor, most=1) == [(60.0, Hit((0,), (1,)))]
    assert played(cursor, most=1) == [(1000.0, Hit((), (0,)))]
    cursor.replace(Hit((1,), ()), 1001.0)
    assert played(cursor, most=1) == [(1060.0, Hit((0,), (1,)))]
    assert cursor.absorbed == 0


def test_a_replacement_in_the_background_leaves_the_next_burst_where_it_is():
    cursor = lives(100.0, [(10.0, {0}), (20.0, {1})])
    hit = cursor.strike()
    cursor.resume(11.0)
    cursor.replace(hit, 12.0)

    assert cursor.next_s == 20.0


def test_a_node_that_is_placed_twice_has_the_later_life():
    cursor = lives(100.0, [(10.0, {0, 1, 2, 3})])
    hit = cursor.strike()
    cursor.replace(hit, 20.0)
    cursor.replace(Hit((0,), ()), 30.0)
    cursor.resume(30.0)

    assert played(cursor, most=1) == [(120.0, Hit((1,), (0, 1)))]
    assert played(cursor, most=1) == [(130.0, Hit((0,), ()))]


# --- Draws ---------------------------------------------------------------------------------------


def chi_squared(seen: Iterable[object], expected: dict[object, float]) -> float:
    """Pearson's statistic of counts against shares."""
    counts = collections.Counter(seen)
    assert set(counts) <= set(expected)
    n = counts.total()
    return sum((counts[key] - n * share) ** 2 / (n * share) for key, share in expected.items())


def test_gaps_between_bursts_are_exponential():
    # Three racks, each with a burst every 400 h.
    drawn = shocks()
    n = 4000
    gaps_s = np.sort(np.diff([0.0, *(drawn.at_s(i) for i in range(n))]))
    below = 1 - np.exp(-gaps_s / (400 * HOUR / 3))

    # Kolmogorov-Smirnov: 1.95 / sqrt(n) is the 0.1 % critical value; 0.5 / n for the steps.
    assert np.abs(below - (np.arange(n) + 0.5) / n).max() < 1.95 / math.sqrt(n)


def test_racks_are_alike_and_the_last_gives_what_it_has():
    drawn = shocks(nodes=10, sizes={"1": 4, "2": 0, "3": 4})
    bursts = [drawn.nodes(i) for i in range(9000)]
    seen = [(min(nodes) // 4, len(nodes)) for nodes in bursts]
    one_rack = {0: {1: 0.5, 3: 0.5}, 1: {1: 0.5, 3: 0.5}, 2: {1: 0.5, 2: 0.5}}
    expected = {
        (rack, size): share / 3 for rack, sizes in one_rack.items() for size, share in sizes.items()
    }

    assert all(min(nodes) // 4 == max(nodes) // 4 and max(nodes) < 10 for nodes in bursts)
    # Five degrees of freedom: 20.5 is the 99.9th percentile.
    assert chi_squared(seen, expected) < 20.5


@pytest.mark.parametrize(("size", "critical"), [(1, 16.3), (2, 20.5), (3, 16.3)])
def test_any_nodes_of_a_rack_are_as_likely(size, critical):
    drawn = shocks(nodes=4, sizes={str(size): 1})
    subsets = [frozenset(each) for each in itertools.combinations(range(4), size)]

    # 99.9th percentiles for 4 - 1, 6 - 1 and 4 - 1 degrees of freedom.
    seen = [drawn.nodes(i) for i in range(6000)]
    assert chi_squared(seen, dict.fromkeys(subsets, 1 / len(subsets))) < critical


def test_a_rack_larger_than_the_cluster_is_the_cluster():
    model = scenario(BURSTS | {"rack": 10**23, "sizes": {str(10**20): 1}}).failure_model

    assert cohort_of(model).shocks(0).nodes(0) == frozenset(range(12))
    assert model.mtbf_s == pytest.approx(1 / (1 / (100 * HOUR) + 1 / (400 * HOUR)))


def test_bursts_move_no_life_and_sizes_no_burst():
    alone, beside = (cohort_of(scenario(each).failure_model, 7) for each in (None, BURSTS))
    others = shocks(sizes={"1": 1})

    for number in range(3):
        assert alone.generation(number).tobytes() == beside.generation(number).tobytes()
    assert [others.at_s(i) for i in range(20)] == [shocks().at_s(i) for i in range(20)]


def test_bursts_have_streams_of_their_own():
    """In units of their means, lives and gaps of one stream would be the same numbers."""
    drawn = cohort_of(scenario(BURSTS).failure_model)
    gaps = np.diff([0.0, *(shocks().at_s(i) for i in range(12))]) / (400 * HOUR / 3)
    lives = np.concatenate([drawn.generation(g)[0] for g in range(3)]) / (1200 * HOUR)

    assert np.abs(np.subtract.outer(gaps, lives)).min() > 1e-9


# --- What policies plan with ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("servers", "trainers", "rack"), [(3, 5, 4), (4, 4, 4), (3, 6, 4), (5, 0, 4), (2, 8, 7)]
)
def test_means_are_those_of_all_nodes_that_can_be_chosen(servers, trainers, rack):
    """Every subset of every rack, with exact fractions. (3, 5, 4): only rack 0 has servers."""
    weights = {1: Fraction(1, 4), 2: Fraction(1, 2), 4: Fraction(1, 4)}
    nodes = range(servers + trainers)
    racks = [nodes[first : first + rack] for first in range(0, len(nodes), rack)]
    # Rates per hour: of each node to end its life, of each subset to be chosen.
    rates: dict[tuple[int, ...], Fraction] = collections.defaultdict(Fraction)
    for node in nodes:
        rates[(node,)] += Fraction(1, 1200)
    for members in racks:
        for size, weight in weights.items():
            chosen = list(itertools.combinations(members, min(size, len(members))))
            for each in chosen:
                rates[each] += weight * Fraction(1, 400) / len(chosen)
    total = sum(rates.values())
    of_servers = {each: sum(node < servers for node in each) for each in rates}
    bursts = BURSTS | {"rack": rack, "sizes": {str(k): 8 * float(w) for k, w in weights.items()}}
    model = scenario(bursts, servers, trainers).failure_model

    def mean(of):
        return float(sum(rate * of[each] for each, rate in rates.items()) / total)

    assert model.mtbf_s == pytest.approx(HOUR / float(total), rel=1e-12)
    of_trainers = {each: len(each) - hit for each, hit in of_servers.items()}
    some = {each: hit > 0 for each, hit in of_servers.items()}
    by_hand = mean(of_servers), mean(of_trainers), mean(some)
    assert model.mean_hit == pytest.approx(by_hand, rel=1e-12, abs=1e-15)


# --- Whole jobs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fixed(FailureModel):
    """Always the same failures."""

    failures: Timeline

    def timeline(self, seed: int, replication: int) -> Timeline:
        return self.failures


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("during_recovery", [True, False])
def test_jobs_of_immortal_nodes_go_as_if_the_bursts_were_replayed(policy, during_recovery):
    """A log with the bursts in it is the same to a job, down to those that hit nodes in repair."""
    keys = {"mean": "1e24 s", "during_recovery": during_recovery}
    bursts = scenario(BURSTS | {"mean": "10 h"}, **keys)
    model = bursts.failure_model
    drawn = cohort_of(model, 5).shocks(0)
    many = range(3000)
    hits = [
        Hit(
            tuple(sorted(node for node in drawn.nodes(i) if node < 8)),
            tuple(sorted(node - 8 for node in drawn.nodes(i) if node >= 8)),
        )
        for i in many
    ]
    log = AbsoluteTimeline([drawn.at_s(i) for i in many], hits)
    replay = scenario(BURSTS | {"mean": "10 h"}, **keys)
    vars(replay)["failure_model"] = Fixed(model.spec, model.cluster, model.job, log)
    ledger = play(bursts, policy, 5, 0)

    assert ledger == play(replay, policy, 5, 0)
    assert ledger.failures > 100
    assert ledger.absorbed > 0
    assert drawn.at_s(many[-1]) > ledger.wall


# --- Scenario files ------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "job.toml"
    file.write_text(scenario(BURSTS).to_toml(), encoding="utf-8")
    return file


def test_keys_of_bursts_can_be_set(path):
    sets = ['failures.bursts.mean="100 d"', "failures.bursts.sizes.2=0.5"]
    bursts = cprsim.load_scenario(path, sets).failures.bursts

    assert bursts.mean_s == 100 * 86400
    assert bursts.sizes == {2: 0.5, 3: 0.15, 4: 0.05}


def test_another_law_keeps_bursts_and_another_source_drops_them(path):
    law = ["failures.distribution=weibull", "failures.shape=0.7"]
    kept = cprsim.load_scenario(path, law).failures

    assert kept.distribution == "weibull"
    assert kept.bursts == scenario(BURSTS).failures.bursts
    assert cprsim.load_scenario(path, ["failures.exactly=2"]).failures.bursts is None


def test_more_lives_than_can_be_drawn_are_told():
    with pytest.raises(ScenarioError) as error:
        scenario(servers=1_000_000, trainers=1_000_000, mean="1000000 h")

    assert list(error.value.args) == [
        "failures.per: 'node' makes some 4e+06 lives of 2,000,000 nodes, 8.2 GB for 256 jobs that "
        "are drawn together; 800,000 is the most: give fewer nodes or a longer failures.mean, or "
        "per = 'job' with the mean of the whole job"
    ]
    scenario(servers=300_000, mean="1000000 h")
