"""Tiers: where checkpoints lie, and how fast one gets there."""

from dataclasses import dataclass
from typing import Literal

#: What lies between a server and a tier: the network and the store, the network, or nothing.
Medium = Literal["store", "peers", "host"]


@dataclass(frozen=True, slots=True)
class Tier:
    """A place for checkpoints.

    `medium`: the remote `"store"`, the memory of `"peers"`, or the `"host"` itself, its memory or
    disk, which is reached over no card. `save_s`, `load_s`: measured, one save and one load of
    everything; else they follow from the bytes. `write`, `read`: what one node does at most, B/s;
    without them only the cards and the store limit it. `snapshot_s`: what a save in the background
    stops training for. `live`: its state is trained on, so that nothing that was saved to it
    can be had again: whole jobs can't return from a silent fault to it.
    """

    name: str
    medium: Medium = "store"
    save_s: float | None = None
    load_s: float | None = None
    write: float | None = None
    read: float | None = None
    snapshot_s: float = 0.0
    live: bool = False

    @property
    def keeps_older(self) -> bool:
        """Return whether checkpoints before its last are kept; memory has room for one."""
        return self.medium == "store"


#: The remote checkpoint store, with the costs of the scenario.
REMOTE = Tier("remote")
