"""What one save, one load, one rescheduling and one detection cost.

A measured cost (in `[costs]`) wins; what is not measured is derived from `[model]`, `[cluster]`
and `[storage]`. Either way a cost is a `Transfer`: measured ones draw on no link and take their
time, derived ones move bytes and share links with whatever moves at the same time.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag

from cprsim import units
from cprsim.distributions import Distribution
from cprsim.errors import ScenarioError
from cprsim.platform import (
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
from cprsim.schema import VARIANTS, Seconds, Section
from cprsim.transfer import Transfer, uncontended_rate, uncontended_s
from cprsim.workload import Job, Model

#: Who returns to the last checkpoint after a failure: all nodes, the lost shards alone, or none.
Rollback = Literal["all", "lost", "none"]
_GATHERED = 1e6  # rows that `gather` is about
#: A transfer that is over at once.
NOTHING = Transfer(0.0)


def _parse_duration(value: object) -> float:
    delay_s = units.parse_duration(value)
    if delay_s < 0:
        raise ValueError(f"{value!r} is out of range: it must be >= 0")
    return delay_s


def _variant(value: object) -> str:
    return VARIANTS[isinstance(value, dict | Distribution)]


#: A delay: the same each time, s, or a distribution of it.
Delay = Annotated[
    Annotated[
        float,
        BeforeValidator(_parse_duration),
        PlainSerializer(lambda v: units.format_exact(v, units.SECONDS)),
        Tag(VARIANTS[0]),
    ]
    | Annotated[Distribution, PlainSerializer(Distribution.mapping), Tag(VARIANTS[1])],
    Discriminator(_variant),
]


class Costs(Section):
    """Measured costs in seconds; each may be absent, and is derived then.

    `save`: one blocking save of everything. `load`: one load, of everything or of the lost shards
    (`load_full`, `load_partial` where they differ). `reschedule`: from the detection of a failure
    until all replacements are there, a duration or a distribution of it. `detect`: from a failure
    until it is noticed.

    What a save of chosen rows takes beyond its share of the bytes: `select` to choose them,
    `gather` for each million of them that one server collects, `save_fixed` however few they are.
    """

    save_s: Seconds | None = Field(None, alias="save")
    load_s: Seconds | None = Field(None, alias="load")
    load_full_s: Seconds | None = Field(None, alias="load_full")
    load_partial_s: Seconds | None = Field(None, alias="load_partial")
    reschedule: Delay = 0.0
    detect_s: Seconds = Field(0.0, alias="detect")
    select_s: Seconds = Field(0.0, alias="select")
    gather_s: Seconds = Field(0.0, alias="gather")
    save_fixed_s: Seconds = Field(0.0, alias="save_fixed")


@dataclass(frozen=True)
class CostModel:
    """Costs of one scenario, measured or derived, as transfers over the cluster's links."""

    costs: Costs
    job: Job
    model: Model | None
    cluster: Cluster
    storage: Storage | None

    @cached_property
    def capacities(self) -> Mapping[str, float]:
        """B/s of every link."""
        return capacities(self.cluster, self.storage)

    @cached_property
    def save(self) -> Transfer:
        """One save of everything: every server writes an equal part of it."""
        if self.costs.save_s is not None:
            return Transfer(self.costs.save_s, cap=1.0)
        model, n = self._model("save"), self.cluster.parameter_servers
        return Transfer(
            model.checkpoint_bytes / n,
            uses=((SERVER_OUT, 1.0), (STORE_WRITE, float(n))),
        )

    def save_portion(self, portion: float) -> Transfer:
        """One save of `portion` of the rows that a tracker chooses among.

        What isn't tracked is saved whole. What choosing and collecting rows takes is charged as so
        many more bytes, at the pace of a save with the links to itself.
        """
        if portion == 1.0:
            return self.save
        share, chosen = portion, 0.0
        if self.model is not None:
            share = self.model.saved_share(portion)
        if self.model is not None and self.model.rows is not None:
            chosen = portion * self.model.rows.tracked_rows / self.cluster.parameter_servers
        extra_s = self.costs.select_s + self.costs.save_fixed_s
        extra_s += self.costs.gather_s * chosen / _GATHERED
        pace = uncontended_rate(self.save, self.capacities)
        if pace == math.inf:  # what costs nothing by itself takes but this
            return Transfer(extra_s, cap=1.0)
        return replace(self.save, volume=self.save.volume * share + extra_s * pace)

    @cached_property
    def load_full(self) -> Transfer:
        """One load of everything, by all servers."""
        measured_s = _first(self.costs.load_full_s, self.costs.load_s)
        if measured_s is not None:
            return Transfer(measured_s, cap=1.0)
        bytes_each = self._model("load").checkpoint_bytes / self.cluster.parameter_servers
        return self._from_store(bytes_each, self.cluster.parameter_servers)

    def load_partial(self, servers: int) -> Transfer:
        """One load of the shards of `servers` lost servers, by their replacements."""
        measured_s = _first(self.costs.load_partial_s, self.costs.load_s)
        if measured_s is not None:
            return Transfer(measured_s, cap=1.0)
        bytes_each = self._model("load").shard_bytes / self.cluster.parameter_servers
        return self._from_store(bytes_each, servers)

    def copy(self, servers: int) -> Transfer:
        """Copy the shards of `servers` lost servers from servers that hold a replica.

        Each replacement reads from another peer. A measured partial load wins over that.
        """
        measured_s = _first(self.costs.load_partial_s, self.costs.load_s)
        if measured_s is not None or self.model is None:
            return self.load_partial(servers)
        bytes_each = self.model.shard_bytes / self.cluster.parameter_servers
        return Transfer(bytes_each, uses=((SERVER_OUT, 1.0), (SERVER_IN, 1.0)))

    def load(self, rollback: Rollback, servers: int) -> Transfer:
        """What is loaded before training goes on, `servers` servers having lost their state.

        A trainer's replacement copies its dense part from another trainer: not charged.
        """
        if rollback == "all":
            return self.load_full
        if servers == 0:
            return NOTHING
        return self.load_partial(servers) if rollback == "lost" else self.copy(servers)

    def training(self, push_factor: float = 1.0, slowdown: float = 0.0) -> Transfer:
        """One useful second of training, pushing each update `push_factor` times.

        `slowdown`: share of time that a policy adds to every useful second.
        """
        cap = 1.0 / (1.0 + slowdown)
        if self.job.network is None:
            return Transfer(1.0, cap=cap)
        per_server = self.job.network / self.cluster.parameter_servers
        uses = [(SERVER_OUT, per_server), (SERVER_IN, per_server * push_factor)]
        if self.cluster.trainers:  # else the trainers are none of this cluster's nodes
            per_trainer = self.job.network / self.cluster.trainers
            uses += [(TRAINER_IN, per_trainer), (TRAINER_OUT, per_trainer * push_factor)]
        unit = max(bytes_per_s for _, bytes_per_s in uses)
        return Transfer(1.0, cap=cap, uses=tuple(uses), unit=unit)

    def seconds(self, transfer: Transfer) -> float:
        """Seconds that `transfer` takes with the links to itself."""
        return uncontended_s(transfer, self.capacities)

    @property
    def reschedule_mean_s(self) -> float:
        """Mean rescheduling delay, s."""
        delay = self.costs.reschedule
        return delay.expected_s if isinstance(delay, Distribution) else delay

    def missing(self) -> list[str]:
        """Faults: the costs that are neither measured nor derivable."""
        found: dict[str, None] = {}
        costs: tuple[Callable[[], Transfer], ...] = (
            lambda: self.save,
            lambda: self.load_full,
            lambda: self.load_partial(1),
        )
        for cost in costs:
            try:
                cost()
            except ScenarioError as error:
                found |= dict.fromkeys(error.args)
        return list(found)

    def _from_store(self, bytes_each: float, servers: int) -> Transfer:
        return Transfer(
            bytes_each,
            uses=((SERVER_IN, 1.0), (STORE_READ, float(servers))),
        )

    def _model(self, cost: str) -> Model:
        if self.model is None or self.storage is None:
            lacks = "[model]" if self.model is None else "[storage]"
            raise ScenarioError(
                f"costs.{cost}: is missing and can't be derived without {lacks}; "
                f'write e.g. {cost} = "2 min", or give [model] and [storage]'
            )
        return self.model


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
