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

    `volume`: bytes that one member moves, or seconds for work that isn't counted in bytes; finite.
    `cap`: the most volume per second that one member does by itself, whatever the links allow.
    `uses`: pairs (link, coefficient), units of the link's capacity taken per unit of volume rate.
    `weight`: share of a contended link relative to the others on it; 2 gets twice what 1 gets.
    `unit`: bytes that one member moves per unit of volume, 1 if volume is in bytes. For training,
    the bytes per useful second on the busiest of a node's cards. It makes shares of a link fair in
    bytes whatever the volume is measured in.
    """

    volume: float
    cap: float = math.inf
    uses: tuple[tuple[str, float], ...] = ()
    weight: float = 1.0
    unit: float = 1.0


def uncontended_rate(transfer: Transfer, capacities: Mapping[str, float]) -> float:
    """Volume per second that `transfer` does with all its links to itself.

    `capacities`: of every link, in the link's units per second (bytes/s); may be infinite.
    """
    rate = transfer.cap
    for link, coefficient in transfer.uses:
        if coefficient and capacities[link] / coefficient < rate:
            rate = capacities[link] / coefficient
    return rate


def uncontended_s(transfer: Transfer, capacities: Mapping[str, float]) -> float:
    """Seconds that `transfer` takes with all its links to itself: volume / rate, 0 for no volume.

    Infinite if its rate is 0. Parameters as in `uncontended_rate`.
    """
    rate = uncontended_rate(transfer, capacities)
    if not transfer.volume:
        return 0.0
    return transfer.volume / rate if rate else math.inf
