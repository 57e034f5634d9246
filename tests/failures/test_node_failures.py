"""Rates, unevenness and bursts of nodes, against counts that share no code with them."""

import csv
import gzip
import itertools
import json
from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.failures.logs.coincidence import rack_bursts
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import node_failures, worst_share
from tests.failures.logs_by_hand import log_of
from tests.survival.cases import SHARED, STEPFUN, needs_stepfun

DAY = 86_400.0


def shuffled(nodes: np.ndarray, span: float, within: float, times: int) -> float:
    """Mean number of runs of two nodes or more, of failures put at random instants."""
    rng, found = np.random.default_rng(11), 0
    for _ in range(times):
        order = np.argsort(at := rng.uniform(0, span, len(nodes)))
        new = np.diff(at[order]) > within
        # A run is of several nodes where two neighbours in it differ.
        differ = ~new & (np.diff(nodes[order]) != 0)
        found += len(np.unique(np.cumsum(np.append(False, new))[1:][differ]))
    return found / times


def test_what_can_be_counted_by_hand():
    found = node_failures(
        log_of(
            [0, 50, 100, 1e5, 1e5 + 500, 2e5, 2e5 + 700],
            [0, 1, 0, 2, 2, 0, 1],
            span=10 * DAY,
            population=20,
        )
    )

    assert (found.counts.sum(), len(found.counts), found.is_counted) == (7, 20, True)
    assert found.per_1000_node_days == pytest.approx(1000 * 7 / (20 * 10))
    assert found.worst_tenth == pytest.approx(5 / 7)  # two of twenty nodes
    assert (found.bursts.count, found.bursts.failures) == (
        1,
        3,
    )  # not the node that fails twice, nor those 700 s apart
    assert found.rate == "35 failures per 1,000 node-days of 20 nodes."
    assert found.worst == "The worst tenth of these nodes has 71 % of the failures."
    assert found.bursts.notes[0].startswith(
        "Several nodes failed within 10 min of each other 1 x, 3 failures in all; "
    )


@pytest.mark.parametrize(
    ("counts", "within"),
    [((1, 1), 0.1), ((3, 1), 0.2), ((40, 30, 1, 1, 1), 0.004), ((2,) * 60, 0.003), ((9, 9), 0.05)],
)
def test_bursts_by_chance_are_those_of_shuffles(counts, within):
    """Gaps of a few failures are less independent: two of them have (1 - w)^2, exactly."""
    nodes = np.repeat(np.arange(len(counts)), counts)
    found = node_failures(log_of(range(len(nodes)), nodes, span=1000.0), within * 1000)

    many = 4000
    expected = shuffled(nodes, 1.0, within, many)

    assert found.bursts.by_chance == pytest.approx(
        expected, abs=4 * np.sqrt(expected / many), rel=within
    )


def test_one_node_makes_no_burst_by_chance_and_none_at_all():
    found = node_failures(log_of([0, 1, 2, 3], [5, 5, 5, 5], span=4.0), 10.0)

    assert (found.bursts.count, found.bursts.failures) == (0, 0)
    assert (found.bursts.by_chance, found.bursts.failures_by_chance) == pytest.approx(
        (0, 0), abs=1e-12
    )
    assert found.bursts.notes == []
    assert "of 1 nodes (--population says how many there are)." in found.rate


def test_failures_at_one_instant_have_no_rate():
    assert node_failures(log_of([0, 0], [0, 1])) is None


@needs_stepfun
def test_stepfun_is_told_as_it_is_counted_from_its_json():
    """Rate, worst tenth, clusters and repairs, of the nodes that SOURCE.md counts."""
    raw = json.loads(gzip.decompress(STEPFUN.read_bytes()))
    starts = [e for e in raw if e["event_type"] == "fault_start"]
    down, opened = defaultdict(list), defaultdict(list)  # of each node: from when until when
    for event in raw:
        node, fault = event["node_id"], json.dumps(event["fault_type"], sort_keys=True)
        if event["event_type"] == "fault_start":
            opened[node, fault].append(event["event_time"])
        else:
            down[node].append((opened[node, fault].pop(0), event["event_time"]))
    lasted = list[float]()  # outages of a node that overlap are one; those of 0 s are left out
    for mine in down.values():
        began, ended = -1.0, -1.0
        for start, end in [*sorted(mine), (1e9, 1e9)]:
            if start > ended:
                lasted += [ended - began] * (ended > began)
                began, ended = start, end
            ended = max(ended, end)
    servers, days = 215, raw[-1]["event_time"]
    ranked = [n for _, n in Counter(e["node_id"] for e in starts).most_common()]
    worst = sum(ranked[:21]) + 0.5 * ranked[21]  # 21.5 of 215
    bursts, run = 0, {starts[0]["node_id"]}
    for before, after in itertools.pairwise(starts):
        if after["event_time"] - before["event_time"] > 10 / 1440:
            bursts, run = bursts + (len(run) > 1), set()
        run.add(after["node_id"])
    bursts += len(run) > 1

    document = cprsim.fit(STEPFUN, population=servers).document()
    told = document["node_failures"]

    assert told["per_1000_node_days"] == pytest.approx(
        1000 * len(starts) / servers / days, rel=0.02
    )
    assert told["worst_tenth"] == pytest.approx(worst / len(starts), rel=0.02)
    assert told["bursts"]["count"] == bursts
    assert document["repairs"]["median_s"] == pytest.approx(np.median(lasted) * DAY, rel=0.02)
    assert document["repairs"]["mean_s"] == pytest.approx(np.mean(lasted) * DAY, rel=0.02)


