"""Rates, unevenness and bursts of nodes, against counts that share no code with them."""

import gzip
import itertools
import json
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.node_failures import node_failures, worst_share
from tests.survival.cases import SHARED

DAY = 86_400.0
STEPFUN = SHARED / "stepfun_faults/fault_trace_dev.json.gz"
needs_stepfun = pytest.mark.skipif(not STEPFUN.exists(), reason=f"needs {STEPFUN}")


def log(times: list[float], nodes: list[int], span: float, population: int | None = None):
    return FailureLog(np.array(times), np.array(nodes), 0.0, span, population=population)


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
        log([0, 50, 100, 1e5, 1e5 + 500, 2e5, 2e5 + 700], [0, 1, 0, 2, 2, 0, 1], 10 * DAY, 20)
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
    found = node_failures(log(sorted(range(len(nodes))), nodes.tolist(), 1000.0), within * 1000)

    many = 4000
    expected = shuffled(nodes, 1.0, within, many)

    assert found.bursts.by_chance == pytest.approx(
        expected, abs=4 * np.sqrt(expected / many), rel=within
    )


def test_one_node_makes_no_burst_by_chance_and_none_at_all():
    found = node_failures(log([0, 1, 2, 3], [5, 5, 5, 5], 4.0), 10.0)

    assert (found.bursts.count, found.bursts.failures) == (0, 0)
    assert (found.bursts.by_chance, found.bursts.failures_by_chance) == pytest.approx(
        (0, 0), abs=1e-12
    )
    assert found.bursts.notes == []
    assert "of 1 nodes (--population says how many there are)." in found.rate


def test_failures_at_one_instant_have_no_rate():
    assert node_failures(FailureLog(np.zeros(2), np.arange(2), 0.0, 0.0)) is None


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


@needs_stepfun
@pytest.mark.slow
def test_stepfuns_clusters_by_chance_are_those_of_its_shuffled_times():
    """Of 40,000 shuffles with 2.2 clusters each, the mean is known to a third of a percent."""
    raw = json.loads(gzip.decompress(STEPFUN.read_bytes()))
    starts = [e for e in raw if e["event_type"] == "fault_start"]
    names = sorted({e["node_id"] for e in starts})
    nodes = np.array([names.index(e["node_id"]) for e in starts])

    told = cprsim.fit(STEPFUN).document()["node_failures"]["bursts"]

    expected = shuffled(nodes, raw[-1]["event_time"], 10 / 1440, 40_000)
    assert told["by_chance"] == pytest.approx(expected, rel=0.02)


def of_nodes(nodes: list[int], population: int | None = None, kinds=None) -> FailureLog:
    times = np.arange(len(nodes), dtype=float)
    return FailureLog(times, np.array(nodes), 0.0, 9.0, kinds=kinds, population=population)


@pytest.mark.parametrize(
    ("nodes", "population", "counts"),
    [
        ([2, 2, 0], None, [2, 1]),
        ([2, 2, 0], 4, [2, 1, 0, 0]),
        ([0], 1, [1]),
    ],
)
def test_every_node_is_counted_those_that_never_fail_too(nodes, population, counts):
    assert node_failures(of_nodes(nodes, population)).counts.tolist() == counts


def test_a_trainer_and_a_server_of_one_number_are_two_nodes():
    kinds = ("trainer", "parameter_server", "trainer")

    assert node_failures(of_nodes([0, 0, 0], None, kinds)).counts.tolist() == [2, 1]


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
