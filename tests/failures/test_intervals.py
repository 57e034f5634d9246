"""Files of durations."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cprsim.errors import LogError
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import read_log


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


def test_a_header_stands_at_the_top_only(tmp_path):
    path = tmp_path / "times.txt"
    path.write_text("5\nduration_s\n")

    with pytest.raises(LogError, match=r"times\.txt:2: 'duration_s' is not a duration"):
        read_intervals(path)


@given(st.lists(st.tuples(st.floats(0, allow_infinity=False), st.booleans()), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    path.write_text("".join(f"{duration!r},{int(not seen)}\n" for duration, seen in rows))

    assert rows_of(path) == rows


def test_durations_are_no_failures_of_nodes(tmp_path):
    with pytest.raises(LogError) as caught:
        read_log(tmp_path / "times.txt", "intervals")

    assert str(caught.value) == (
        "reader 'intervals' holds durations, not failures of nodes; "
        "fit them with `cprsim fit --reader intervals`"
    )
