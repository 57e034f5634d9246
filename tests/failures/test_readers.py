import csv
import gzip
import lzma
import random
import tomllib
from collections import Counter
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.errors import UsageError
from cprsim.failures.logs.csv_log import read_csv
from cprsim.failures.logs.intervals import Intervals, read_intervals
from cprsim.failures.logs.job_table import read_jobs
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import SYNONYMS, Columns, Rules
from cprsim.failures.logs.readers import read_log
from cprsim.failures.logs.traces import read_lanl
from tests.failures.generated_logs import WRITERS, Down, Truth
from tests.failures.logs_by_hand import log_of
from tests.survival.cases import LANL, needs_lanl

GOOD = "time_s,node,kind\n0.5,3,trainer\n2,0,ps\n2,7,parameter_server\n"

pytestmark = pytest.mark.usefixtures("folder")


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
            st.integers(0, 10**6),
            st.sampled_from(["parameter_server", "trainer"]),
        ),
        min_size=1,
        unique_by=lambda row: row[:2],
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
    assert (log.rows, others) == (("rows", 7917), 7917 - failures)
    assert datetime.fromtimestamp(log.unix_s, UTC) == datetime.fromisoformat(first + "Z")


# the log itself


def test_a_window_starts_its_own_clock():
    log = log_of([100, 120, 140, 200], range(4), kinds=("trainer",) * 4, population=9)

    part = log.part((0.1, 0.9))

    assert part.times_s.tolist() == [10.0, 30.0]
    assert part.nodes.tolist() == [1, 2]
    assert (part.start_s, part.span_s) == (0.0, pytest.approx(80.0))
    assert part.kinds == ("trainer", "trainer")
    assert part.population == 9


@given(st.lists(st.floats(0, 1e12), min_size=1))
def test_the_whole_window_is_the_whole_log(times):
    times.sort()
    log = log_of(times)

    whole = log.part((0, 1))

    assert len(whole) == len(log)
    assert whole.span_s == log.span_s
    assert whole.times_s[0] == 0


def test_a_log_cannot_be_changed_and_does_not_freeze_its_source():
    times = np.array([1.0, 2.0])
    log = FailureLog(times, np.array([0, 1]), 1.0, 1.0)

    with pytest.raises(ValueError, match="read-only"):
        log.times_s[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        log.nodes[0] = 5
    times[0] = 9.0
    assert log.times_s[0] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("reader", WRITERS)
def test_where_no_law_fits_only_a_log_that_counts_nodes_is_replayed(reader):
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


def test_causes_are_kept_by_windows_and_bursts():
    severities = ("process", "node", "process", "cluster")
    causes = ("a", None, "b", "c")
    log = log_of([0, 10, 20, 30], range(4), causes=causes, severities=severities)

    assert log.part((0.5, 1)).causes == ("b", "c")
    assert log.part((0.5, 1)).severities == ("process", "cluster")
    assert log.part((0, 0.5)).causes == ("a", None)
    assert log.coalesced(15.0).causes == ("a", None, "b", "c")


@needs_lanl
def test_lanl_causes_are_the_notes_of_its_columns():
    columns = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
    with gzip.open(LANL, "rt", encoding="latin-1") as file:
        rows = [row for row in csv.DictReader(file) if row["System"] == "20"]
    known = Counter("".join(row[column] for column in columns).strip() for row in rows)

    causes = Counter(read_log(LANL, "lanl", 20).causes)

    # A few rows have no start; none has two notes.
    assert causes.most_common(3) == [("CPU", 1155), ("Memory Dimm", 386), ("OS", 301)]
    assert causes.total() <= known.total() < 1.01 * causes.total()
    assert all(count <= known[cause or ""] for cause, count in causes.items())


# --- Columns under other names --------------------------------------------------------------------


START = 1_777_816_800  # 2026-05-03 14:00 UTC
#: Seconds from the first failure in quarters, which binary fractions hold; node; end of the outage.
ROWS = [(0.0, 7, 90.25), (12.25, 3, None), (12.25, 0, 3600.5), (86_400.75, 7, 86_401.0)]


def write(text: str, name: str = "log.csv") -> str:
    Path(name).write_text(text)
    return name


def date(at_s: float) -> datetime:
    return datetime.fromtimestamp(START, UTC) + timedelta(seconds=at_s)


def iso(zone: timezone | None):
    def written(at_s: float) -> str:
        if zone is None:
            return date(at_s).replace(tzinfo=None).isoformat(sep=" ")
        return date(at_s).astimezone(zone).isoformat()

    return written


#: How a time is written, and what it is taken for.
NOTATIONS = {
    "seconds": (str, "seconds"),
    "epoch": (lambda at_s: str(START + at_s), "epoch seconds"),
    "milliseconds": (lambda at_s: str(int((START + at_s) * 1000)), "epoch milliseconds"),
    "microseconds": (lambda at_s: str(int((START + at_s) * 1e6)), "epoch microseconds"),
    "offset": (iso(UTC), "ISO 8601"),
    "other-offset": (iso(timezone(timedelta(hours=-7))), "ISO 8601"),
    "no-zone": (iso(None), "ISO 8601, taken for UTC"),
    "Z": (lambda at_s: date(at_s).strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "ISO 8601"),
}


def table(written, header: str = "time,node,end") -> str:
    rows = (
        f"{written(at_s)},{node},{'' if end_s is None else written(end_s)}\n"
        for at_s, node, end_s in ROWS
    )
    return f"{header}\n{''.join(rows)}"


def same(one: FailureLog, other: FailureLog) -> None:
    """To the last bit."""
    assert one.times_s.tolist() == other.times_s.tolist()
    assert one.nodes.tolist() == other.nodes.tolist()
    np.testing.assert_array_equal(one.repaired_s, other.repaired_s)
    assert (one.start_s, one.span_s, one.until_s) == (other.start_s, other.span_s, other.until_s)
    assert (one.kinds, one.population, one.dropped) == (
        other.kinds,
        other.population,
        other.dropped,
    )


@pytest.mark.parametrize(("written", "told"), NOTATIONS.values(), ids=NOTATIONS)
def test_a_log_is_the_same_in_every_notation(written, told):
    own = read_csv(write(table(str, "time_s,node,end_s"), "own.csv"))

    log = read_csv(write(table(written)))

    same(log, own)
    assert own.notes == ()
    assert log.notes == (f"Columns: time 'time' ({told}), node 'node', end 'end'.",)


def test_rows_may_stand_in_any_order():
    rng = random.Random(0)
    kinds = ["trainer", "ps"]
    rows = [f"{1000 + 7 * i},node-{i * i % 11},{kinds[i % 3 > 0]},r{i % 4}\n" for i in range(60)]
    header = "time_s,node,kind,rack\n"
    in_order = read_csv(write(header + "".join(rows)))
    rng.shuffle(rows)

    log = read_csv(write(header + "".join(rows)))

    assert log.times_s.tolist() == in_order.times_s.tolist()
    assert log.nodes.tolist() == in_order.nodes.tolist()
    assert log.racks.tolist() == in_order.racks.tolist()
    assert log.kinds == in_order.kinds
    late = sum(
        int(after.split(",")[0]) < int(before.split(",")[0]) for before, after in pairwise(rows)
    )
    assert late > 10
    assert log.notes[-1] == f"Sorted by time; rows that stood behind a later one: {late}."
    assert len(in_order.notes) == 1


@pytest.mark.parametrize(
    ("column", "name"), [(column, name) for column, names in SYNONYMS.items() for name in names]
)
def test_every_known_name_is_found(column, name):
    header = ["what", name.title().replace("_", " ")]

    assert Columns().found(header) == {column: header[1]}


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"when": "t"}, "columns names 'when'; known: time, node, end, kind, rack, cause"),
        ({"time": ""}, "columns: time is ''; it is a column's name"),
        ({"node": 3}, "columns: node is '3'; it is a column's name"),
    ],
)
def test_columns_that_make_no_sense(columns, error):
    with pytest.raises(UsageError) as caught:
        Columns.of(columns)

    assert str(caught.value) == error