@pytest.mark.parametrize(
    ("nodes", "more", "counts"),
    [
        ([2, 2, 0], {}, [2, 1]),
        ([2, 2, 0], {"population": 4}, [2, 1, 0, 0]),
        ([0], {"population": 1}, [1]),
        # A trainer and a server of one number are two nodes.
        ([0, 0, 0], {"kinds": ("trainer", "parameter_server", "trainer")}, [2, 1]),
    ],
)
def test_every_node_is_counted_those_that_never_fail_too(nodes, more, counts):
    log = log_of(range(len(nodes)), nodes, span=9.0, **more)
    assert node_failures(log).counts.tolist() == counts


@pytest.mark.parametrize(
    ("counts", "tenth", "share"),
    [
        ([1] * 10, 0.1, 0.1),
        ([9, *[0] * 9], 0.1, 1.0),
        ([3, 4, 1, *[0] * 7], 0.1, 4 / 8),
        ([1, 4, 3, *[0] * 12], 0.1, 5.5 / 8),  # 1.5 of 15 nodes: the worst, and half of the next
        ([1, 3], 0.1, 0.15),  # a fifth of a node with 3 of 4
        ([5, 2], 0, 0.0),
        ([5, 2], 1, 1.0),
    ],
)
def test_the_share_of_the_worst(counts, tenth, share):
    assert worst_share(np.array(counts), tenth) == pytest.approx(share, rel=1e-12)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(sum), st.floats(0, 1))
def test_the_worst_have_no_less_than_their_share_in_any_order(counts, tenth):
    share = worst_share(np.array(counts), tenth)

    assert tenth <= share + 1e-12 <= 1 + 2e-12
    assert share == worst_share(np.array(counts[::-1]), tenth)


# --- Bursts within racks ------------------------------------------------------------------------


ALIBABA = SHARED / "alibaba_ssd/ssd_failures_trimmed.csv.gz"
needs_alibaba = pytest.mark.skipif(not ALIBABA.exists(), reason=f"needs {ALIBABA}")


def in_racks(times, nodes, racks, population=None) -> FailureLog:
    """A log of these failures, which come in any order."""
    order = np.argsort(times, kind="stable")
    times_s, of_nodes, of_racks = (np.asarray(each)[order] for each in (times, nodes, racks))
    return log_of(times_s, of_nodes, population=population, racks=of_racks)


def test_bursts_by_hand():
    log = in_racks(
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

    unknown = rack_bursts(in_racks(times, nodes, racks), 5.0)
    known = rack_bursts(in_racks(times, nodes, racks, population=12), 5.0)

    assert (unknown.law.rack, unknown.racks) == (2, 2)
    assert (known.law.rack, known.racks) == (6, 2)


def independent(failures: int = 2000, racks: int = 20) -> FailureLog:
    rng = np.random.default_rng(0)
    nodes = rng.integers(racks * 10, size=failures)
    return in_racks(rng.uniform(0, 1e6, failures), nodes, nodes // 10)


@pytest.mark.parametrize("within", [20.0, 500.0, 10_000.0, 100_000.0])
def test_independent_failures_have_no_bursts_however_long_they_are_waited_for(within):
    """What looks like a burst is chance: with 100 failures a rack, 1,000 s apart on average."""
    assert rack_bursts(independent(), within) is None


def test_chance_is_counted_right():
    """Pairs of different nodes of a rack: 100 failures each, 9 of 10 pairs, 2 w / T."""
    log, within = independent(), 20.0
    bursts = [at for at in range(0, 1_000_000, 2500) for _ in range(2)]
    together = in_racks(
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
    log = in_racks(times, nodes, np.array(nodes) // rack)

    found = rack_bursts(log, 60.0)

    assert found.count == pytest.approx(len(sizes), abs=5)  # two may come within a minute
    assert found.law.mean_s == pytest.approx(mean, rel=3 / np.sqrt(len(sizes)))
    assert found.law.shares()[2] == pytest.approx(sizes.count(2) / len(sizes), abs=0.002)
    assert found.law.rack == 8
    assert found.by_chance < 0.01 * found.count


def test_failures_far_apart_are_no_bursts():
    assert rack_bursts(in_racks([0, 100, 200], [0, 1, 0], [0, 0, 0]), 5.0) is None


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

    found = rack_bursts(in_racks(*zip(*rows, strict=True)), 300.0)

    assert (len(rows), found.racks) == (18_387, 5_320)
    assert found.count == bursts
    assert found.count > 10 * found.by_chance
