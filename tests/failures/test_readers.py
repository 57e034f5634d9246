import csv
import gzip
import lzma
import tomllib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.errors import LogError
from cprsim.failures.logs.csv_log import read_csv
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.readers import read_log
from cprsim.failures.logs.traces import read_lanl
from tests.failures.generated_logs import WRITERS, Down, Truth

SHARED = Path(__file__).parents[2] / "../shared/data/lanl_failures"
LANL = SHARED / "lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
needs_lanl = pytest.mark.skipif(not LANL.exists(), reason=f"needs {LANL}")

GOOD = "time_s,node,kind\n0.5,3,trainer\n2,0,ps\n2,7,parameter_server\n"

pytestmark = pytest.mark.usefixtures("folder")


def error_of(read, *args) -> str:
    with pytest.raises(LogError) as caught:
        read(*args)
    text = str(caught.value)
    assert "\n" not in text
    return text


# cprsim's own format


@pytest.mark.parametrize(
    "pack",
    [
        lambda raw: ("failures.csv", raw),
        lambda raw: ("failures.csv", b"\xef\xbb\xbf" + raw),
        lambda raw: ("failures.csv", raw.replace(b"\n", b"\r\n")),
        lambda raw: ("failures.csv", b"\n" + raw.replace(b"\n", b"\n\n , ,\n") + b"\n"),
        lambda raw: ("failures.csv", raw.rstrip()),
        lambda raw: ("failures.csv", raw.replace(b",", b" , ")),
        lambda raw: ("failures.csv.gz", gzip.compress(raw)),
        lambda raw: ("FAILURES.CSV.GZ", gzip.compress(b"\xef\xbb\xbf" + raw)),
        lambda raw: ("failures.csv.xz", lzma.compress(raw)),
    ],
    ids=["plain", "bom", "crlf", "blank-lines", "no-last-end", "spaces", "gz", "GZ-bom", "xz"],
)
def test_csv_is_read_whatever_wraps_it(pack):
    name, raw = pack(GOOD.encode())
    Path(name).write_bytes(raw)

    log = read_csv(name)

    assert log.times_s.tolist() == [0.5, 2.0, 2.0]
    assert log.nodes.tolist() == [3, 0, 7]
    assert log.kinds == ("trainer", "parameter_server", "parameter_server")
    assert (log.start_s, log.span_s, log.population, log.dropped) == (0.5, 1.5, None, {})
    assert len(log) == 3


@given(
    st.lists(
        st.tuples(
            st.floats(0, allow_infinity=False),
            st.integers(0, 10**18 - 1),
            st.sampled_from(["parameter_server", "trainer"]),
        ),
        min_size=1,
    ),
    st.booleans(),
)
def test_what_is_written_is_read(rows, with_kinds):
    rows.sort(key=lambda row: row[0])
    width = 3 if with_kinds else 2
    with Path("failures.csv").open("w", newline="") as file:
        csv.writer(file).writerows(row[:width] for row in [("time_s", "node", "kind"), *rows])

    log = read_csv("failures.csv")

    times, nodes, kinds = zip(*rows, strict=True)
    assert tuple(log.times_s) == times
    assert tuple(log.nodes) == nodes
    assert log.kinds == (kinds if with_kinds else None)


# dispatch


# LANL


@needs_lanl
@pytest.mark.parametrize(
    ("system", "failures", "population", "first", "last"),
    [
        (3, 299, 128, "2003-09-13 12:27", "2005-09-06 13:00"),
        (6, 64, 32, "2003-09-14 02:19", "2005-09-06 06:55"),
        (18, 3997, 1024, "2002-05-06 08:45", "2005-09-08 15:09"),
    ],
)
def test_the_real_lanl_systems(system, failures, population, first, last):
    log = read_lanl(LANL, system)

    assert len(log) == failures
    assert log.population == population
    assert log.times_s[0] == 0
    span = datetime.fromisoformat(last) - datetime.fromisoformat(first)
    assert log.span_s == log.times_s[-1] == span.total_seconds()
    assert np.all(np.diff(log.times_s) >= 0)
    assert 0 <= log.nodes.min() <= log.nodes.max() < population
    others = sum(log.dropped.values())
    assert log.dropped == {"rows of other systems": others}
    assert log.rows == ("rows", 7917, 7917 - others)
    assert log.rows.kept == failures
    assert datetime.fromtimestamp(log.unix_s, UTC) == datetime.fromisoformat(first + "Z")


