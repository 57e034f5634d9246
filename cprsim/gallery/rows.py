"""`rows`: updates lost against the share of the rows that a save takes, under several skews."""

from pathlib import Path

from cprsim.estimates.row_loss import RowLosses, row_losses
from cprsim.gallery.picture import Picture
from cprsim.scenario import load_scenario


def losses(source: Path) -> RowLosses:
    """What the CPR policies of a scenario lose of its rows."""
    return row_losses(load_scenario(source))


PICTURE = Picture(
    "rows",
    "updates lost against the share of rows that a save takes, under several skews",
    "scenario",
    "criteo-kaggle.toml",
    losses,
    RowLosses.figure,
)
