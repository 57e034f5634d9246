"""How long nodes are down: from a failure to the repair that ends the outage."""

import math
from typing import NamedTuple

import numpy as np

from cprsim.failures.logs.log import FailureLog
from cprsim.survival.sample import Sample


class RepairTimes(NamedTuple):
    """Outages of nodes, each once, however many failures fell into it.

    `sample`: how long they lasted, right-censored where one is still going on when the watch ends.
    `unknown`: outages left out, as the log doesn't say when they ended. `at_once`: left out, as
    they lasted 0 s.
    """

    sample: Sample
    unknown: int
    at_once: int


def repair_times(log: FailureLog) -> RepairTimes | None:
    """Outages of a log; None where it has no repairs, or none that took any time."""
    if log.repaired_s is None:
        return None
    until_s = log.until_s
    lasted, observed = list[float](), list[bool]()
    unknown = at_once = 0
    found = _merged(log)
    # Of a log that lacks ends in its midst those at its end are no more known.
    is_complete = not any(math.isnan(ended_s) for _, ended_s, is_last in found if not is_last)
    for began_s, ended_s, _ in found:
        if math.isnan(ended_s):
            if not is_complete:
                unknown += 1
            elif until_s > began_s:  # it is going on still
                lasted.append(until_s - began_s)
                observed.append(False)
        elif ended_s > began_s:
            lasted.append(min(ended_s, until_s) - began_s)
            observed.append(ended_s <= until_s)
        else:
            at_once += 1
    if not any(observed):
        return None
    kept = np.array(lasted) > 0
    return RepairTimes(Sample(np.array(lasted)[kept], np.array(observed)[kept]), unknown, at_once)


def _merged(log: FailureLog) -> list[tuple[float, float, bool]]:
    """When each outage began and ended, nan if unknown, and whether it is the last of its node.

    Outages of a node that overlap or touch are one; one without an end ends at the next failure.
    """
    assert log.repaired_s is not None
    found = list[tuple[float, float, bool]]()
    order = np.lexsort((log.times_s, log.machines))
    machines, times = log.machines[order].tolist(), log.times_s[order].tolist()
    repaired = log.repaired_s[order].tolist()
    node = None
    for machine, at_s, until_s in zip(machines, times, repaired, strict=True):
        if machine == node and at_s <= found[-1][1]:
            began_s, ended_s, _ = found[-1]
            ended_s = until_s if math.isnan(until_s) else max(ended_s, until_s)
            found[-1] = began_s, ended_s, True
            continue
        if machine == node:
            found[-1] = *found[-1][:2], False
        found.append((at_s, until_s, True))
        node = machine
    return found
