"""All pictures of the gallery, by name."""

from typing import Final

from cprsim.basics.schema import nearest
from cprsim.errors import UsageError
from cprsim.gallery import (
    accuracy,
    answer,
    ecrm,
    fleet_fits,
    interval,
    ladder,
    logs,
    phase,
    predicted,
    runs,
    scaling,
    sensitivity,
    tradeoff,
)
from cprsim.gallery.picture import Picture

#: In the order in which they are listed.
PICTURES: Final[dict[str, Picture]] = {
    picture.name: picture
    for picture in (
        logs.SURVIVAL,
        logs.MTBF,
        runs.FLEET,
        fleet_fits.PICTURE,
        runs.BREAKDOWN,
        runs.PRODUCTION,
        runs.CAUSES,
        ladder.PICTURE,
        answer.ANSWER,
        answer.PARETO,
        answer.ROBUST,
        scaling.PICTURE,
        sensitivity.PICTURE,
        interval.PICTURE,
        tradeoff.TRADEOFF,
        tradeoff.ROWS,
        phase.PICTURE,
        ecrm.OVERHEAD,
        ecrm.RECOVERY,
        accuracy.PLS,
        accuracy.POLICIES,
        predicted.PICTURE,
    )
}


def picture(name: str) -> Picture:
    """The picture of that name; `UsageError` if there is none."""
    if name not in PICTURES:
        raise UsageError(f"figure {name!r}: there is none of that name; {nearest(name, PICTURES)}")
    return PICTURES[name]