@pytest.mark.parametrize("word", ["", "-", "N/A", "na", "NaN", "NaT", "None", "NULL", "unknown"])
def test_an_end_that_is_not_known_is_written_in_many_ways(tmp_path, word):
    """And alike in cprsim's own format, in tables of others and in tables of jobs."""
    own, others = tmp_path / "own.csv", tmp_path / "others.csv"
    own.write_text(f"time_s,node,end_s\n10,0,{word}\n20,1,25\n")
    others.write_text(f"failed_at,host,resolved\n10,a,{word}\n20,b,25\n")
    for path in (own, others):
        assert np.isnan(read_csv(path).repaired_s).tolist() == [True, False]
    jobs = tmp_path / "jobs.csv"
    row = f"7,NODE_FAIL,2,100,{word}\n8,COMPLETED,2,100,200\n"
    jobs.write_text(f"JobID,State,NNodes,Start,End\n{row}")
    assert read_jobs(jobs).dropped == {"of jobs that never ran, or whose end is unknown": 1}


# --- Small logs of every format: small_logs.toml --------------------------------------------------


CASES = tomllib.loads(Path(__file__).with_name("small_logs.toml").read_text(encoding="utf-8"))


def told(log: FailureLog | Intervals) -> dict[str, Any]:
    """All that a log holds, without what is None, empty or usual; "?" for what isn't known."""
    found = {each.name: _plain(getattr(log, each.name)) for each in fields(log)}
    usual = {each.name: each.default for each in fields(log)} | {"columns": found.get("columns")}
    return {
        name: each
        for name, each in found.items()
        if each not in (None, [], {}) and each != usual[name]
    }


def _plain(value: Any) -> Any:
    """Return a value as TOML has it."""
    if isinstance(value, FailureLog):
        return told(value)
    if isinstance(value, np.ndarray | tuple):
        each = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
        return ["?" if item is None or item != item else item for item in each]  # noqa: PLR0124
    return value


@pytest.mark.parametrize("case", CASES["case"], ids=lambda case: f"{case['reader']}-{case['name']}")
def test_a_small_log_is_read_as_it_is_true(case, tmp_path):
    path = tmp_path / "log"
    path.write_text(case["text"], encoding="utf-8", newline="")
    columns = Columns(**case["columns"]) if "columns" in case else None
    rules = Rules.of(case["rules"]) if "rules" in case else None
    if case["reader"] == "intervals":
        assert told(read_intervals(path, columns)) == case["log"]
    else:
        found = read_log(path, case["reader"], case.get("system"), columns, rules)
        assert told(found) == case["log"]
