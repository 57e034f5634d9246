"""The section of docs/validation.md with published figures of systems beside computed ones."""

from collections.abc import Sequence
from types import ModuleType
from typing import Final

from tools.validation.systems import (
    accepted_loss,
    asynchronous,
    check_n_run,
    ecrm,
    hot_swap,
    meta,
    partial_experts,
    peer_memory,
    replication,
    tiered,
)
from tools.validation.systems.row import Row

HEADING = "## What the systems publish"
_MODULES: Final[tuple[ModuleType, ...]] = (
    ecrm,
    check_n_run,
    asynchronous,
    peer_memory,
    hot_swap,
    tiered,
    partial_experts,
    accepted_loss,
    replication,
    meta,
)
#: In the order of the section, by the names of their modules.
SYSTEMS: Final = {module.__name__.rpartition(".")[2]: module for module in _MODULES}

_TEXT = f"""\
{HEADING}

Every figure below is computed by runs of the simulator unless its note says otherwise. *input*:
the figure was put into the scenario, so that getting it back proves nothing. *calibrated*: a
constant was fitted to it. *prediction*: it follows from inputs and calibrated constants of other
rows. *repeated*: by arithmetic it is the published figure of another row again, and counts there.
What each system is, and what its model leaves out, is in [systems/](systems/README.md).

"""
_TITLES = {"meta": "`full`, at Meta's scale"}
_HEADS = ("figure", "source", "role", "published", "computed", "distance", "note")


def section() -> str:
    """All systems."""
    return _TEXT + "\n".join(table(name, rows(name)) for name in SYSTEMS)


def rows(name: str) -> Sequence[Row]:
    """The rows of one system, computed."""
    found: Sequence[Row] = SYSTEMS[name].rows()
    return found


def table(name: str, found: Sequence[Row]) -> str:
    """The rows of one system under its heading."""
    system = name.replace("_", "-").replace("asynchronous", "async")
    lines = [
        f"### {_TITLES.get(name, f'`{system}`')}\n",
        f"| {' | '.join(_HEADS)} |",
        f"|{' --- |' * len(_HEADS)}",
        *(line(row) for row in found),
    ]
    return "\n".join(lines) + "\n"


def line(row: Row) -> str:
    """One row of a table."""
    distance = row.computed - row.published
    cells = (
        f"{row.quantity}, {row.unit}" if row.unit else row.quantity,
        row.source,
        row.role,
        f"{row.published:.4g}",
        f"{row.computed:.4g}",
        f"{distance:+.2g}" if abs(distance) > 1e-9 * abs(row.published) else "0",
        row.note,
    )
    return f"| {' | '.join(cells)} |"
