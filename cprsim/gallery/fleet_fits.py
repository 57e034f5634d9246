"""`fleet-ranges`: what is predicted of a fleet, over all sets of its numbers that fit."""

import pandas as pd

from cprsim.errors import UsageError
from cprsim.gallery.picture import Picture, PictureSource, Titled, drawn_by

_OF = ("set", "policy", "removed", "removed_retrained", "overhead")
_COLUMNS = [*_OF, *(f"overhead_p{each}" for each in (50, 75, 90, 95, 99))]


def _prepare(source: PictureSource) -> Titled:
    try:
        table = pd.read_csv(source.path)[_COLUMNS]
    except (OSError, ValueError, KeyError) as error:
        said = error.strerror if isinstance(error, OSError) else "is not such a file"
        raise UsageError(
            f"{source.path}: {said}; give a table (CSV) of fleets that fit, with columns "
            f"{', '.join(_COLUMNS)}"
        ) from None
    return Titled("Production fleet: what all fleets that fit predict", table)


PICTURE = Picture(
    "fleet-ranges",
    "what policies remove of a fleet's overhead and what they leave, over all fleets that fit what "
    "is known of it",
    "fits",
    "production-fleet-fits.csv",
    _prepare,
    drawn_by("fleet_ranges:fleet_ranges"),
)
