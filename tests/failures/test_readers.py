import csv
import gzip
import lzma
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.errors import LogError
from cprsim.failures.logs.csv_log import read_csv
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Columns
from cprsim.failures.logs.readers import read_log
from cprsim.failures.logs.traces import read_lanl

SHARED = Path(__file__).parents[2] / "../shared/data/lanl_failures"
LANL = SHARED / "lanl_dev_systems_3_4_5_6_8_18_20.csv.gz"
needs_lanl = pytest.mark.skipif(not LANL.exists(), reason=f"needs {LANL}")

GOOD = "time_s,node,kind\n0.5,3,trainer\n2,0,ps\n2,7,parameter_server\n"
LANL_HEADER = "System,machine type,nodes,nodenumz,Prob Started\n"

pytestmark = pytest.mark.usefixtures("folder")


def write(text: str | bytes, name: str = "failures.csv") -> str:
    raw = text if isinstance(text, bytes) else text.encode()
    Path(name).write_bytes(raw)
    return name


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


def test_csv_ignores_other_columns_and_does_without_kinds():
    log = read_csv(write('note,node,time_s\n"disk, io\nagain",4,7\n,5,9\n'))

    assert log.times_s.tolist() == [7.0, 9.0]
    assert log.nodes.tolist() == [4, 5]
    assert log.kinds is None


def test_csv_reads_ends_of_outages_and_racks():
    text = "time_s,node,end_s,rack\n10,3,15.5,2\n20,0,,0\n20,9,NULL,7\n30,3,29,2\n40,1,40,0\n"
    log = read_csv(write(text + "50,2,,1\n"))

    assert log.repaired_s.tolist() == pytest.approx(
        [15.5, np.nan, np.nan, np.nan, 40.0, np.nan], abs=0, nan_ok=True
    )
    assert log.racks.tolist() == [2, 0, 7, 2, 0, 1]
    assert log.unused == {"repairs that end before they start": 1}
    assert (log.start_s, log.span_s, log.until_s) == (10.0, 40.0, 50.0)


def test_a_csv_log_is_watched_until_its_last_outage_is_over():
    log = read_csv(write("time_s,node,end_s\n10,3,900\n20,0,25\n"))

    assert (log.span_s, log.until_s) == (10.0, 900.0)
    assert log.racks is None


def test_csv_does_without_ends_and_racks():
    log = read_csv(write(GOOD))

    assert (log.repaired_s, log.racks, log.until_s) == (None, None, 2.0)


