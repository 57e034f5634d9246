"""Files of durations."""

import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.errors import LogError
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import read_log


@given(st.lists(st.tuples(st.floats(0, allow_infinity=False), st.booleans()), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    path.write_text("".join(f"{duration!r},{int(not seen)}\n" for duration, seen in rows))

    found = read_intervals(path)
    assert [*zip(found.durations_s, found.observed, strict=True)] == rows


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
