"""What this machine has."""

import os

from cprsim.basics.units import format_bytes
from cprsim.errors import UsageError


def memory() -> float:
    """Its memory, B; infinite where that can't be known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return float("inf")


def check_memory(needed: float, what: str) -> None:
    """Raise `UsageError` where something takes more, B, than there is."""
    if needed > memory():
        raise UsageError(
            f"{what} take {format_bytes(needed)} of memory, and this machine has "
            f"{format_bytes(memory())}; ask for fewer"
        )


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