def test_csv_ends_may_all_be_unknown():
    log = read_csv(write("time_s,node,end_s\n10,3,\n20,0,\n"))

    assert np.isnan(log.repaired_s).all()
    assert log.until_s == 20.0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "failures.csv: holds no failure"),
        ("time_s,node\n\n", "failures.csv: holds no failure"),
        (
            "a,b\n1,2\n",
            "failures.csv:1: has no column of times, such as time_s or timestamp; the header is "
            "'a,b'; name it with --time-column (in a scenario: failures.columns)",
        ),
        (
            "\ntime_s\n1\n",
            "failures.csv:2: has no column of nodes, such as node or hostname; the header is "
            "'time_s'; name it with --node-column (in a scenario: failures.columns)",
        ),
        (
            "time_s,node,node\n1,2,3\n",
            "failures.csv:1: has column node twice; the header is 'time_s,node,node'",
        ),
        (
            "time_s,node,kind,kind\n1,2,ps,ps\n",
            "failures.csv:1: has column kind twice; the header is 'time_s,node,kind,kind'",
        ),
        (
            "time_s,node\n1,0\nabc,1\n",
            "failures.csv:3: time_s is 'abc', not a number of seconds",
        ),
        ("time_s,node\n,1\n", "failures.csv:2: time_s is '', not a number of seconds"),
        ("time_s,node\n1_0,1\n", "failures.csv:2: time_s is '1_0', not a number of seconds"),
        (
            "time_s,node\n-3,1\n",
            "failures.csv:2: time_s is '-3'; times are finite and 0 s or later",
        ),
        (
            "time_s,node\nnan,1\n",
            "failures.csv:2: time_s is 'nan'; times are finite and 0 s or later",
        ),
        (
            "time_s,node\n1e999,1\n",
            "failures.csv:2: time_s is '1e999'; times are finite and 0 s or later",
        ),
        (
            "time_s,node\n1,1.0\n",
            "failures.csv:2: node is '1.0'; it is an index from 0, or a name",
        ),
        (
            "time_s,node\n1,-1\n",
            "failures.csv:2: node is '-1'; it is an index from 0, or a name",
        ),
        (
            "time_s,node,kind\n1,0,trainer\n2,0,gpu\n",
            "failures.csv:3: kind is 'gpu'; known kinds: parameter_server (or ps), trainer",
        ),
        ("time_s,node\n1,0\n5\n", "failures.csv:3: the row has 1 cells, the header has 2"),
        ("time_s,node\n1,000,4\n", "failures.csv:2: the row has 3 cells, the header has 2"),
        (
            'time_s,node\n1,0\n"2,0\n3,0\n',
            "failures.csv:3: is not CSV: unexpected end of data",
        ),
        (
            b"time_s,node\n1,0\n2,\xe9\n",
            "failures.csv:3: is not UTF-8: byte 0xe9; give it as UTF-8 text",
        ),
        (
            GOOD.encode("utf-16"),
            "failures.csv:1: is not UTF-8: byte 0xff; give it as UTF-8 text",
        ),
        ("x" * (2**20 + 1), "failures.csv:1: is longer than 1048576 bytes"),
        (
            f"time_s,node\n{'9' * 999}x,0\n",
            f"failures.csv:2: time_s is '{'9' * 37}...{'9' * 37}x', not a number of seconds",
        ),
    ],
)
def test_a_malformed_csv_is_one_line_that_says_where(text, error):
    assert error_of(read_csv, write(text)) == error


def test_a_fault_after_a_cell_of_two_lines_names_its_own_line():
    text = 'time_s,node,note\n1,0,"two\nlines"\nx,0,\n'

    error = error_of(read_csv, write(text))

    assert error == "failures.csv:4: time_s is 'x', not a number of seconds"


def test_files_that_cannot_be_opened():
    Path("logs").mkdir()
    write("", "file")

    assert error_of(read_csv, "failures.csv") == "failures.csv: no such file"
    assert error_of(read_csv, Path("failures.csv.gz")) == "failures.csv.gz: no such file"
    assert error_of(read_csv, "logs") == "logs: is a directory, not a log"
    assert error_of(read_csv, "file/a.csv") == "file/a.csv: can't be read: Not a directory"


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_packed_log_cut_short(suffix, pack):
    raw = pack(b"time_s,node\n" + b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(50_000)))
    name = write(raw[: len(raw) // 2], f"failures.csv.{suffix}")

    error = error_of(read_csv, name)

    assert error.startswith(f"{name}: is cut short after line ")
    assert error.endswith("; copy it again")


def test_a_packed_log_that_is_not_packed():
    assert error_of(read_csv, write(GOOD, "failures.csv.gz")) == (
        "failures.csv.gz: is not a sound .gz file: Not a gzipped file (b'ti')"
    )
    assert error_of(read_csv, write(GOOD, "failures.csv.xz")) == (
        "failures.csv.xz: is not a sound .xz file: Input format not supported by decoder"
    )


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


def test_read_log_picks_the_reader():
    name = write(LANL_HEADER + "2,cluster,9,4,6/21/2005 10:54\n", "lanl.csv")

    assert len(read_log(write(GOOD), "csv")) == 3
    assert len(read_log(name, "lanl", 2)) == 1
    assert len(read_log(name, "lanl")) == 1  # it holds but one system
    assert len(read_log(write("t,b\n1,0\n"), "csv", columns=Columns(time="t", node="b"))) == 1


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            ("lanll",),
            "unknown reader 'lanll'; known readers: csv, lanl, fta, spot, stepfun, slurm, "
            "prometheus, xid, intervals",
        ),
        (
            ("lanl", None, Columns(time="t")),
            "reader 'lanl' knows its columns; leave out their names",
        ),
        (("csv", 20), "reader 'csv' knows no systems; leave out system = 20"),
        (("spot", 0), "reader 'spot' knows no systems; leave out system = 0"),
        (("csv",), "failures.csv: no such file"),
    ],
)
def test_read_log_refuses(args, error):
    assert error_of(read_log, "failures.csv", *args) == error


