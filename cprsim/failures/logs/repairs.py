"""How long nodes are down: from a failure to the repair that ends the outage."""

from typing import NamedTuple

import numpy as np

from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.outages import merged
from cprsim.survival.sample import Floats, Sample


class RepairTimes(NamedTuple):
    """Outages of nodes, each once, however many failures fell into it.

    `sample`: how long they lasted, right-censored where one is still going on when the watch ends.
    `unknown`: outages left out, as the log doesn't say when they ended. `at_once`: left out, as
    they lasted 0 s. `began_s`: when each of the sample began, shape (n,). `causes`: why, as the
    first failure of each has it; None where the log has no causes.
    """

    sample: Sample
    unknown: int
    at_once: int
    began_s: Floats
    causes: tuple[str | None, ...] | None


def repair_times(log: FailureLog) -> RepairTimes | None:
    """Outages of a log; None where it has no repairs, or none that took any time."""
    if log.repaired_s is None:
        return None
    rows, ends_s = merged(log.machines, log.times_s, log.repaired_s)
    until_s = log.left(log.machines[rows])
    began_s, untold = log.times_s[rows], np.isnan(ends_s)
    # Of a log that lacks ends in its midst those at its end are no more known.
    is_last = np.diff(log.machines[rows], append=-1) != 0
    is_complete = not (untold & ~is_last).any()
    at_once = ends_s <= began_s
    # Where an end is not told, the outage is going on still.
    kept = (until_s > began_s) & ~at_once & (is_complete | ~untold)
    lasted_s = np.fmin(ends_s, until_s)[kept] - began_s[kept]
    observed = ends_s[kept] <= until_s[kept]
    if not observed.any():
        return None
    return RepairTimes(
        sample=Sample(lasted_s, observed),
        unknown=0 if is_complete else int(untold.sum()),
        at_once=int(at_once.sum()),
        began_s=began_s[kept],
        causes=None if log.causes is None else tuple(log.causes[row] for row in rows[kept]),
    )
