"""Whether times of a log can be what they were taken for."""

from typing import Final

import numpy as np

from cprsim.basics.units import format_duration
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.window import day_of

#: Mean times between failures of a system beyond which its unit is in doubt, s.
SHORTEST_S: Final = 60.0
LONGEST_S: Final = 3.16e7
_FEWEST: Final = 10  # gaps of which the mean says anything
_EARLIEST_S: Final = 788_918_400.0  # 1995: no log is older that counts in numbers since 1970


def doubtful_mean(log: FailureLog, notation: str) -> str | None:
    """Return a sentence that doubts the unit of times that are numbers; None where it may be right.

    Parameters
    ----------
    log
        The log.
    notation
        What its times were taken for.
    """
    gaps = np.diff(np.unique(log.times_s))
    if len(gaps) < _FEWEST or notation.startswith("ISO"):
        return None
    mean_s = float(gaps.mean())
    early = log.epoch is not None and log.epoch.unix_s < _EARLIEST_S
    if SHORTEST_S <= mean_s <= LONGEST_S and not early:
        return None
    since = ""
    if early and log.epoch is not None:
        since = f" and begin on {day_of(max(log.epoch.unix_s, 0.0))}"
    return (
        f"Mean time between failures of {format_duration(mean_s)}: is the unit right? Times were "
        f"taken for {notation}{since}; --time-unit us, ms, s, min, h or d says what they are."
    )
