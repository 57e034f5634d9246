"""What this machine has, or what a container may use of it."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

from cprsim.basics.units import format_bytes
from cprsim.errors import UsageError

#: Control groups of Linux: which of them a process is in, and what they may use (cgroups(7)).
_OWN, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def memory() -> float:
    """Its memory, B; infinite where that can't be known."""
    try:
        machine = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        machine = math.inf
    limits = (*_limits("memory.max"), *_limits("memory.limit_in_bytes"))
    return min([machine, *(float(limit) for limit in limits if limit.isdecimal())])


def check_memory(needed: float, what: str) -> None:
    """Raise `UsageError` where something takes more, B, than there is."""
    if needed > memory():
        raise UsageError(
            f"{what} take {format_bytes(needed)} of memory, and this machine has "
            f"{format_bytes(memory())}; ask for fewer"
        )


def cores() -> int:
    """Cores that this process may use; of a part of one, all of it."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        usable = len(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    return min([usable, *map(math.ceil, _quotas())])


def _quotas() -> Iterator[float]:
    """Cores that control groups may use, of those that may not use all."""
    of_first = zip(_limits("cpu.cfs_quota_us"), _limits("cpu.cfs_period_us"), strict=True)
    for quota, period in (*of_first, *map(str.split, _limits("cpu.max"))):
        if quota.isdecimal():  # or "max", or -1
            yield int(quota) / int(period)


def _limits(name: str) -> Iterator[str]:
    """What a file of this name says in each control group that this process is in.

    In a container, those that are seen may start with the container's.
    """
    try:
        own = _OWN.read_text().splitlines()
    except OSError:  # no Linux
        return
    for line in own:
        _, controllers, group = line.split(":", 2)
        inner = Path(group.lstrip("/"))
        for each in (inner, *inner.parents):
            file = _GROUPS / controllers / each / name
            if file.is_file():
                yield file.read_text().strip()
