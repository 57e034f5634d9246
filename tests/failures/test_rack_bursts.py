import csv
import gzip
from collections import defaultdict
from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest

from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import rack_bursts
from tests.survival.cases import SHARED

ALIBABA = SHARED / "alibaba_ssd/ssd_failures_trimmed.csv.gz"
needs_alibaba = pytest.mark.skipif(not ALIBABA.exists(), reason=f"needs {ALIBABA}")


def log_of(times, nodes, racks, population=None) -> FailureLog:
    times_s = np.asarray(times, float)
    order = np.argsort(times_s, kind="stable")
    return FailureLog(
        times_s=times_s[order],
        nodes=np.asarray(nodes)[order],
        start_s=float(times_s.min()),
        span_s=float(np.ptp(times_s)),
        population=population,
        racks=np.asarray(racks)[order],
    )


def test_bursts_by_hand():
    log = log_of(
        times=[0, 5, 8, 100, 101, 200, 300, 304, 308, 1000],
        nodes=[1, 2, 9, 1, 1, 3, 1, 2, 3, 7],
        racks=[0, 0, 1, 0, 0, 0, 0, 0, 0, 1],
    )
    found = rack_bursts(log, 5.0)

    # 0-5 in rack 0 (not 8, which is in rack 1), and 300-308; 100-101 is one node twice.
    assert np.flatnonzero(found.members).tolist() == [0, 1, 6, 7, 8]
    assert (found.count, found.racks) == (2, 2)
    assert found.law.sizes == {2: 1, 3: 1}
    assert found.law.rack == 3
    assert found.law.mean_s == pytest.approx(2 * 1000 / 2)
    low, high = found.mean_interval_s
    # Garwood's exact interval of a count of 2: 0.2422 to 7.2247 (tables of the Poisson law).
    assert (2000 / high, 2000 / low) == pytest.approx((0.2422, 7.2247), abs=1e-4)


def test_the_nodes_of_the_system_say_how_large_a_rack_is():
    """Two racks, in each of which two nodes have failed; 12 nodes make them 6 each."""
    times, nodes, racks = [0, 1, 50_000, 100_000], [0, 1, 2, 11], [0, 0, 1, 1]

    unknown = rack_bursts(log_of(times, nodes, racks), 5.0)
    known = rack_bursts(log_of(times, nodes, racks, population=12), 5.0)

    assert (unknown.law.rack, unknown.racks) == (2, 2)
    assert (known.law.rack, known.racks) == (6, 2)


def independent(failures: int = 2000, racks: int = 20) -> FailureLog:
    rng = np.random.default_rng(0)
    nodes = rng.integers(racks * 10, size=failures)
    return log_of(rng.uniform(0, 1e6, failures), nodes, nodes // 10)


@pytest.mark.parametrize("within", [20.0, 500.0, 10_000.0, 100_000.0])
def test_independent_failures_have_no_bursts_however_long_they_are_waited_for(within):
    """What looks like a burst is chance: with 100 failures a rack, 1,000 s apart on average."""
    assert rack_bursts(independent(), within) is None


def test_chance_is_counted_right():
    """Pairs of different nodes of a rack: 100 failures each, 9 of 10 pairs, 2 w / T."""
    log, within = independent(), 20.0
    bursts = [at for at in range(0, 1_000_000, 2500) for _ in range(2)]
    together = log_of(
        np.concatenate([log.times_s, bursts]),
        np.concatenate([log.nodes, [1000, 1001] * 400]),
        np.concatenate([log.racks, [100] * 800]),
    )

    found = rack_bursts(together, within)

    pairs = 20 * 100**2 / 2 * 0.9 * 2 * within / 1e6
    own = 800**2 / 2 * 0.5 * 2 * within / 1e6  # of the rack with the bursts, shuffled with the rest
    assert found.by_chance == pytest.approx(pairs + own, abs=4 * np.sqrt((pairs + own) / 20))
    assert found.count == pytest.approx(400 + pairs, abs=4 * np.sqrt(pairs))


def test_a_burst_process_is_found_again():
    """Rate within its own 95 % interval's reach at 3 standard errors; sizes as they were drawn."""
    rng = np.random.default_rng(1)
    span, racks, rack, mean = 1e8, 40, 8, 1e6
    times, nodes = [], []
    sizes = []
    for number in range(racks):
        for at in np.sort(rng.uniform(0, span, rng.poisson(span / mean))):
            sizes.append(int(rng.choice([2, 4], p=[0.75, 0.25])))
            chosen = number * rack + rng.choice(rack, sizes[-1], replace=False)
            times += (at + np.arange(len(chosen))).tolist()
            nodes += chosen.tolist()
    log = log_of(times, nodes, np.array(nodes) // rack)

    found = rack_bursts(log, 60.0)

    assert found.count == pytest.approx(len(sizes), abs=5)  # two may come within a minute
    assert found.law.mean_s == pytest.approx(mean, rel=3 / np.sqrt(len(sizes)))
    assert found.law.shares()[2] == pytest.approx(sizes.count(2) / len(sizes), abs=0.002)
    assert found.law.rack == 8
    assert found.by_chance < 0.01 * found.count


def test_failures_far_apart_are_no_bursts():
    assert rack_bursts(log_of([0, 100, 200], [0, 1, 0], [0, 0, 0]), 5.0) is None


def test_one_instant_has_no_rate():
    with pytest.raises(LogError) as caught:
        rack_bursts(log_of([5, 5], [0, 1], [0, 0]), 5.0)
    assert str(caught.value) == (
        "the failures all strike at one instant: there is no rate to estimate"
    )


@needs_alibaba
def test_ssds_of_a_rack_fail_together_more_often_than_by_chance():
    """18,387 SSD failures: bursts counted again, rack by rack, in plain Python."""
    by_rack, start = defaultdict(list), datetime(2018, 1, 1)
    with gzip.open(ALIBABA, "rt") as file:
        for row in csv.DictReader(file):
            at = (datetime.fromisoformat(row["failure_time"]) - start).total_seconds()
            by_rack[int(row["rack_id"])].append((at, int(row["node_id"])))
    bursts = 0
    for failures in by_rack.values():
        failures.sort()
        together = {failures[0][1]}
        for (before, _), (at, node) in pairwise(failures):
            if at - before > 300:
                bursts += len(together) > 1
                together = set()
            together.add(node)
        bursts += len(together) > 1
    rows = [(at, node, rack) for rack, failures in by_rack.items() for at, node in failures]

    found = rack_bursts(log_of(*zip(*rows, strict=True)), 300.0)

    assert (len(rows), found.racks) == (18_387, 5_320)
    assert found.count == bursts
    assert found.count > 10 * found.by_chance
