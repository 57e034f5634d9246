"""Places for checkpoints: the tiers of a scenario file, and the chains of saves to each."""

import math
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from cprsim.basics.schema import Part, Rate, Seconds, Section
from cprsim.contract import Context, Interval, Save, Tier
from cprsim.job.derived import OwnCost, snapshot
from cprsim.job.tiers import Medium

_MEDIA: dict[str, Medium] = {"local": "host", "peer": "peers", "remote": "store"}
#: Saves from one base to the next where differences are saved; assumed.
_BASE_EVERY = 10


class Place(Section):
    """One tier: how often it is saved to, and what that takes.

    `interval`: training from one save to the next, or `"optimal"`, Young's rule for this tier.
    `save`, `load`: what one takes, measured. `write`, `read`: in place of that, what one node does
    at most; without either, the remote tier costs what the scenario says, and the peers' memory
    what the network cards allow. `blocking`: whether training waits for a save. `snapshot`: how
    long training waits for a save that doesn't block; a server's part of the bytes over
    `cluster.memory_bandwidth` if not given. `differential`: share of the bytes that a
    difference writes. `base_every`: each save of that number is whole, where differences are saved.
    """

    interval: Interval = "optimal"
    save_s: Seconds | None = Field(None, alias="save")
    load_s: Seconds | None = Field(None, alias="load")
    write: Rate | None = None
    read: Rate | None = None
    blocking: bool = True
    snapshot_s: Seconds | None = Field(None, alias="snapshot")
    differential: Annotated[float, Field(gt=0, le=1), Part] | None = None
    base_every: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _keys_fit(self) -> Self:
        for measured, rate in (("save", "write"), ("load", "read")):
            if getattr(self, f"{measured}_s") is not None and getattr(self, rate) is not None:
                raise ValueError(f"give either {measured!r} or {rate!r}: each says what it takes")
        if self.blocking and self.snapshot_s is not None:
            raise ValueError("'snapshot' goes with blocking = false; set that, or leave it out")
        if self.base_every is not None and self.differential is None:
            raise ValueError("'base_every' goes with differential; give that, or leave it out")
        return self

    @property
    def links(self) -> int:
        """Saves from one base to the next."""
        return 1 if self.differential is None else self.base_every or _BASE_EVERY


class Peers(Place):
    """The memory of peers.

    `copies`: of each shard's checkpoint, that on its own host included.
    """

    copies: Annotated[int, Field(ge=2)] = 2


def snapshot_of(name: str, place: Place, context: Context) -> OwnCost | None:
    """Return what a save to that tier stalls training for; None where training waits for saves.

    On average over the saves from one base to the next.
    """
    if place.blocking:
        return None
    later = 1.0 if place.differential is None else place.differential
    share = (1.0 + (place.links - 1) * later) / place.links
    return snapshot(context.costs, place.snapshot_s, share, f"{name}.snapshot")


def tier_of(name: str, place: Place, context: Context, snapshot_s: float) -> Tier:
    """The tier of that name; its costs must be known."""
    costs = context.costs
    for measured, rate in (("save", "write"), ("load", "read")):
        if name == "remote" or getattr(place, f"{measured}_s") is not None:
            continue
        limited = name == "peer" and costs.cluster.nic is not None
        if getattr(place, rate) is None and not limited:
            way_out = ", or set cluster.nic" if name == "peer" else ""
            raise ValueError(
                f"{name} has no bandwidth: give its measured {measured!r}, or {rate!r}, "
                f"bytes per second of one node{way_out}"
            )
        if costs.model is None:
            raise ValueError(
                f"{name}: what a {measured} takes can't be derived without [model]; give that, or "
                f"the measured {measured!r}"
            )
    return Tier(
        name,
        _MEDIA[name],
        place.save_s,
        place.load_s,
        place.write,
        place.read,
        snapshot_s,
    )


def chain_of(name: str, place: Place) -> Iterator[Save]:
    """A base and the differences that follow it; to return to one reads all up to it."""
    # A measured save is of all copies; a derived one sends each on its own.
    sent = place.copies - 1.0 if isinstance(place, Peers) and place.save_s is None else 1.0
    share = 1.0 if place.differential is None else place.differential
    for link in range(place.links):
        writes = sent * share if link else sent
        yield Save(name, place.blocking, writes=writes, reads=1.0 + link * share)


def mean_save_of_chain(chain: tuple[Save, ...]) -> Save:
    """Return the mean share that a save of the chain writes, and reads."""
    if len(chain) == 1:
        return chain[0]
    writes = math.fsum(save.writes for save in chain) / len(chain)
    reads = math.fsum(save.reads for save in chain) / len(chain)
    return chain[0]._replace(writes=writes, reads=reads)
