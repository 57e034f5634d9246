"""Whether a log can be what it was taken for: its times, and its rows as a failure each."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from cprsim.basics.units import format_duration
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.window import day_of

#: Mean times between failures of a system beyond which its unit is in doubt, s.
SHORTEST_S: Final = 60.0
LONGEST_S: Final = 3.16e7
_AGAIN_S, _MANY = 60.0, 0.2
_FEWEST: Final = 10  # gaps of which the mean says anything
_EARLIEST_S: Final = 788_918_400.0  # 1995: no log is older that counts in numbers since 1970


def doubtful_mean(log: FailureLog, notation: str) -> Iterator[str]:
    """Yield a sentence that doubts the unit of times that are numbers, if it can't be right.

    Parameters
    ----------
    log
        The log.
    notation
        What its times were taken for.
    """
    gaps = np.diff(np.unique(log.times_s))
    if len(gaps) < _FEWEST or notation.startswith("ISO"):
        return
    mean_s = float(gaps.mean())
    early = log.epoch is not None and log.epoch.unix_s < _EARLIEST_S
    if SHORTEST_S <= mean_s <= LONGEST_S and not early:
        return
    since = ""
    if early and log.epoch is not None:
        since = f" and begin on {day_of(max(log.epoch.unix_s, 0.0))}"
    yield (
        f"Mean time between failures of {format_duration(mean_s)}: is the unit right? Times were "
        f"taken for {notation}{since}; --time-unit us, ms, s, min, h or d says what they are."
    )


def repeats(log: FailureLog) -> Iterator[str]:
    """Yield sentences on failures that may be told twice."""
    if not log.of_nodes:
        same = len(log) - len(np.unique(log.times_s))
        if same > _MANY * len(log):
            yield f"{same:,} rows have the time of another: --node-column names the nodes."
        return
    if log.repaired_s is not None:
        return
    order = np.lexsort((log.times_s, log.machines))
    apart_s = np.diff(log.times_s[order])
    near = (np.diff(log.machines[order]) == 0) & (apart_s > 0) & (apart_s <= _AGAIN_S)
    count = int(np.count_nonzero(near))
    if count > _MANY * len(log):
        yield (
            f"{count:,} failures follow one of the same node within a minute: if several monitors "
            'tell the same failure, give --coalesce "1 min".'
        )
