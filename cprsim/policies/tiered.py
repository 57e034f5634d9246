"""Tiers of checkpoints: each failure returns to the nearest one that survived it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cprsim import units
from cprsim.analytic.expected import kinds
from cprsim.contract import (
    REMOTE,
    Context,
    Controller,
    Interval,
    Loss,
    Plan,
    Policy,
    Recover,
    Save,
    Schedule,
    Tier,
)
from cprsim.policies.asynchronous import background_interval_s
from cprsim.policies.chains import ChainController
from cprsim.policies.full import checkpoint_interval_s
from cprsim.policies.peer_memory import Groups
from cprsim.schema import Rate, Seconds, Section
from cprsim.tiers import Medium

_MEDIA: dict[str, Medium] = {"local": "host", "peer": "peers", "remote": "store"}
#: Saves from one base to the next where differences are saved; assumed.
_BASE_EVERY = 10


class Place(Section):
    """One tier: how often it is saved to, and what that takes.

    `save`, `load`: measured; or `write`, `read`: what one node does at most. Without either, the
    remote tier costs what the scenario says, and the peers' memory what the network cards allow.
    `differential`: share of the bytes that a difference writes; each `base_every`th save is whole.
    """

    interval: Interval = "optimal"
    save_s: Seconds | None = Field(None, alias="save")
    load_s: Seconds | None = Field(None, alias="load")
    write: Rate | None = None
    read: Rate | None = None
    blocking: bool = True
    snapshot_s: Seconds | None = Field(None, alias="snapshot")
    differential: Annotated[float, Field(gt=0, le=1)] | None = None
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
    """The memory of peers: `copies` of each shard's checkpoint, its own host's included."""

    copies: Annotated[int, Field(ge=2)] = 2


@dataclass(frozen=True)
class NearestSurvivor:
    """The whole job returns to the nearest of `tiers` that the failure has left.

    The end of a process leaves all memory. A lost server takes its local tier with it, and that of
    the peers where no host with a copy is left (see `Groups`). A failure of the cluster leaves the
    remote store alone. Without that, what is left is the start of the job.
    """

    tiers: tuple[str, ...]
    groups: Groups

    def __call__(self, loss: Loss) -> Recover:
        """Answer `loss`."""
        survivors = (tier for tier in self.tiers if self._survives(tier, loss))
        return Recover("all", source=next(survivors, REMOTE.name))

    def _survives(self, tier: str, loss: Loss) -> bool:
        if tier == "remote":
            return True
        if loss.severity == "cluster":
            return False
        if loss.severity == "process" or not loss.servers:
            return True
        return tier == "peer" and not self.groups.lost(loss.servers)


@dataclass(frozen=True, slots=True)
class _ChainedPlan(Plan):
    """`chains`: of each schedule, a base and the differences that follow it."""

    chains: tuple[tuple[Save, ...], ...] = ()

    def start(self) -> Controller:
        return ChainController(self.schedules, self.recover, self.chains)


class Tiered(Policy):
    """Checkpoints in tiers matched to kinds of failure (TierCheck 2026; SCR, Moody et al. SC'10).

    `local`: the hosts' memory or disks, `peer`: the memory of other hosts, `remote`: the store.
    The whole job returns to the nearest tier that the failure has left (see `NearestSurvivor`). A
    blocking save to a tier serves the nearer ones as well. Blocking saves of everything to two
    tiers are exactly the pattern of `cprsim.closed_form.two_level`.

    `interval = "optimal"`: Young's rule tier by tier, sqrt(2 C_l / lambda_l), with the rate of the
    failures that return to that tier; in all, sum_l sqrt(2 lambda_l C_l) to first order. A nearer
    tier that comes out rarer than a further one has no saves of its own.

    Measured: nothing by default; all costs are the scenario's. Assumed: a base every 10 saves
    where differences are saved.
    """

    system: Literal["tiered"]
    local: Place | None = None
    peer: Peers | None = None
    remote: Place | None = None

    @property
    def places(self) -> dict[str, Place]:
        """The tiers that it saves to, nearest first."""
        given = {"local": self.local, "peer": self.peer, "remote": self.remote}
        return {name: place for name, place in given.items() if place is not None}

    @model_validator(mode="after")
    def _outwards(self) -> Self:
        if not self.places:
            raise ValueError('give at least one tier, e.g. remote = { interval = "30 min" }')
        nearer: tuple[str, float] | None = None
        for name, place in self.places.items():
            if isinstance(place.interval, str):
                continue
            if nearer is not None and place.interval < nearer[1]:
                shown = (units.format_exact(s, units.SECONDS) for s in (place.interval, nearer[1]))
                here, there = shown
                raise ValueError(
                    f"{name}.interval = {here!r} is shorter than {nearer[0]}.interval = {there!r}; "
                    "intervals must grow outwards"
                )
            nearer = name, place.interval
        return self

    def plan(self, context: Context) -> Plan:
        """Resolve each tier's interval; every cost must be known."""
        copies = self.peer.copies if self.peer else 1
        if copies > context.servers:
            raise ValueError(
                f"peer.copies = {copies} is more than the {context.servers} parameter servers; "
                "each copy of a shard needs a server of its own"
            )
        rule = NearestSurvivor(tuple(self.places), Groups(context.servers, copies))
        tiers = tuple(_tier(name, place, context) for name, place in self.places.items())
        chains = tuple(tuple(_chain(name, place)) for name, place in self.places.items())
        schedules = tuple(
            Schedule(
                _interval_s(tier, place, save, _share(tier.name, rule, context), context), save
            )
            for tier, place, save in zip(
                tiers, self.places.values(), map(_mean, chains), strict=True
            )
        )
        if self.remote is None:  # the start of the job is loaded from the store
            tiers += (REMOTE,)
        staged = self.remote is not None and not self.remote.blocking
        memory = (self.local is not None) + (copies if self.peer else 0) + staged
        if len(chains) == len(chains[0]) == 1:
            return Plan("full", schedules, rule, tiers, memory_overhead=float(memory))
        return _ChainedPlan(
            "full", schedules, rule, tiers, memory_overhead=float(memory), chains=chains
        )


def _tier(name: str, place: Place, context: Context) -> Tier:
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
        place.snapshot_s or 0.0,
    )


