"""Work that moves over links: a save, a load, training itself, or a wait of a measured length.

A transfer is a value. `uncontended_s` says how long it takes alone; `cprsim.machine.fabric` says
how long it takes on shared links.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transfer:
    """An amount of work that moves at up to `cap` per second and draws on links while it does.

    One transfer describes a whole group of symmetric flows by one member. A save by n servers of
    b bytes each is `Transfer(b, uses=(("server.out", 1.0), ("store.write", n)))`: a member draws
    once on the card of its server, and the group n times on the store that all share. So what
    a transfer costs to simulate doesn't depend on n.

    Training is a transfer too: volume in useful seconds, cap 1, and each use in bytes per useful
    second. A measured cost is `Transfer(seconds, cap=1.0)`, which draws on no link.

    Attributes
    ----------
    volume
        Bytes that one member moves, or seconds for work that isn't counted in bytes; finite.
    cap
        The most volume per second that one member does by itself, whatever the links allow.
    uses
        Pairs (link, coefficient): units of the link's capacity taken per unit of volume rate.
    weight
        Share of a contended link relative to the others on it; 2 gets twice what 1 gets.
    unit
        Bytes that one member moves per unit of volume: 1 if volume is in bytes. For training, the
        bytes per useful second on the busiest of a node's cards. It makes shares of a link fair
        in bytes whatever the volume is measured in.

    Raises
    ------
    ValueError
        A number out of its range, a link named twice, or nothing at all that limits the rate.
    """

    volume: float
    cap: float = math.inf
    uses: tuple[tuple[str, float], ...] = ()
    weight: float = 1.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.volume < math.inf:
            raise _refused("volume", "finite and >= 0", self.volume)
        if not self.cap >= 0:  # negated, so that what is not a number is refused, too
            raise _refused("cap", ">= 0", self.cap)
        if not 0 < self.weight < math.inf:
            raise _refused("weight", "finite and > 0", self.weight)
        if not 0 < self.unit < math.inf:
            raise _refused("unit", "finite and > 0", self.unit)
        for link, coefficient in self.uses:
            if not 0 <= coefficient < math.inf:
                raise _refused(f"use of {link}", "finite and >= 0", coefficient)
        if len(dict(self.uses)) < len(self.uses):
            raise ValueError(f"uses must name each link once, but got {self.uses}; add them up")
        # Seconds given without a cap would pass in no time at all, and nobody would notice.
        if self.volume and self.cap == math.inf and not self.uses:
            raise ValueError(
                f"a transfer of volume {self.volume} needs a link or a cap; "
                f"for a wait of {self.volume} seconds give cap=1.0"
            )


def uncontended_rate(transfer: Transfer, capacities: Mapping[str, float]) -> float:
    """Volume per second that `transfer` does with all its links to itself.

    Parameters
    ----------
    transfer
        What moves.
    capacities
        Capacity of every link, in the link's units per second (bytes/s); may be infinite.

    Raises
    ------
    ValueError
        `transfer` uses a link that `capacities` doesn't have.
    """
    rate = transfer.cap
    for link, coefficient in transfer.uses:
        if link not in capacities:
            known = ", ".join(sorted(capacities)) or "none"
            raise ValueError(f"unknown link {link!r}; known: {known}")
        if coefficient and capacities[link] / coefficient < rate:
            rate = capacities[link] / coefficient
    return rate


def uncontended_s(transfer: Transfer, capacities: Mapping[str, float]) -> float:
    """Seconds that `transfer` takes with all its links to itself: volume / rate, 0 for no volume.

    Infinite if its rate is 0. Parameters and errors as in `uncontended_rate`.
    """
    rate = uncontended_rate(transfer, capacities)
    if not transfer.volume:
        return 0.0
    return transfer.volume / rate if rate else math.inf


def _refused(name: str, condition: str, value: float) -> ValueError:
    return ValueError(f"{name} must be {condition}, but got {value}")
