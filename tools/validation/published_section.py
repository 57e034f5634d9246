"""The section of docs/validation.md on published figures of systems, and docs/published.csv."""

from collections.abc import Sequence
from types import ModuleType
from typing import Final

from tools.paths import DOCS
from tools.tables import markdown, write_csv
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

#: CSV file of every figure; the page links it.
TABLE: Final = DOCS / "published.csv"

_TEXT = f"""\
{HEADING}

[published.csv](published.csv) has each published figure and the simulated one, or a note on how
else it is computed. [Reproduction](reproduction.md) explains the roles. The
[systems'](systems/README.md) pages say what their models leave out.

"""
_TITLES = {"meta": "full, at Meta's scale", "asynchronous": "async"}
_HEADS = ("system", "figure", "source", "role", "published", "computed", "distance", "note")
_ROLES = ("input", "calibrated", "prediction", "repeated")
_SUMMARY = ("system", *_ROLES, "prediction farthest off: published, computed")


def section() -> str:
    """Return the section, and write all rows into `TABLE`."""
    found = [cells for name in SYSTEMS for cells in table(name, rows(name))]
    write_csv(TABLE, _HEADS, found)
    return text(found)


def text(found: Sequence[Sequence[str]]) -> str:
    """Return the section, of all rows of `TABLE`."""
    systems = {cells[0]: None for cells in found}
    lines = [_summary_row(name, [each for each in found if each[0] == name]) for name in systems]
    return _TEXT + markdown(_SUMMARY, lines)


def rows(name: str) -> Sequence[Row]:
    """Compute the rows of one system."""
    found: Sequence[Row] = SYSTEMS[name].rows()
    return found


def table(name: str, found: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of one system's rows in `TABLE`."""
    system = _TITLES.get(name, name.replace("_", "-"))
    return [(system, *_cells(row)) for row in found]


def _cells(row: Row) -> tuple[str, ...]:
    distance = row.computed - row.published
    return (
        f"{row.quantity}, {row.unit}" if row.unit else row.quantity,
        row.source,
        row.role,
        f"{row.published:.4g}",
        f"{row.computed:.4g}",
        f"{distance:+.2g}" if abs(distance) > 1e-9 * abs(row.published) else "0",
        row.note,
    )


def _summary_row(name: str, found: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return a system's cells: its figures by role, and the worst of its predictions."""
    roles = [cells[3] for cells in found]
    predicted = [cells for cells in found if cells[3] == "prediction" and float(cells[4])]
    worst = "" if not predicted else "{1}: {4}, {5}".format(*max(predicted, key=_relative))
    return name, *(str(roles.count(role)) for role in _ROLES), worst


def _relative(cells: Sequence[str]) -> float:
    published, computed = float(cells[4]), float(cells[5])
    return abs(computed / published - 1)