def _chain(name: str, place: Place) -> Iterator[Save]:
    """A base and the differences that follow it; to return to one reads all up to it."""
    # A measured save is of all copies; a derived one sends each on its own.
    sent = place.copies - 1.0 if isinstance(place, Peers) and place.save_s is None else 1.0
    share = 1.0 if place.differential is None else place.differential
    for link in range(place.links):
        writes = sent * share if link else sent
        yield Save(name, place.blocking, writes=writes, reads=1.0 + link * share)


def _mean(chain: tuple[Save, ...]) -> Save:
    """What a save of the chain writes and reads on average."""
    if len(chain) == 1:
        return chain[0]
    writes = math.fsum(save.writes for save in chain) / len(chain)
    reads = math.fsum(save.reads for save in chain) / len(chain)
    return chain[0]._replace(writes=writes, reads=reads)


def _share(tier: str, rule: NearestSurvivor, context: Context) -> float:
    """Share of the failures that return to that tier."""
    shares = [(rule(kind.loss).source, kind.share) for kind in kinds(context)]
    returning = math.fsum(share for source, share in shares if source == tier)
    return returning / math.fsum(share for _, share in shares) if returning else 0.0


def _interval_s(tier: Tier, place: Place, save: Save, share: float, context: Context) -> float:
    if not isinstance(place.interval, str):
        return place.interval
    mtbf_s = context.mtbf_s / share if share else math.inf
    save_s = context.costs.seconds(context.costs.save(tier, writes=save.writes))
    try:
        if place.blocking:
            return checkpoint_interval_s(place.interval, save_s, mtbf_s)
        return background_interval_s(place.interval, tier.snapshot_s, save_s, mtbf_s)
    except ValueError as error:
        raise ValueError(f"{tier.name}: {error}") from None
