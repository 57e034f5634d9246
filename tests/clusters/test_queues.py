"""Clusters against queues with a known answer, each within three standard errors.

Jobs of one node, which nothing but failures delays, are the customers of closed queues.
"""

import math

import numpy as np
import pytest

from cprsim.sim.engine import COLUMNS
from tests.clusters.given import cluster_of, played

RUNS = 12
HOUR = 3600.0
#: A job whose node fails after an exponential time, and whose shard alone is then loaded.
FAILS = {
    "job.useful_time": "400 h",
    "failures": {"distribution": "exponential", "mean": "5 h", "during_recovery": False},
    "policies.full": {"system": "partial", "interval": "never"},
}


def _per_failure(spec, measure: str) -> tuple[float, float]:
    """Seconds of a cause for each failure, and the standard error, over replications."""
    place, failures = COLUMNS.index(measure), COLUMNS.index("failures")
    sums = np.array(
        [
            np.sum([(job.row[place], job.row[failures]) for job in played(spec, number).jobs], 0)
            for number in range(RUNS)
        ]
    )
    ratio = sums[:, 0].sum() / sums[:, 1].sum()
    errors = sums[:, 0] - ratio * sums[:, 1]
    return ratio, errors.std(ddof=1) / math.sqrt(RUNS) / sums[:, 1].mean()


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [pytest.param((1800.0,), marks=pytest.mark.nightly), (600.0, 3000.0)]
)
def test_loads_share_the_store_as_a_processor_sharing_queue(tmp_path, sizes):
    # M/G/1//N-PS, of classes that differ in their loads: a product form (Baskett, Chandy, Muntz and
    # Palacios, J. ACM 22(2), 1975), whatever the law of the times between failures.
    count, mean_s = 8, 5 * HOUR
    jobs = [{"count": count, "set": {**FAILS, "model.embedding": f"{size} GB"}} for size in sizes]
    spec = cluster_of(tmp_path, jobs, store={"read": "1 GB/s"})
    found, error = _per_failure(spec, "load")
    weights = {}
    for loading in np.ndindex(*(count + 1 for _ in sizes)):
        weight = math.factorial(sum(loading))
        for n, size in zip(loading, sizes, strict=True):
            weight *= math.comb(count, n) * (size / mean_s) ** n
        weights[loading] = weight
    total = sum(weights.values())
    in_load = sum(sum(n) * w for n, w in weights.items()) / total
    rate = (count * len(sizes) - in_load) / mean_s  # of failures
    assert found == pytest.approx(in_load / rate, abs=3 * error)
    assert error < 0.05 * found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nodes", "spares"), [(20, 1), pytest.param(20, 3, marks=pytest.mark.nightly)]
)
def test_spares_are_those_of_a_machine_repairman(tmp_path, nodes, spares):
    # N machines at work, s spares, as many repairers as machines: births at the rate of those at
    # work, deaths at that of those in repair (D. R. Cox and W. L. Smith, Queues, 1961, ch. 6).
    mean_s, repair_s = 5 * HOUR, HOUR
    spec = cluster_of(
        tmp_path,
        [{"count": nodes, "set": {**FAILS, "model.embedding": "0 B", "model.dense": "1 B"}}],
        cluster={
            "nodes": 100,
            "spares": spares,
            "repair": {"distribution": "exponential", "mean": "1 h"},
        },
    )
    found, error = _per_failure(spec, "reschedule")
    weights = [1.0]
    for n in range(nodes + spares):
        at_work = min(nodes, nodes + spares - n)
        weights.append(weights[-1] * at_work / mean_s * repair_s / (n + 1))
    chances = np.array(weights) / sum(weights)
    missing = np.maximum(np.arange(len(weights)) - spares, 0)
    rate = float(chances @ (nodes - missing)) / mean_s
    assert found == pytest.approx(float(chances @ missing) / rate, abs=3 * error)
    assert error < 0.1 * found


@pytest.mark.slow
def test_spares_of_many_nodes_are_those_of_erlang(tmp_path):
    # The number in repair is Poisson where failures are (A. K. Erlang; Palm's theorem for any law
    # of repairs): here of 200 nodes, whose downtimes take 1 % off their failures.
    nodes, spares, mean_s, repair_s = 200, 6, 100 * HOUR, 3 * HOUR
    lives = FAILS["failures"] | {"mean": "100 h"}
    spec = cluster_of(
        tmp_path,
        [{"count": nodes, "set": {**FAILS, "failures": lives, "model.embedding": "0 B"}}],
        cluster={"nodes": 300, "spares": spares, "repair": "3 h"},
    )
    found, error = _per_failure(spec, "reschedule")
    load = nodes * repair_s / mean_s
    counts = np.arange(60)
    chances = np.exp(counts * math.log(load) - load - [math.lgamma(n + 1) for n in counts])
    missing = np.maximum(counts - spares, 0)
    expected = float(chances @ missing) * mean_s / nodes
    assert found == pytest.approx(expected, abs=3 * error + 0.02 * expected)
    assert error < 0.1 * found