# the log itself


def log_of(*times: float) -> FailureLog:
    nodes = np.arange(len(times))
    return FailureLog(np.array(times), nodes, times[0], times[-1] - times[0], ("trainer",) * 4, 9)


def test_a_window_starts_its_own_clock():
    log = log_of(100.0, 120.0, 140.0, 200.0)

    part = log.part((0.1, 0.9))

    assert part.times_s.tolist() == [10.0, 30.0]
    assert part.nodes.tolist() == [1, 2]
    assert (part.start_s, part.span_s) == (0.0, pytest.approx(80.0))
    assert part.kinds == ("trainer", "trainer")
    assert part.population == 9


@given(st.lists(st.floats(0, 1e12), min_size=1))
def test_the_whole_window_is_the_whole_log(times):
    times.sort()
    log = FailureLog(np.array(times), np.zeros(len(times)), times[0], times[-1] - times[0])

    whole = log.part((0, 1))

    assert len(whole) == len(log)
    assert whole.span_s == log.span_s
    assert whole.times_s[0] == 0


def test_a_window_without_a_failure():
    part = log_of(0.0, 1.0, 2.0, 100.0).part
    assert error_of(part, (0.5, 0.6)) == "window 0.5:0.6 holds no failure"


def test_a_log_cannot_be_changed_and_does_not_freeze_its_source():
    times = np.array([1.0, 2.0])
    log = FailureLog(times, np.array([0, 1]), 1.0, 1.0)

    with pytest.raises(ValueError, match="read-only"):
        log.times_s[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        log.nodes[0] = 5
    times[0] = 9.0
    assert log.times_s[0] == 1.0


def test_a_log_that_is_out_of_order_or_ragged_is_refused():
    assert error_of(FailureLog, np.array([2.0, 1.0]), np.array([0, 0]), 0.0, 2.0) == (
        "times_s of a failure log must be in order"
    )
    assert error_of(FailureLog, np.array([2.0, 1.0]), np.array([0]), 0.0, 2.0) == (
        "the columns of a failure log must have the same length"
    )


@pytest.mark.slow
@pytest.mark.parametrize("reader", WRITERS)
def test_where_no_law_fits_only_a_log_that_counts_nodes_is_replayed(reader: str) -> None:
    # Gaps of 1 and 1000 min in turn: no law has two lengths only.
    at_s = np.cumsum([60.0, 60_000.0] * 40).tolist()
    truth = Truth([Down(f"gpu{i % 8}", at, at + 900) for i, at in enumerate(at_s)], 3e6)
    WRITERS[reader](truth, Path("log"), 2)

    found = cprsim.fit("log", reader=reader)

    assert not found.verdict.adequate
    block = tomllib.loads(found.toml())["failures"]
    assert ("trace" in block) == (reader == "prometheus")
    assert ("durations" in block) == (reader != "prometheus")


# Causes


def test_causes_are_kept_by_windows_and_bursts() -> None:
    log = FailureLog(
        np.array([0.0, 10.0, 20.0, 30.0]), np.arange(4), 0.0, 30.0, causes=("a", None, "b", "c")
    )

    assert log.part((0.5, 1)).causes == ("b", "c")
    assert log.part((0, 0.5)).causes == ("a", None)
    assert log.coalesced(15.0).causes == ("a", None, "b", "c")


def test_causes_are_one_a_failure() -> None:
    with pytest.raises(LogError, match="must have the same length"):
        FailureLog(np.array([0.0, 1.0]), np.arange(2), 0.0, 1.0, causes=("a",))


@needs_lanl
def test_lanl_causes_are_the_notes_of_its_columns() -> None:
    columns = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
    with gzip.open(LANL, "rt", encoding="latin-1") as file:
        rows = [row for row in csv.DictReader(file) if row["System"] == "20"]
    known = Counter("".join(row[column] for column in columns).strip() for row in rows)

    causes = Counter(read_log(LANL, "lanl", 20).causes)

    # A few rows have no start; none has two notes.
    assert causes.most_common(3) == [("CPU", 1155), ("Memory Dimm", 386), ("OS", 301)]
    assert causes.total() <= known.total() < 1.01 * causes.total()
    assert all(count <= known[cause or ""] for cause, count in causes.items())
