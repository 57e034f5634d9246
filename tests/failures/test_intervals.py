"""Files of durations."""

import gzip
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.errors import LogError
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import read_log
from cprsim.failures.logs.source import recognised
from cprsim.failures.logs.views import durations


def rows_of(path: Path) -> list[tuple[float, bool]]:
    intervals = read_intervals(path)
    return list(zip(intervals.durations_s.tolist(), intervals.observed.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("5\n1e3\n0\n", [(5.0, True), (1000.0, True), (0.0, True)]),
        ("24.2 h\n1.5min\n 2 d \n", [(87120.0, True), (90.0, True), (172800.0, True)]),
        ("5,1\n5 ,0\n5,\n5 h, TRUE\n", [(5.0, False), (5.0, True), (5.0, True), (18000.0, False)]),
        (
            "5 1\n5\t0\n5 h no\n5h yes\n",
            [(5.0, False), (5.0, True), (18000.0, True), (18000.0, False)],
        ),
        ("5 censored\n6 failed\n7,false\n", [(5.0, False), (6.0, True), (7.0, True)]),
        ("# hours\n\nduration_s\n5\n\n# 6\n7", [(5.0, True), (7.0, True)]),
        ("\ufeffduration_s,censored\r\n5,1\r\n", [(5.0, False)]),
        ("Duration_s, Censored\n5,0\n", [(5.0, True)]),
        ("duration_s censored\n5 0\n", [(5.0, True)]),
    ],
)
def test_a_duration_is_seconds_or_has_a_unit_and_may_be_censored(tmp_path, text, rows):
    path = tmp_path / "times.txt"
    path.write_bytes(text.encode())

    assert rows_of(path) == rows
    assert read_intervals(path).dropped == {}


def test_lines_without_a_duration_are_counted(tmp_path):
    path = tmp_path / "times.csv.gz"
    path.write_bytes(gzip.compress(b"duration_s,censored\n5,1\n,1\n,0\n"))

    assert rows_of(path) == [(5.0, False)]
    assert read_intervals(path).dropped == {"lines without a duration": 2}


@given(st.lists(st.tuples(st.floats(0, allow_infinity=False), st.booleans()), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    path.write_text("".join(f"{duration!r},{int(not seen)}\n" for duration, seen in rows))

    assert rows_of(path) == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("part,time,dead\na,5,TRUE\n\nb,7,FALSE\n", [(5.0, True), (7.0, False)]),
        ("Life;Censored;part\n5 h;1;a\n7;no;b\n", [(18000.0, False), (7.0, True)]),
        ("duration\tevent_observed\n5\t1\n", [(5.0, True)]),
        ("time,node,observed\n,3,0\n5,3,yes\n", [(5.0, True)]),
    ],
)
def test_a_table_of_lives_is_known_by_how_they_ended(tmp_path, text, rows):
    path = tmp_path / "lives.csv"
    path.write_text(text)

    assert recognised(path) == "intervals"
    assert rows_of(path) == rows
    assert read_intervals(path).of_nodes


@pytest.mark.parametrize(
    "text",
    [
        "time,node\n5,1\n",
        "time_s,node,dead\n5,1,1\n",
        "time,node,dead\n2026-05-03,1,1\n",
        "time,node,censored_by\n5,1,1\n",
    ],
)
def test_a_table_of_failures_is_none_of_lives(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text)

    assert recognised(path) == "csv"


def test_a_law_of_lives_is_one_of_nodes(tmp_path):
    """Of exponential lives cut short at their mean, the mean is time per death."""
    rng, mean_s = np.random.default_rng(3), 1e6
    lives = rng.exponential(mean_s, 4000)
    path = tmp_path / "lives.csv"
    rows = [f"{min(life, mean_s)!r},{life <= mean_s}\n" for life in lives.tolist()]
    path.write_text("time,dead\n" + "".join(rows))

    found = cprsim.fit(path)
    block = tomllib.loads(found.toml())["failures"]

    assert found.document()["view"] == "uptime"
    assert (block["per"], block["ages"]) == ("node", "stationary")
    # 63 % died: the error of a rate is 1 / sqrt(deaths) of it
    assert found.best.law.expected_s == pytest.approx(mean_s, rel=5 / np.sqrt(0.63 * 4000))
    assert found.notes[-3:] == [
        "Read as intervals, which it looks like; else give --reader.",
        "A table of lives, not of failures by time: 'time' (seconds) is how long each node or "
        "part lived, 'dead' whether it died.",
        "Read 4,000 lines, kept all of them.",
    ]


def test_durations_are_no_failures_of_nodes(tmp_path):
    with pytest.raises(LogError) as caught:
        read_log(tmp_path / "times.txt", "intervals")

    assert str(caught.value) == (
        "reader 'intervals' holds durations, not failures of nodes; "
        "fit them with `cprsim fit --reader intervals`"
    )


def test_lives_may_come_into_sight_late(tmp_path):
    """The age counts in every estimator; what was over by then is left out and counted."""
    path = tmp_path / "parts.csv"
    path.write_text("part,entry_h,T,E\na,0,3 h,1\nb,1,3 h,0\nc,4,3 h,1\nd,,3 h,1\ne,3,3 h,0\n")

    read = read_intervals(path)
    assert read.entered_s.tolist() == [0.0, 3600.0]
    assert read.durations_s.tolist() == [10800.0, 10800.0]
    assert read.dropped == {
        "lives that were over before they were watched": 2,
        "lines without the age from which a life was watched": 1,
    }
    assert "'entry_h' is the age from which each was watched" in read.notes[0]
    assert durations(read).sample.entered_s.tolist() == [0.0, 3600.0]


def test_a_law_of_late_lives_is_not_one_of_the_longest(tmp_path):
    """Of exponential lives of 100 h that are seen from an age on, however long they last."""
    rng = np.random.default_rng(1)
    entered, left = rng.uniform(0, 300, 400), rng.exponential(100, 400)
    ended = left < 80
    path = tmp_path / "parts.csv"
    rows = zip(entered, entered + np.minimum(left, 80), ended, strict=True)
    path.write_text("entry_h,T_h,E\n" + "".join(f"{a},{b},{int(c)}\n" for a, b, c in rows))

    (found,) = (each for each in cprsim.fit(path).fits if each.law.distribution == "exponential")
    low, high = found.mean_interval_s
    assert low < 360_000 < high