# LANL


def lanl(*rows: str) -> str:
    return write(LANL_HEADER + "".join(f"{row}\n" for row in rows), "lanl.csv")


def test_lanl_is_sorted_by_time_then_node_and_counts_from_the_first_failure():
    log = read_lanl(
        lanl(
            "8,cluster,5,4,2/29/2004 0:01",
            "8,cluster,5,1,02/28/2004 23:59",
            "9,smp,1,77,no date at all",
            "8,cluster,5,2,2/29/2004 0:01",
        ),
        8,
    )

    assert log.times_s.tolist() == [0.0, 120.0, 120.0]
    assert log.nodes.tolist() == [1, 2, 4]
    assert (log.population, log.start_s, log.span_s) == (5, 0.0, 120.0)
    assert log.kinds is None
    assert log.dropped == {"rows of other systems": 1}


def test_lanl_drops_and_counts_what_it_cannot_place():
    log = read_lanl(
        lanl(
            "8,cluster,5,5,1/1/2004 0:00",
            "8,cluster,5,-1,1/1/2004 0:00",
            "8,cluster,5,0,",
            "8,cluster,5,4,1/1/2004 0:10",
        ),
        8,
    )

    assert log.times_s.tolist() == [0.0]
    assert log.dropped == {
        "rows without a start time": 1,
        "rows outside the nodes of the system": 2,
    }


def test_lanl_skips_a_title_line():
    text = "LA-UR-05-7318: failures 1996-2005,,,\n" + LANL_HEADER + "2,c,9,4,6/21/2005 10:54\n"

    assert read_lanl(write(text), 2).nodes.tolist() == [4]


REPAIRED = "System,nodes,nodenumz,Prob Started,Prob Fixed,node decom\n"


def repaired(*rows: str, system: int = 8) -> FailureLog:
    text = REPAIRED + "".join(f"{row}\n" for row in rows)
    return read_lanl(write(text, "lanl.csv"), system)


def test_lanl_repairs_are_on_the_clock_of_the_failures():
    log = repaired(
        "8,5,4,1/1/2004 0:10,1/1/2004 0:09,current",
        "8,5,3,1/1/2004 0:05,1/1/2004 1:00,current",
        "8,5,2,1/1/2004 0:01,,current",
        "8,5,1,1/1/2004 0:00,1/1/2004 0:00,current",
        "8,5,1,,1/1/2004 3:00,current",
    )

    assert log.times_s.tolist() == [0.0, 60.0, 300.0, 600.0]
    assert log.repaired_s.tolist() == pytest.approx(
        [0.0, np.nan, 3600.0, np.nan], abs=0, nan_ok=True
    )
    assert log.dropped == {"rows without a start time": 1}
    assert log.unused == {"repairs that end before they start": 1}
    assert (log.span_s, log.until_s) == (600.0, 3 * 3600.0)


@pytest.mark.parametrize(
    ("decommissioned", "others", "until_s"),
    [
        ("current", "9,5,0,1/1/2004 0:30,1/1/2004 2:00,5-Dec", 7200.0),
        ("current", "9,5,0,1/1/2004 3:00,,current", 10800.0),
        ("current", "9,5,0,1/1/2004 3:00,once upon a time,current", 10800.0),
        ("current", "9,5,0,,,current", 600.0),
        ("5-Dec", "9,5,0,1/1/2004 3:00,1/1/2004 3:00,current", 600.0),
    ],
    ids=["repair", "start", "bad-date-of-another", "no-dates", "taken-out-of-service"],
)
def test_lanl_nodes_are_watched_as_long_as_they_are_in_service(decommissioned, others, until_s):
    log = repaired(
        f"8,5,1,1/1/2004 0:00,1/1/2004 0:10,{decommissioned}",
        "8,5,1,1/1/2004 0:02,1/1/2004 0:05,current",
        others,
    )

    assert (log.span_s, log.until_s) == (120.0, until_s)


