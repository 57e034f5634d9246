"""Costs of one save, one load, one rescheduling and one detection.

A measured cost (in `[costs]`) wins; what is not measured is derived from `[model]`, `[cluster]`
and `[storage]`. Either way a cost is a `Transfer`: measured ones draw on no link and take their
time, derived ones move bytes and share links with whatever moves at the same time.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Seconds, Section
from cprsim.errors import ScenarioError
from cprsim.job.delays import Delay, mean_s
from cprsim.job.platform import (
    SERVER_IN,
    SERVER_OUT,
    STORE_READ,
    STORE_WRITE,
    TRAINER_IN,
    TRAINER_OUT,
    Cluster,
    Storage,
    capacities,
)
from cprsim.job.severity import Severity
from cprsim.job.start import Start
from cprsim.job.tiers import REMOTE, Tier
from cprsim.job.transfer import Transfer, uncontended_rate, uncontended_s
from cprsim.job.workload import Job, Model

#: Who returns to the last checkpoint after a failure: all nodes, the lost shards alone, or none.
Rollback = Literal["all", "lost", "none"]
GATHERED = 1e6  # rows that `gather` is about
#: A transfer that is over at once.
NOTHING = Transfer(0.0)
#: Links that transfers draw on, and how much.
Uses = tuple[tuple[str, float], ...]
_PEER_TO_PEER: Uses = ((SERVER_OUT, 1.0), (SERVER_IN, 1.0))


# A new key also touches machine/plan_rows.py and sim/tables.py, the module of machine/ that charges
# it, contract/expected.py, and policies that find their interval from such costs, with its mean in
# `CostModel` (policies/cpr.py); if it may be a law, basics/streams.py, sim/draws.py,
# machine/draws_row.py and scenario/drawn.py; if the answer should say that it is assumed,
# advice/warning.py. docs/architecture.md lists what a new cause of time touches.
class Costs(Section):
    """Measured costs in seconds; each may be absent, and is derived then.

    `save`: one blocking save of everything. `load`: one load, of everything or of the lost shards.
    `load_full`: a load of everything, where that differs. `load_partial`: a load of the lost
    shards, where that differs. `reschedule`: from the detection of a failure until all replacements
    are there, a duration or a distribution of it. `detect`: from a failure until it is noticed.
    `restart`: in its place, where only processes have failed (`failures.severity`), until they are
    up again on the same nodes, a duration or a distribution of it; without it they wait for other
    nodes. `restart_fails`: probability that this fails, and the nodes are replaced after all.
    `regroup`: where not all nodes return, until those that are up and the replacements have formed
    their group of processes again, a duration or a distribution of it; nothing if not given, as
    with parameter servers.
    `verify`: to look whether what was trained is sound (`verify_every` of policies). `checksum`:
    what checking a save to the store adds to it (`checksum` of policies). `drain`: to move a node
    that is to fail to a spare machine (`on_notice` of policies); else what a server's rows take
    over the cards. `start`: what each start takes. `shutdown`: what it takes to end after the last
    save, such as to publish the model, a duration or a distribution of it.

    A save of chosen rows takes more than its share of the bytes. `select`: time to choose the rows
    of a save. `gather`: time for each million of them that one server collects. `save_fixed`: time
    of a save of chosen rows, however few they are. `append`: what each adds to a load, where it is
    appended to the last whole save (`merge_after` of CPR's policies). `merge`: to merge all of them
    with it; else what loading them and saving everything takes.
    """

    save_s: Seconds | None = Field(None, alias="save")
    load_s: Seconds | None = Field(None, alias="load")
    load_full_s: Seconds | None = Field(None, alias="load_full")
    load_partial_s: Seconds | None = Field(None, alias="load_partial")
    reschedule: Delay = 0.0
    detect_s: Seconds = Field(0.0, alias="detect")
    restart: Annotated[Delay | None, Field(examples=["2 min"])] = None
    restart_fails: Annotated[float, Field(ge=0, lt=1, examples=[0.1])] | None = None
    regroup: Annotated[Delay | None, Field(examples=["90 s"])] = None
    verify_s: Seconds = Field(0.0, alias="verify")
    checksum_s: Seconds = Field(0.0, alias="checksum")
    drain_s: Seconds | None = Field(None, alias="drain")
    select_s: Seconds = Field(0.0, alias="select")
    gather_s: Seconds = Field(0.0, alias="gather")
    save_fixed_s: Seconds = Field(0.0, alias="save_fixed")
    append_s: Seconds = Field(0.0, alias="append")
    merge_s: Seconds | None = Field(None, alias="merge")
    start: Annotated[Start, Field(examples=[{"initialise": "2 min"}])] | None = None
    shutdown: Delay = 0.0


def time_of_throughput(lost: float) -> float:
    """Share of time that training takes longer at a throughput that is lower by that share."""
    return lost / (1 - lost)


@dataclass(frozen=True)
class CostModel:
    """Costs of one scenario, measured or derived, as transfers over the cluster's links."""

    costs: Costs
    job: Job
    model: Model | None
    cluster: Cluster
    storage: Storage | None

    def save_fails(self, tier: Tier, checked: bool = False) -> float:
        """Return the probability that a save to that tier fails: 0 but for the store.

        `checked`: whether torn ones fail as well, by their checksum.
        """
        if self.storage is None or tier.medium != "store":
            return 0.0
        fails = self.storage.save_fails
        return fails + self.storage.torn * (1 - fails) if checked else fails

    def check_s(self, tier: Tier, checked: bool) -> float:
        """Return what a check adds to a save to that tier, s: 0 but for the store."""
        return self.costs.checksum_s if checked and tier.medium == "store" else 0.0

    def load_fails(self, tier: Tier) -> float:
        """Probability that a load from that tier fails: only those from the store do."""
        return 0.0 if self.storage is None or tier.medium != "store" else self.storage.load_fails

    @cached_property
    def capacities(self) -> Mapping[str, float]:
        """B/s of every link."""
        return capacities(self.cluster, self.storage)

    def save(
        self, tier: Tier, portion: float = 1.0, writes: float = 1.0, besides_s: float = 0.0
    ) -> Transfer:
        """One save of `portion` of the rows that a tracker chooses among.

        What isn't tracked is saved whole. `writes`: share of these bytes that is really written,
        and of the rows that are collected. What choosing and collecting rows takes, and
        `besides_s`, is charged as so many more bytes, at the pace of a save with the links to
        itself.
        """
        whole = self._whole_save(tier)
        if portion == 1.0 and not besides_s:
            return whole if writes == 1.0 else replace(whole, volume=whole.volume * writes)
        share = portion if self.model is None else self.model.saved_share(portion)
        extra_s = besides_s
        if portion < 1:
            extra_s += self.costs.select_s + self.costs.save_fixed_s
            collected = self.collected_rows(portion) * writes
            extra_s += self.costs.gather_s * collected / GATHERED
        pace = uncontended_rate(whole, self.capacities)
        if pace == math.inf:  # what costs nothing by itself takes but this
            return Transfer(extra_s, cap=1.0)
        return replace(whole, volume=whole.volume * share * writes + extra_s * pace)

    def collected_rows(self, portion: float) -> float:
        """Rows that one server collects for a save of that portion; 0 where none are known."""
        if self.model is None or self.model.rows is None:
            return 0.0
        return portion * self.model.rows.tracked_rows / self.cluster.parameter_servers

    def _whole_save(self, tier: Tier) -> Transfer:
        """Every server writes an equal part of everything."""
        if tier.save_s is not None:
            return Transfer(tier.save_s, cap=1.0)
        if tier.medium == "store" and self.costs.save_s is not None:
            return Transfer(self.costs.save_s, cap=1.0)
        n = self.cluster.parameter_servers
        if tier.medium == "store":
            uses: Uses = ((SERVER_OUT, 1.0), (STORE_WRITE, float(n)))
        else:
            uses = _PEER_TO_PEER if tier.medium == "peers" else ()
        bytes_each = self._model("save", tier).checkpoint_bytes / n
        return self._move(bytes_each, tier.write, uses)

    def load(self, tier: Tier, rollback: Rollback, servers: int, reads: float = 1.0) -> Transfer:
        """Return the load before training continues, `servers` servers having lost their state.

        From the store, everything on a rollback of all, else the shards of the lost servers. From
        the memory of peers the lost shards alone: other nodes keep theirs. `reads`: bytes
        that are read, as a share of those that are filled. A trainer's replacement copies its dense
        part from another trainer: not charged.
        """
        whole = self._whole_load(tier, rollback, servers)
        return whole if reads == 1.0 else replace(whole, volume=whole.volume * reads)

    def _whole_load(self, tier: Tier, rollback: Rollback, servers: int) -> Transfer:
        if rollback != "all" and servers == 0:
            return NOTHING
        if tier.load_s is not None:
            return Transfer(tier.load_s, cap=1.0)
        if tier.medium == "store":
            return self._from_store(tier, rollback, servers)
        if servers == 0:
            return NOTHING
        measured_s = _first(self.costs.load_partial_s, self.costs.load_s)
        if tier.read is None and measured_s is not None and tier.medium == "peers":
            return Transfer(measured_s, cap=1.0)
        bytes_each = self._model("load", tier).shard_bytes / self.cluster.parameter_servers
        return self._move(bytes_each, tier.read, _PEER_TO_PEER if tier.medium == "peers" else ())

    def _from_store(self, tier: Tier, rollback: Rollback, servers: int) -> Transfer:
        measured_s = self.costs.load_full_s if rollback == "all" else self.costs.load_partial_s
        measured_s = _first(measured_s, self.costs.load_s)
        if measured_s is not None:
            return Transfer(measured_s, cap=1.0)
        model, n = self._model("load", tier), self.cluster.parameter_servers
        loaded = model.checkpoint_bytes if rollback == "all" else model.shard_bytes
        readers = n if rollback == "all" else servers
        return self._move(loaded / n, tier.read, ((SERVER_IN, 1.0), (STORE_READ, float(readers))))

    @staticmethod
    def _move(bytes_each: float, cap: float | None, uses: Uses) -> Transfer:
        if cap is None and not uses:
            return NOTHING  # nothing limits it
        return Transfer(bytes_each, cap=math.inf if cap is None else cap, uses=uses)

    def training(
        self, slowdown: float = 0.0, peer_bytes_per_s: float = 0.0, busiest: float = 1.0
    ) -> Transfer:
        """One useful second of training.

        `slowdown`: share of time that a policy adds to every useful second. `peer_bytes_per_s`:
        bytes that the servers send to each other in it, all together. `busiest`: requests to the
        server that serves the most, its own being 1.
        """
        cap = 1.0 / (1.0 + slowdown)
        pulled = self.job.network or 0.0
        if not pulled and not peer_bytes_per_s:
            return Transfer(1.0, cap=cap)
        n = self.cluster.parameter_servers
        per_server = (pulled * busiest + peer_bytes_per_s) / n
        uses = [(SERVER_OUT, per_server), (SERVER_IN, per_server)]
        if pulled and self.cluster.trainers:  # else the trainers are none of this cluster's nodes
            per_trainer = pulled / self.cluster.trainers
            uses += [(TRAINER_IN, per_trainer), (TRAINER_OUT, per_trainer)]
        unit = max(bytes_per_s for _, bytes_per_s in uses)
        return Transfer(1.0, cap=cap, uses=tuple(uses), unit=unit)

    def slower_beside(self, slowdown: float, peer_bytes_per_s: float, busiest: float) -> float:
        """Share of time that training takes longer where one server serves that much more.

        Longer than with `slowdown` alone, were there room for it on the cards. 0 where
        `job.network` doesn't say what they carry.
        """
        loaded = self.training(slowdown, peer_bytes_per_s, busiest)
        return self.seconds(loaded) / (1 + slowdown) - 1

    def seconds(self, transfer: Transfer) -> float:
        """Seconds that `transfer` takes with the links to itself."""
        return uncontended_s(transfer, self.capacities)

    @property
    def drain_s(self) -> float:
        """Return the time to move a node to a spare machine, with all links free, s."""
        if self.costs.drain_s is not None:
            return self.costs.drain_s
        shard = self._model("drain", Tier("spare", "peers")).shard_bytes
        return self.seconds(Transfer(shard / self.cluster.parameter_servers, uses=_PEER_TO_PEER))

    @property
    def reschedule_mean_s(self) -> float:
        """Mean rescheduling delay, s."""
        return mean_s(self.costs.reschedule)

    @property
    def restart_mean_s(self) -> float:
        """Mean duration of a restart in place, s."""
        return mean_s(self.costs.restart or 0.0)

    @property
    def regroup_mean_s(self) -> float:
        """Mean time to form the group of processes again, s."""
        return mean_s(self.costs.regroup or 0.0)

    @property
    def restarts_in_place(self) -> tuple[Severity, ...]:
        """Severities of failures after which nodes keep their places."""
        if self.costs.restart is None:
            return ()
        return self.cluster.cured_in_place

    def missing(self) -> list[str]:
        """Faults: the costs that are neither measured nor derivable."""
        found: dict[str, None] = {}
        costs: tuple[Callable[[], Transfer], ...] = (
            lambda: self.save(REMOTE),
            lambda: self.load(REMOTE, "all", 1),
            lambda: self.load(REMOTE, "lost", 1),
        )
        for cost in costs:
            try:
                cost()
            except ScenarioError as error:
                found |= dict.fromkeys(error.args)
        return list(found)

    def _model(self, cost: str, tier: Tier) -> Model:
        unknown = self.storage is None or self.storage.write is None
        if self.model is None or (unknown and tier.medium == "store"):
            lacks = "[storage]" if self.storage is None else "storage.write and storage.read"
            lacks = "[model]" if self.model is None else lacks
            needs = "[model] and [storage]" if tier.medium == "store" else "[model]"
            raise ScenarioError(
                f"costs.{cost}: is missing and can't be derived without {lacks}; "
                f'write e.g. {cost} = "2 min", or give {needs}'
            )
        return self.model


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
