"""Logs that say when nodes were up or down: event traces of the FTA, and spot traces."""

import gzip
import json
import lzma
import math
import re
import tarfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.errors import LogError
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.readers import read_log
from cprsim.failures.logs.source import LogSource

SHARED = Path(__file__).parents[2] / "../shared/data"
GRID5000 = SHARED / "grid5000_fta"
SPOT = SHARED / "spot_preemption/skypilot_spot_traces.tar.xz"
needs_grid5000 = pytest.mark.skipif(not GRID5000.exists(), reason=f"needs {GRID5000}")
needs_spot = pytest.mark.skipif(not SPOT.exists(), reason=f"needs {SPOT}")
HEADER = "# event_id component_id node_id platform_id node_name event_type "
HEADER += "event_start_time event_stop_time event_end_reason\n"

pytestmark = pytest.mark.usefixtures("folder")


def outages_of(log: FailureLog) -> list[tuple[float, int, float | None]]:
    """Time, node and repair of each failure; None where the repair isn't known."""
    repaired = [None if np.isnan(end) else end for end in log.repaired_s.tolist()]
    return list(zip(log.times_s.tolist(), log.nodes.tolist(), repaired, strict=True))


def fta(*rows: str, header: str = HEADER, system: int | None = None) -> FailureLog:
    """`rows` are platform, node, event type, start and stop."""
    text = header
    for number, row in enumerate(rows):
        platform, node, event, start, stop = row.split()
        text += f"{number}\t0\t {node}\t{platform}\ta node\t{event}\t{start}\t{stop}\tNULL\n"
    Path("trace.tab").write_text(text.replace("EMPTY", " "))
    return read_log("trace.tab", "fta", system)


# Failure Trace Archive


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 29), st.integers(1, 6))), st.randoms())
def test_outages_are_those_of_a_grid_of_instants(downs, rng):
    """On whole seconds: a node is down in second t if a down interval covers it."""
    rows = [f"1 {node} 1 0 0" for node in range(3)]
    rows += [f"1 {node} 0 {1 + start} {1 + start + length}" for node, start, length in downs]
    rows += [f"1 {node} 1 50 60" for node in range(3)]
    rng.shuffle(rows)
    covered = defaultdict(set)
    for node, start, length in downs:
        covered[node] |= set(range(1 + start, 1 + start + length))
    expected = []
    for node, seconds in covered.items():
        for start in sorted(second for second in seconds if second - 1 not in seconds):
            end = next(second for second in range(start, 50) if second not in seconds)
            expected.append((float(start), node, float(end)))

    if expected:
        assert outages_of(fta(*rows)) == sorted(expected)


@needs_grid5000
@pytest.mark.parametrize(("cluster", "nodes"), [("site3_c1", 57), ("site6_c1", 103)])
def test_the_real_grid5000_clusters(cluster, nodes):
    """The intervals of a node tile its record here, up and down in turn."""
    path = GRID5000 / f"g5k_dev_{cluster}.tab.gz"
    records = defaultdict(list)
    with gzip.open(path, "rt") as file:
        for line in file:
            if not line.startswith("#"):
                cells = [cell.strip() for cell in line.split("\t")]
                records[int(cells[2])].append((int(cells[6]), int(cells[7]), cells[5] == "0"))
    zero = min(start for rows in records.values() for start, _, _ in rows)
    last = max(stop for rows in records.values() for _, stop, _ in rows)
    expected = []
    for node, number in zip(sorted(records), range(nodes), strict=True):
        rows = sorted(records[node])
        for at, (start, stop, down) in enumerate(rows):
            if down and at > 0:
                end = stop - zero if at < len(rows) - 1 else None
                expected.append((start - zero, number, end))

    log = LogSource.from_options(path).failures()

    assert log.population == nodes
    assert sorted(outages_of(log), key=lambda row: row[:2]) == sorted(
        expected, key=lambda row: row[:2]
    )
    assert (log.span_s, log.until_s) == (last - zero, last - zero)
    unseen = sum(min(rows)[2] for rows in records.values())
    assert log.unused == {"outages under way when the record of their node begins": unseen}
    assert unseen > 0


# spot traces


def spot(counts: list[int], gap: float = 10, **keys: object) -> FailureLog:
    Path("spot.json").write_text(json.dumps({"metadata": {"gap_seconds": gap}, "data": counts}))
    return read_log("spot.json", "spot")


def brute_force(counts: list[int], gap: float) -> list[tuple[float, int, float | None]]:
    """Tick by tick, on sets of nodes."""
    nodes = set(range(max(counts)))
    there, rows, open_rows = set(range(counts[0])), [], {}
    for tick, count in enumerate(counts):
        while len(there) > count:
            node = max(there)
            there.remove(node)
            open_rows[node] = len(rows)
            rows.append([tick * gap, node, None])
        while len(there) < count:
            node = min(nodes - there)
            there.add(node)
            if node in open_rows:
                rows[open_rows.pop(node)][2] = tick * gap
    return sorted((tuple(row) for row in rows), key=lambda row: row[:2])