def test_a_lanl_log_without_repairs_says_so():
    log = read_lanl(
        lanl("8,cluster,5,4,1/1/2004 0:00", "9,smp,1,0,1/1/2004 0:01"),
        8,
    )

    assert log.repaired_s is None
    assert log.until_s == 60.0


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([], "lanl.csv: holds no failure"),
        (
            ["20,c,9,0,6/21/2005 10:54", "3,c,9,0,", "20,c,9,0,"],
            "lanl.csv: has no failures of system 99; it has 3, 20",
        ),
        (
            ["99,c,9,9,6/21/2005 10:54", "99,c,9,0,"],
            "lanl.csv: has no usable failure of system 99: "
            "1 rows without a start time, 1 rows outside the nodes of the system",
        ),
        (
            ["99,c,9,0,"],
            "lanl.csv: has no usable failure of system 99: 1 rows without a start time",
        ),
        (
            ["99,c,9,0,2/30/2005 10:54"],
            "lanl.csv:2: Prob Started is '2/30/2005 10:54', "
            "not a time like 9/26/2003 16:40 (m/d/Y H:M)",
        ),
        (
            ["99,c,9,0,6/21/05 10:54"],
            "lanl.csv:2: Prob Started is '6/21/05 10:54', "
            "not a time like 9/26/2003 16:40 (m/d/Y H:M)",
        ),
        (["99,c,many,0,6/21/2005 10:54"], "lanl.csv:2: nodes is 'many', not an integer"),
        (["99,c,9,,6/21/2005 10:54"], "lanl.csv:2: nodenumz is '', not an integer"),
        (["x,c,9,0,6/21/2005 10:54"], "lanl.csv:2: System is 'x', not an integer"),
    ],
)
def test_a_malformed_lanl_log(rows, error):
    assert error_of(read_lanl, lanl(*rows), 99) == error


def test_a_lanl_log_without_its_header():
    name = write("title\n3,cluster,128,0\n" * 5, "lanl.csv")
    assert error_of(read_lanl, name, 3) == (
        "lanl.csv:1: has no column System; the header is 'title'"
    )

    name = write("title\nSystem,nodes,nodenum\n", "lanl.csv")
    assert error_of(read_lanl, name, 3) == (
        "lanl.csv:2: has no column nodenumz; the header is 'System,nodes,nodenum'"
    )


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
    assert datetime.fromtimestamp(log.epoch.unix_s, UTC) == datetime.fromisoformat(first + "Z")
    assert not log.epoch.zoned


@needs_lanl
def test_the_repairs_of_system_18():
    """Two rows from the raw file, by eye: its first failure, and the last repair in the file."""
    log = read_lanl(LANL, 18)
    first = datetime.fromisoformat("2002-05-06 08:45")

    assert not np.isnan(log.repaired_s).any()
    assert (log.repaired_s >= log.times_s).all()
    assert log.until_s == (datetime.fromisoformat("2005-09-09 13:47") - first).total_seconds()


@needs_lanl
def test_gaps_of_the_second_half_of_system_20():
    # The closest public match to the failures of the CPR paper; the figures come from the raw
    # rows by csv.DictReader and strptime, apart from this package.
    log = read_log(LANL, "lanl", 20)
    late = log.part((0.5, 1))
    hours = np.diff(late.times_s) / 3600
    gaps = hours[hours > 0]

    assert (len(log), len(late), len(gaps)) == (2478, 687, 669)
    assert np.mean(gaps) == pytest.approx(24.2, abs=0.05)
    assert np.median(gaps) == pytest.approx(12.9, abs=0.05)


@needs_lanl
def test_an_unknown_system_of_the_real_data():
    error = error_of(read_lanl, LANL, 99)

    assert error == f"{LANL}: has no failures of system 99; it has 3, 4, 5, 6, 8, 18, 20"


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


def test_windows_that_meet_share_no_failure_and_lose_none():
    log = log_of(0.0, 50.0, 50.0, 100.0)

    first, second = log.part((0, 0.5)), log.part((0.5, 1))

    assert first.nodes.tolist() == [0]
    assert second.nodes.tolist() == [1, 2, 3]
    assert first.span_s + second.span_s == log.span_s


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
