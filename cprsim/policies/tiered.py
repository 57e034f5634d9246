"""Tiers of checkpoints: each failure returns to the nearest one that survived it."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from cprsim.basics import units
from cprsim.basics.schema import Part, Rate, Seconds, Section
from cprsim.contract.actions import Recover, Save
from cprsim.contract.answers import Answers, Case, Groups
from cprsim.contract.failure_kinds import kinds
from cprsim.contract.plan import Chains, Plan, Schedule
from cprsim.contract.policy import Context, Interval, Policy, Setting
from cprsim.job.derived import OwnCost, snapshot
from cprsim.job.tiers import REMOTE, Medium, Tier
from cprsim.policies.asynchronous import background_interval_s
from cprsim.policies.full import checkpoint_interval_s

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

    @property
    def mean_share(self) -> float:
        """Share of the bytes that a save writes, on average from one base to the next."""
        later = 1.0 if self.differential is None else self.differential
        return (1.0 + (self.links - 1) * later) / self.links


class Peers(Place):
    """The memory of peers.

    `copies`: of each shard's checkpoint, that on its own host included.
    """

    copies: Annotated[int, Field(ge=2)] = 2


def nearest_survivor(tiers: tuple[str, ...], groups: Groups) -> Answers:
    """The whole job returns to the nearest of `tiers` that the failure has left.

    The end of a process leaves all memory. A lost server takes its local tier with it, and that of
    the peers where no host with a copy is left (see `Groups`). A failure of the cluster leaves the
    remote store alone. Without that, what is left is the start of the job.
    """
    stored, nearest = Recover("all"), Recover("all", source=tiers[0])
    cases = [
        Case(stored, severities=("cluster",)),
        Case(nearest, severities=("process",)),
        Case(nearest, servers=(0, 0)),
    ]
    if "peer" in tiers:
        cases += [Case(stored, gone=groups), Case(Recover("all", source="peer"))]
    else:
        cases.append(Case(stored))
    return Answers(tuple(cases))


class Tiered(Policy):
    """Save often to near memory, rarely to the store; a failure takes the job to the nearest save.

    Source: TierCheck 2026; SCR (Moody et al., SC'10).

    `local`: the hosts' memory or disks, `peer`: the memory of other hosts, `remote`: the store.
    The whole job returns to the nearest tier that the failure has left (see `nearest_survivor`). A
    blocking save to a tier serves the nearer ones as well. Blocking saves of everything to two
    tiers are exactly the pattern of Moody et al. (SC'10) and Benoit et al. (2017).

    `interval = "optimal"`: Young's rule tier by tier, sqrt(2 C_l / lambda_l), with the rate of the
    failures that return to that tier; in all, sum_l sqrt(2 lambda_l C_l) to first order. A nearer
    tier that comes out rarer than a further one has no own saves.

    Measured: nothing by default; all costs are the scenario's. Derived: what a save in the
    background stalls training for. Assumed: a base every 10 saves where differences are saved.
    """

    system: Literal["tiered"]
    local: Annotated[Place, Field(examples=[{"interval": "5 min", "write": "2 GB/s"}])] | None = (
        None
    )
    peer: Annotated[Peers, Field(examples=[{"interval": "15 min", "copies": 2}])] | None = None
    remote: Annotated[Place, Field(examples=[{"interval": "4 h"}])] | None = None

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
            if isinstance(place.interval, str) or place.interval == math.inf:
                continue
            if nearer is not None and place.interval < nearer[1]:
                both_s = place.interval, nearer[1]
                here, there = (units.format_exact(each, units.SECONDS) for each in both_s)
                raise ValueError(
                    f"{name}.interval = {here!r} is shorter than {nearer[0]}.interval = {there!r}; "
                    "intervals must grow outwards"
                )
            nearer = name, place.interval
        return self

    @classmethod
    def first_tried(cls, context: Context) -> dict[str, Any]:
        """The store, and peers' memory where the cards are known; both in the background."""
        behind = {"blocking": False}
        known = context.servers > 1 and context.costs.cluster.nic is not None
        peer = {"peer": behind} if known and context.costs.model is not None else {}
        return {**peer, "remote": behind}

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """The interval of each tier."""
        planned = self.plan(context).schedules
        return tuple(
            self.span(f"{schedule.save.tier}.interval", schedule.interval_s, context)
            for schedule in planned
        )

    def plan(self, context: Context) -> Plan:
        """Resolve each tier's interval; every cost must be known."""
        copies = self.peer.copies if self.peer else 1
        if copies > context.servers:
            raise ValueError(
                f"peer.copies = {copies} is more than the {context.servers} parameter servers; "
                "each copy of a shard needs its own server"
            )
        rule = nearest_survivor(tuple(self.places), Groups(context.servers, copies))
        tiers, schedules, chains, own_costs = [], list[Schedule](), [], list[OwnCost]()
        for name, place in self.places.items():
            stall_s = 0.0
            if not place.blocking:
                copied = snapshot(
                    context.costs, place.snapshot_s, place.mean_share, f"{name}.snapshot"
                )
                own_costs.append(copied)
                stall_s = copied.value
            tier, chain = _tier_of(name, place, context, stall_s), tuple(_chain_of(name, place))
            save, share = _mean_of(chain), _share(name, rule, context)
            tiers.append(tier)
            chains.append(chain)
            save_s = self._save_s(context, tier, writes=save.writes)
            mtbf_s = context.mtbf_s / share if share else math.inf
            schedules.append(Schedule(_interval_s(tier, place, save_s, mtbf_s), save))
        if self.remote is None:  # the start of the job is loaded from the store
            tiers.append(REMOTE)
        # What is saved to the store in the background lies in memory until then.
        staged = self.remote is not None and not self.remote.blocking
        memory = float((self.local is not None) + (copies if self.peer else 0) + staged)
        return Plan(
            "full",
            tuple(schedules),
            rule,
            tuple(tiers),
            sequence=None if len(chains) == len(chains[0]) == 1 else Chains(tuple(chains)),
            memory_overhead=memory,
            own_costs=tuple(own_costs),
        )


def _share(tier: str, rule: Answers, context: Context) -> float:
    """Share of the failures that return to that tier."""
    shares = [(rule(kind.loss).source, kind.share) for kind in kinds(context)]
    returning = math.fsum(share for source, share in shares if source == tier)
    return returning / math.fsum(share for _, share in shares) if returning else 0.0


def _interval_s(tier: Tier, place: Place, save_s: float, mtbf_s: float) -> float:
    """Its interval for a save that takes so long; `mtbf_s`: between failures that return to it."""
    if not isinstance(place.interval, str):
        return place.interval
    try:
        if place.blocking:
            return checkpoint_interval_s(place.interval, save_s, mtbf_s)
        return background_interval_s(place.interval, tier.snapshot_s, save_s, mtbf_s)
    except ValueError as error:
        raise ValueError(f"{tier.name}: {error}") from None


def _tier_of(name: str, place: Place, context: Context, snapshot_s: float) -> Tier:
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
    measured_s = place.save_s, place.load_s
    return Tier(name, _MEDIA[name], *measured_s, place.write, place.read, snapshot_s)


def _chain_of(name: str, place: Place) -> Iterator[Save]:
    """A base and the differences that follow it; to return to one reads all up to it."""
    # A measured save is of all copies; a derived one sends each on its own.
    sent = place.copies - 1.0 if isinstance(place, Peers) and place.save_s is None else 1.0
    share = 1.0 if place.differential is None else place.differential
    for link in range(place.links):
        writes = sent * share if link else sent
        yield Save(name, place.blocking, writes=writes, reads=1.0 + link * share)


def _mean_of(chain: tuple[Save, ...]) -> Save:
    """Return the mean share that a save of the chain writes, and reads."""
    if len(chain) == 1:
        return chain[0]
    writes = math.fsum(save.writes for save in chain) / len(chain)
    reads = math.fsum(save.reads for save in chain) / len(chain)
    return chain[0]._replace(writes=writes, reads=reads)
