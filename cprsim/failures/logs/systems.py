"""Logs that hold several systems, of which one is to be chosen."""

from collections.abc import Mapping

from cprsim.basics.tabular import LogPath
from cprsim.basics.units import counted
from cprsim.errors import LogError

#: Why rows of a log that holds several systems are left out.
OTHERS = "rows of other systems"


def several(path: LogPath, failures: Mapping[int, int]) -> LogError:
    """That a log holds systems with so many failures each, and how to choose; for raising."""
    (first, count), *others = sorted(failures.items())
    listed = [
        f"{first} ({counted(count, 'failure')})",
        *(f"{each} ({n:,})" for each, n in others),
    ]
    return LogError(
        f"{path}: holds systems {', '.join(listed)}; choose one with --system "
        "(in a scenario: failures.system)"
    )
