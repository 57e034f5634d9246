"""Logs as people have them: columns under other names, times in any notation, rows in any order."""

import random
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.failures.logs.csv_log import read_csv
from cprsim.failures.logs.job_table import read_jobs
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import SYNONYMS, Columns

START = 1_777_816_800  # 2026-05-03 14:00 UTC
#: Seconds from the first failure in quarters, which binary fractions hold; node; end of the outage.
ROWS = [(0.0, 7, 90.25), (12.25, 3, None), (12.25, 0, 3600.5), (86_400.75, 7, 86_401.0)]

pytestmark = pytest.mark.usefixtures("folder")


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