@given(st.lists(st.integers(0, 12), min_size=1).filter(lambda counts: sorted(counts) != counts))
def test_a_spot_trace_is_read_as_tick_by_tick(counts):
    assert outages_of(spot(counts)) == brute_force(counts, 10)


@pytest.mark.parametrize("name", ["SPOT.JSON.GZ", "spot.json.xz"])
def test_a_packed_spot_trace_is_read(name):
    pack = gzip.compress if name.endswith("GZ") else lzma.compress
    Path(name).write_bytes(pack(b'{"metadata": {"gap_seconds": 2}, "data": [3, 1]}'))

    assert outages_of(read_log(name, "spot")) == [(2.0, 1, None), (2.0, 2, None)]


@pytest.mark.parametrize("text", ["[" * 100_000, f'{{"data": [{"9" * 5000}]}}'])
def test_what_json_gives_up_on_is_told_on_one_line(text):
    Path("spot.json").write_text(text)

    with pytest.raises(LogError, match=r"^spot\.json: is not a spot trace: .+$"):
        read_log("spot.json", "spot")


@pytest.mark.slow
@needs_spot
def test_the_real_spot_traces(tmp_path):
    with tarfile.open(SPOT) as archive:
        archive.extractall(tmp_path, filter="data")
    traces, seen = sorted(tmp_path.rglob("*.json")), 0
    assert len(traces) == 34
    for path in traces:
        trace = json.loads(path.read_text())
        counts, gap = trace["data"], trace["metadata"]["gap_seconds"]
        expected, source = brute_force(counts, gap), LogSource.from_options(path)
        if not expected:
            with pytest.raises(LogError, match="the number of nodes in data never falls"):
                source.failures()
            continue
        log = source.failures()
        assert outages_of(log) == expected
        assert (log.population, log.until_s) == (max(counts), len(counts) * gap)
        seen += log.population == 16
    assert seen == 3  # traces of 16 nodes


# Prometheus


def samples(text: str, step: float = 30.0, zero: float = 1.7e9 + 0.123) -> list[list[object]]:
    """A sample each step: 0, 1, or none for a dot."""
    return [[zero + step * i, each] for i, each in enumerate(text) if each != "."]


def matrix(*texts: str, label: str = "instance") -> str:
    result = [
        {"metric": {label: f"n{number}"}, "values": samples(text)}
        for number, text in enumerate(texts)
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def outages(log: FailureLog) -> list[tuple[int, int, float]]:
    """Node, and steps at which each went down and was up again."""
    ends = np.round(log.repaired_s / 30, 6).tolist()
    starts = np.round(log.times_s / 30, 6).tolist()
    return list(zip(log.nodes.tolist(), starts, ends, strict=True))


def step_by_step(texts: list[str]) -> list[tuple[int, int, float]]:
    """Outages of aligned series, a step after the other; where nobody is seen for long, nothing."""
    asked = [step for step in range(len(texts[0])) if any(text[step] != "." for text in texts)]
    for before, after in pairwise(list(asked)):
        if after - before <= 4:  # Prometheus was there, if all nodes were missing
            asked += range(before + 1, after)
    found = []
    for node, text in enumerate(texts):
        states = {step: text[step] for step in sorted(asked)}
        for run in re.finditer(r"\.{4,}", seen := "".join(states.values())):
            steps = list(states)[slice(*run.span())]
            states |= dict.fromkeys(steps, "0" if seen[: run.start()].strip(".") else ".")
        known = [(step, state) for step, state in states.items() if state != "."]
        for (_, before), (step, state) in pairwise(known):
            if before == "1" and state == "0":
                ups = [later for later, up in known if later > step and up == "1"]
                found.append((step, node, ups[0] if ups else math.inf))
    return [(node, step, end) for step, node, end in sorted(found)]


@pytest.mark.slow
def test_outages_are_those_that_one_finds_step_by_step():
    rng, compared = np.random.default_rng(3), 0
    for _ in range(300):
        texts = [
            "".join(str(state) * int(rng.integers(1, 7)) for state in rng.choice(list("10.1"), 12))
            for _ in range(3)
        ]
        width = min(len(text) for text in texts)
        texts = [f"1{text[: width - 2]}1" for text in texts]
        expected = step_by_step(texts)
        if not expected:
            continue
        Path("log").write_text(matrix(*texts))
        found = outages(read_log("log", "prometheus"))
        assert [tuple(np.nan_to_num(each, nan=math.inf)) for each in found] == expected, texts
        compared += 1
    assert compared > 250
