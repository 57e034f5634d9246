"""How long nodes are down: from a failure to the repair that ends the outage."""

import math
from typing import NamedTuple

import numpy as np

from cprsim.failures.logs.log import FailureLog
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
    until_s = log.until_s
    lasted, observed, kept = list[float](), list[bool](), list[int]()
    unknown = at_once = 0
    found = _merged(log)
    # Of a log that lacks ends in its midst those at its end are no more known.
    is_complete = not any(math.isnan(each.ended_s) for each in found if not each.is_last)
    for began_s, ended_s, _, row in found:
        if math.isnan(ended_s):
            if not is_complete:
                unknown += 1
            elif until_s > began_s:  # it is going on still
                lasted.append(until_s - began_s)
                observed.append(False)
                kept.append(row)
        elif ended_s > began_s:
            if until_s > began_s:
                lasted.append(min(ended_s, until_s) - began_s)
                observed.append(ended_s <= until_s)
                kept.append(row)
        else:
            at_once += 1
    if not any(observed):
        return None
    sample = Sample(np.array(lasted), np.array(observed))
    causes = None if log.causes is None else tuple(log.causes[row] for row in kept)
    return RepairTimes(sample, unknown, at_once, log.times_s[kept], causes)


class _Outage(NamedTuple):
    """When it began and ended, nan if unknown; whether it is its node's last; its first failure."""

    began_s: float
    ended_s: float
    is_last: bool
    row: int


def _merged(log: FailureLog) -> list[_Outage]:
    """The outages, node by node.

    Outages of a node that overlap or touch are one; one without an end ends at the next failure.
    """
    assert log.repaired_s is not None
    found = list[_Outage]()
    order = np.lexsort((log.times_s, log.machines))
    machines, times = log.machines[order].tolist(), log.times_s[order].tolist()
    repaired = log.repaired_s[order].tolist()
    node = None
    for row, machine, at_s, until_s in zip(order.tolist(), machines, times, repaired, strict=True):
        if machine == node and at_s <= found[-1].ended_s:
            ended_s = until_s if math.isnan(until_s) else max(found[-1].ended_s, until_s)
            found[-1] = found[-1]._replace(ended_s=ended_s)
            continue
        if machine == node:
            found[-1] = found[-1]._replace(is_last=False)
        found.append(_Outage(at_s, until_s, True, row))
        node = machine
    return found
