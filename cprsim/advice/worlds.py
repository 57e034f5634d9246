"""How the choice holds elsewhere, as tables and as a picture."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from cprsim.advice.robustness import Robustness, World

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def levers(found: Robustness) -> pd.DataFrame:
    """A row a circumstance and factor: `lever` and what `World` has.

    `keeps` and `holds` are true where they may be; `sure`: whether that it holds, or not, is sure.
    Losses have 95 % intervals, `_low` to `_high`.
    """
    return pd.DataFrame(
        {"lever": lever.name, **_row(world, found)}
        for lever in found.levers
        for world in lever.worlds
    )


def grid(found: Robustness) -> pd.DataFrame:
    """A row a pair of factors, as `levers`; empty where there is no grid.

    `across` and `down` are the factors, `x` and `y` what they make.
    """
    if found.grid is None:
        return pd.DataFrame()
    across, down = found.grid.across.worlds, found.grid.down.worlds
    return pd.DataFrame(
        {
            "across": one.factor,
            "down": other.factor,
            "x": one.value,
            "y": other.value,
            **_row(world, found),
        }
        for other, row in zip(down, found.grid.worlds, strict=True)
        for one, world in zip(across, row, strict=True)
    )


def figure(found: Robustness, title: str = "") -> "Figure":
    """What the choice and the second lose where the job is another, and who is the least there."""
    from cprsim.figures.robust import robust  # noqa: PLC0415  (matplotlib is slow to import)

    names = () if found.grid is None else (found.grid.across.name, found.grid.down.name)
    choices = (found.choice, found.second)
    table, pairs = levers(found), grid(found)
    return robust(table, pairs, choices, found.within, names, found.systems, title, found.base)


def _row(world: World, found: Robustness) -> dict[str, Any]:
    holds = world.holds(found.within)
    return {
        "factor": world.factor,
        "value": world.value,
        "least": world.least or "",
        **world.loses.columns("loses"),
        **world.second_loses.columns("second_loses"),
        "keeps": world.keeps is not False,
        "holds": holds is not False,
        "sure": holds is not None,
    }
