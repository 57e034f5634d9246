"""Cores and memory of this machine, or of the container."""

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
    return min([machine, *(float(word) for limit in limits for word in limit if word.isdecimal())])


def check_memory(needed: float, what: str) -> None:
    """Raise `UsageError` where something takes more, B, than there is."""
    if needed > memory():
        raise UsageError(
            f"{what} take {format_bytes(needed)} of memory, and this machine has "
            f"{format_bytes(memory())}; ask for fewer"
        )


def processors() -> int:
    """Cores that this process may be on, whatever others are on them."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores() -> int:
    """Cores that this process may use; of a part of one, all of it."""
    limits = (*_limits("cpu.max"), *_limits("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    quotas = [int(quota) / int(period) for quota, period in limits if quota.isdecimal()]
    return max(min([processors(), *map(math.ceil, quotas)]), 1)  # of others "max", or -1


def _limits(*names: str) -> Iterator[list[str]]:
    """The words of files of these names in each control group that this process is in.

    In a container, those that are seen may start with the container's.
    """
    try:
        own = os.fsdecode(_OWN.read_bytes()).splitlines()
    except OSError:  # no Linux
        return
    for line in own:
        _, controllers, group = line.split(":", 2)
        inner = Path(group.lstrip("/"))
        for controller in controllers.split(","):
            for each in (inner, *inner.parents):
                folder = _GROUPS / controller / each
                try:
                    yield [word for name in names for word in (folder / name).read_text().split()]
                except OSError:  # there is none, or others may not look
                    continue
