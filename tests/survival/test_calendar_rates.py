"""Failures by the clock: what is called alike, what isn't, and counts by hand."""

import math
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from cprsim.survival.calendar_rates import CalendarRates, Cycle, calendar_rates

DAY_S = 86_400.0
HOUR_S = 3600.0
MONDAY = datetime(2024, 4, 1, tzinfo=UTC).timestamp()
LOGS = 300

Times = np.ndarray


def renewal(rng: np.random.Generator, shape: float, mean_s: float, days: float) -> Times:
    """Failures of a gamma renewal process that has long run, up to `days`."""
    gaps = rng.gamma(shape, mean_s / shape, int(days * DAY_S / mean_s * 1.5) + 250)
    times = np.cumsum(gaps) - rng.uniform(0, 100 * mean_s)
    return times[(times > 0) & (times < days * DAY_S)]


def in_bursts(rng: np.random.Generator, days: float) -> Times:
    """Bursts at random instants, of 8 failures in the mean that come within hours."""
    starts = renewal(rng, 1.0, 30 * HOUR_S, days)
    sizes = rng.geometric(1 / 8, len(starts))
    times = np.repeat(starts, sizes) + rng.exponential(3 * HOUR_S, sizes.sum())
    return np.sort(times[times < days * DAY_S])


def looked_at(times: Times, begins_s: float = MONDAY) -> CalendarRates:
    """As `fit` looks at a log: watched from the first failure to the last."""
    found = calendar_rates(begins_s + times, begins_s + times[0], begins_s + times[-1])
    assert found is not None
    return found


LIKE: dict[str, Callable[[np.random.Generator], Times]] = {
    "renewal-0.6": lambda rng: renewal(rng, 0.6, 20 * HOUR_S, 300),
    "renewal-0.6-short": lambda rng: renewal(rng, 0.6, 6 * HOUR_S, 60),
    "bursts": lambda rng: in_bursts(rng, 250),
}


@pytest.mark.parametrize("case", LIKE)
def test_logs_that_know_no_clock_are_called_alike_as_often_as_they_should(case: str) -> None:
    """5 % have p < 0.05: of 300 logs 15, within four standard errors, 15.1."""
    rng, low, sure = np.random.default_rng(1), {"hours": 0, "weekdays": 0}, 0
    for _ in range(LOGS):
        found = looked_at(LIKE[case](rng), MONDAY + rng.uniform(0, 7 * DAY_S))
        for name in low:
            cycle: Cycle = getattr(found, name)
            low[name] += cycle.p is not None and cycle.p < 0.05
            sure += cycle.is_sure
    error = math.sqrt(LOGS * 0.05 * 0.95)
    assert abs(low["hours"] - 0.05 * LOGS) < 4 * error
    if case == "renewal-0.6-short":  # of eight weeks there is no telling
        assert low["weekdays"] == 0
    else:
        assert abs(low["weekdays"] - 0.05 * LOGS) < 4 * error
    # Of 600 at 0.27 % 1.6; 8 is beyond four standard errors.
    assert sure <= 8


def test_pearsons_statistic_would_take_bursts_for_a_pattern() -> None:
    """What the test is for: of logs in bursts, most have a chi-square beyond its 95 % point."""
    from scipy.stats import chisquare

    rng = np.random.default_rng(2)
    naive = [chisquare(looked_at(in_bursts(rng, 250)).hours.counts).pvalue for _ in range(50)]
    assert np.mean(np.array(naive) < 0.05) > 0.6


def working_hours(rng: np.random.Generator, days: float) -> Times:
    """Twice the rate from 9:00 to 17:00."""
    times = renewal(rng, 0.6, 4 * HOUR_S, days)
    hour = times % DAY_S / HOUR_S
    return times[rng.random(len(times)) < np.where((hour >= 9) & (hour < 17), 1.0, 0.5)]


def test_twice_the_rate_in_working_hours_is_found() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        hours = looked_at(working_hours(rng, 365)).hours
        assert hours.is_sure
        first, last, ratio = hours.busiest
        assert abs(first - 9) <= 2
        assert abs(last - 16) <= 2
        assert 1.5 < ratio < 2.9


def test_what_runs_each_night_is_found() -> None:
    """One failure in five is within ten minutes of 3:05, which two waves a day can't show well."""
    rng = np.random.default_rng(4)
    days = np.arange(200)
    nightly = days[rng.random(200) < 0.4] * DAY_S + 3 * HOUR_S + 5 * 60
    nightly = nightly + rng.uniform(-300, 600, len(nightly))
    hours = looked_at(np.sort(np.concatenate([nightly, renewal(rng, 1.0, 15 * HOUR_S, 200)]))).hours
    assert hours.is_sure
    assert hours.busiest[:2] == (3, 3)


def test_weekdays_are_found_and_a_stretch_may_go_on_at_the_weeks_beginning() -> None:
    """Three times the rate from Sunday to Tuesday."""
    rng = np.random.default_rng(5)
    times = renewal(rng, 1.0, 4 * HOUR_S, 400)
    kept = np.isin(times // DAY_S % 7, [6, 0, 1]) | (rng.random(len(times)) < 1 / 3)
    found = looked_at(times[kept])
    assert found.weekdays.is_sure
    assert found.weekdays.busiest[:2] == (6, 1)
    assert found.weekdays.busiest[2] == pytest.approx(3, rel=0.2)
    assert not found.hours.is_sure


def test_counts_and_time_watched_by_hand() -> None:
    """From Tuesday 22:30 to Thursday 1:00; two failures at one instant are one."""
    start = MONDAY + DAY_S + 22.5 * HOUR_S
    end = MONDAY + 3 * DAY_S + HOUR_S
    times = [start + 60, start + 60, start + HOUR_S, end - 1]
    found = calendar_rates(np.array(times), start, end)
    assert found is not None
    days = found.weekdays
    assert days.counts.tolist() == [0, 2, 0, 1, 0, 0, 0]
    assert (days.watched_s / HOUR_S).tolist() == [0, 1.5, 24, 1, 0, 0, 0]
    hours = found.hours
    assert {i: n for i, n in enumerate(hours.counts) if n} == {22: 1, 23: 1, 0: 1}
    # 22:00 to 23:00 half an hour on Tuesday and all of Wednesday's; midnight to 1:00 twice.
    watched = (hours.watched_s / HOUR_S).tolist()
    assert watched == [2, *[1] * 21, 1.5, 2]
    assert (hours.p, days.p, hours.is_sure) == (None, None, False)
    assert np.isnan(days.rate).tolist() == [True, False, False, False, True, True, True]
    assert days.mean_rate * 26.5 * HOUR_S == pytest.approx(3)
    low, high = hours.band
    # Garwood's interval of one event, from tables: 0.0253 to 5.572.
    assert low[22] * 1.5 * HOUR_S == pytest.approx(0.0253, abs=1e-4)
    assert high[22] * 1.5 * HOUR_S == pytest.approx(5.572, abs=1e-3)


def test_no_time_is_no_calendar() -> None:
    assert calendar_rates(np.array([5.0]), 5.0, 5.0) is None
