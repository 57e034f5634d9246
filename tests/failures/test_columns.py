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


def test_differences_of_epochs_are_exact():
    first = START * 1000 + 13
    rows = f"{first},0,{first + 90_250}\n{first + 1_234_567},0,{first + 2_000_001}\n"

    log = read_csv(write(f"time,node,end\n{rows}"))

    assert log.times_s.tolist() == [0.0, 1234.567]
    assert log.repaired_s.tolist() == [90.25, 2000.001]


def test_ends_may_be_in_another_unit_than_times():
    rows = "".join(
        f"{START + at_s},{node},{int((START + at_s + 5) * 1000)}\n" for at_s, node, _ in ROWS
    )

    log = read_csv(write(f"time,node,end\n{rows}"))

    assert log.repaired_s.tolist() == [at_s + 5 for at_s, _, _ in ROWS]


@pytest.mark.parametrize(
    ("first_s", "origin_s", "notation"),
    [
        (99_999_999, 99_999_999, "seconds"),
        (100_000_001, 0, "epoch seconds"),
        (100_000_000_001, 0, "epoch milliseconds"),
    ],
)
def test_numbers_are_epochs_by_their_size(first_s, origin_s, notation):
    log = read_csv(write(f"time,node\n{first_s},0\n{first_s + 1000},0\n"))

    assert log.times_s[0] == origin_s
    assert log.span_s == (1 if "milli" in notation else 1000)
    assert f"({notation})" in log.notes[0]


def test_time_s_is_seconds_whatever_their_size():
    log = read_csv(write(f"time_s,node\n{START},0\n{START + 5},1\n"))

    assert (log.start_s, log.span_s, log.notes) == (START, 5.0, ())


def test_a_log_of_thirty_years_may_count_from_its_own_start():
    log = read_csv(write("time,node\n5,0\n950000000,1\n"))

    assert log.times_s.tolist() == [5.0, 950_000_000.0]


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


def test_hosts_are_numbered_as_they_first_fail():
    log = read_csv(write("Start Time,Host\n30,web-2\n10,db-1\n20,web-2\n40,10.0.0.7\n"))

    assert log.nodes.tolist() == [0, 1, 1, 2]
    assert log.population is None


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["7", "3", "07", "+3"], [7, 3, 7, 3]),
        (["7", "3", "n1", "7"], [0, 1, 2, 0]),
        (["7", "9999999999999999999", "7", "3"], [0, 1, 0, 2]),  # a serial number
        (["7e3", "7000", "7e3", "7"], [0, 1, 0, 2]),  # the beginnings of two hashes
    ],
)
def test_nodes_are_indices_only_if_all_are(cells, numbers):
    rows = "".join(f"{at},{cell}\n" for at, cell in enumerate(cells))

    log = read_csv(write(f"time_s,node\n{rows}"))

    assert log.nodes.tolist() == numbers


def test_hosts_of_each_group_have_numbers_of_their_own():
    log = read_csv(write("time_s,node,kind\n1,t7,trainer\n2,s9,ps\n3,t7,trainer\n4,t1,trainer\n"))

    assert log.nodes.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_cells_stand_between_commas_semicolons_or_tabs(mark):
    text = "\ntime,host,note\n2026-05-03 14:00,a,x\n2026-05-03 15:00,b,y\n"

    log = read_csv(write(text.replace(",", mark)))

    assert log.times_s.tolist() == [0.0, 3600.0]


@pytest.mark.parametrize(
    ("column", "name"), [(column, name) for column, names in SYNONYMS.items() for name in names]
)
def test_every_known_name_is_found(column, name):
    header = ["what", name.title().replace("_", " ")]

    assert Columns().found(header) == {column: header[1]}


def test_a_given_name_comes_before_a_known_one():
    text = "time_s,node,fell,box,back,what,row\n1,0,2026-05-03 14:00,a,2026-05-03 15:00,ps,z\n"
    given = {"time": "fell", "node": "box", "end": "back", "kind": "what", "rack": "row"}

    log = read_csv(write(text), Columns.of(given))

    assert (log.times_s.tolist(), log.nodes.tolist(), log.repaired_s.tolist()) == ([0], [0], [3600])
    assert (log.kinds, log.racks.tolist()) == (("parameter_server",), [0])


def test_a_type_beside_our_own_columns_may_be_of_others():
    assert read_csv(write("time_s,node,type\n1,0,GPU\n2,1,NIC\n")).kinds is None


def test_kinds_and_severities_of_others_are_left_out():
    log = read_csv(write("time,host,type,severity\n1,a,ps,node\n2,b,GPU,critical\n"))

    assert (log.kinds, log.severities) == (None, None)
    assert log.notes == (
        "Columns: time 'time' (seconds), node 'host' (2 names, numbered as they first come), "
        "kind 'type' (left out: not kinds: parameter_server (or ps), trainer), "
        "severity 'severity' (left out: not severities: process, node, cluster).",
    )


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


def test_the_page_has_every_known_name():
    page = (Path(__file__).parents[2] / "docs/failures.md").read_text()

    for column, names in SYNONYMS.items():
        assert f"| {column} | {', '.join(f'`{name}`' for name in names)} |" in page


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
