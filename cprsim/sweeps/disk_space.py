"""Whether there is a place for what a sweep would store, asked before it begins."""

import shutil
from pathlib import Path

from cprsim.basics.units import format_bytes
from cprsim.errors import UsageError
from cprsim.sweeps.layout import NAME
from cprsim.sweeps.rule import Rule

#: What a replication takes for each policy, packed: 15 to 30 bytes (docs/sweeps.md).
_REPLICATION_B = 15


def check_disk_space(folder: Path, points: int, policies: int, rule: Rule) -> None:
    """Raise `UsageError` where so many points can't all be stored in `folder`.

    With a half-width nobody knows beforehand how many replications there will be.
    """
    if rule.half_width is not None:
        return
    needed = points * policies * rule.replications * _REPLICATION_B
    room = _room(folder.absolute())
    if needed > room:
        raise UsageError(
            f"replications {rule.replications:,}: {points:,} points under {policies:,} policies "
            f"would take {format_bytes(needed)} or more in --out {folder}, which has room for "
            f"{format_bytes(room)}; ask for fewer, or say with --half-width when they are enough"
        )


def _room(folder: Path) -> int:
    """Bytes that are free there, and those that the sweep has already."""
    path = folder / NAME
    there = next(each for each in (folder, *folder.parents) if each.is_dir())
    return shutil.disk_usage(there).free + (path.stat().st_size if path.is_file() else 0)
