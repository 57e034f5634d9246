"""Logs of failures that lack something are refused in a line that says so."""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from cprsim.errors import LogError
from cprsim.failures.logs import views
from cprsim.failures.logs.coincidence import rack_bursts
from cprsim.failures.logs.options import parse_window
from cprsim.fitting.mtbf import measured_mtbf
from tests.failures.logs_by_hand import log_of
from tests.failures.test_views import constant_rate_log

NO_GAP = "no two failures lie apart in time: there is no gap to fit a law to"
START = datetime(2025, 3, 1, 6, tzinfo=UTC).timestamp()
#: What is asked of a log, and the error.
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: views.gaps(log_of([5])), NO_GAP),
    (lambda: views.gaps(log_of([5, 5, 5])), NO_GAP),
    (
        lambda: views.job_gaps(constant_rate_log(100, 1000), 1),
        "a job on 1 of 100 nodes fails 10.0 times in this log, too few for its gaps (20 are "
        "needed); take more nodes, or the view uptime",
    ),
    (
        lambda: views.uptimes(log_of([5, 9], [0, 1], repaired=[np.nan, 9])),
        "the log shows no uptime: no node fails again, or is watched, after a repair",
    ),
    (
        lambda: log_of([0, 1], [0, 1]).without_worst(2),
        "exclude_worst is 2, and 2 nodes fail in the log; leave out fewer",
    ),
    (
        lambda: rack_bursts(log_of([5, 5], [0, 1], racks=[0, 0]), 5.0),
        "the failures all strike at one instant: there is no rate to estimate",
    ),
    (
        lambda: measured_mtbf(log_of([1, 1, 1], [0, 1, 2])),
        "the failures all strike at one instant: there is no time between them",
    ),
    (lambda: log_of([0, 1, 2, 100]).part((0.5, 0.6)), "window 0.5:0.6 holds no failure"),
    (
        lambda: log_of([0, 9 * 86_400], unix_s=START).part(parse_window("2025-03-03:2025-03-05")),
        "window 2025-03-03:2025-03-05 holds no failure",
    ),
    (
        lambda: log_of([0, 9 * 86_400]).part(parse_window("2025-03-02:")),
        "window 2025-03-02: is of dates, but the log doesn't tell the date of its times; take "
        "shares of it, e.g. 0.5:1",
    ),
    (lambda: log_of([2, 1], [0, 0], span=2.0), "times_s of a failure log must be in order"),
    *(
        (each, "the columns of a failure log must have the same length")
        for each in (
            lambda: log_of([1, 2], [0]),
            lambda: log_of([1, 2], causes=("a",)),
            lambda: log_of([1, 2], severities=("node",)),
        )
    ),
]


@pytest.mark.parametrize(("ask", "error"), REFUSED, ids=[error[:40] for _, error in REFUSED])
def test_what_a_log_does_not_show_is_refused(ask, error):
    with pytest.raises(LogError) as caught:
        ask()
    assert str(caught.value) == error
