"""The cluster: trainers, parameter servers, their network cards, and the checkpoint store."""

import math
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from cprsim.basics.schema import Part, PositiveBytes, PositiveSeconds, Rate, Section, a_list
from cprsim.job.delays import Delay
from cprsim.job.severity import Severity

#: A positive number for each parameter server, of which only the ratio counts.
ByServer = Annotated[
    tuple[Annotated[float, Field(gt=0, le=1e18)], ...],
    a_list("write a number for each parameter server"),
]


def shares_of(updates: tuple[float, ...] | None) -> tuple[float, ...] | None:
    """Numbers by server as shares of them all; None if they are alike."""
    if updates is None:
        return None
    total = math.fsum(updates)
    return tuple(each / total for each in updates)


class Cluster(Section):
    """Nodes of the job.

    `trainers`: nodes that compute; 0 where they are none of this cluster's. `parameter_servers`:
    nodes that hold the embedding rows, each a shard. `nic`: bandwidth of the network card of each
    node, each way, B/s; without it the network is no limit.
    `spares`: nodes held ready; a failed node is replaced by one without waiting, as long as there
    are any. A spare that was used is made good when its own rescheduling delay is over.
    `restarts_in_place`: severities of failures that are cured by starting the processes again on
    the same nodes, where `costs.restart` says how long that takes; `process` if not given.
    `holds_nodes`: a restart of the whole job keeps the nodes that are up, where it gives them back
    to the scheduler otherwise (see `failures.while_waiting`). `updates`:
    how updates of embedding rows spread over the parameter servers, a number for each of which only
    the ratio counts; evenly if not given.

    `memory`: memory of each parameter server, B; without it memory is no limit. A policy that needs
    more is never recommended. `trainer_memory`: memory of each trainer for the dense part, B;
    without it trainers' memory is no limit. `memory_bandwidth`: rate at which one process copies
    memory of a host, B/s, from which the time of snapshots, copies and parities follows;
    15 GB/s if not given.
    """

    trainers: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    parameter_servers: Annotated[int, Field(ge=1, le=1_000_000)]
    nic: Rate | None = None
    spares: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    holds_nodes: bool = False
    restarts_in_place: (
        Annotated[
            tuple[Severity, ...],
            a_list('give severities, e.g. ["process"]'),
            Field(examples=[["process"]]),
        ]
        | None
    ) = None
    updates: Annotated[ByServer, Field(examples=[[3, 1, 1, 1]])] | None = None
    memory: PositiveBytes | None = None
    trainer_memory: PositiveBytes | None = None
    memory_bandwidth: Annotated[Rate, Field(examples=["15 GB/s"])] | None = None

    @model_validator(mode="after")
    def _a_number_each(self) -> Self:
        if self.updates is not None and len(self.updates) != self.parameter_servers:
            raise ValueError(
                f"updates has {len(self.updates)} numbers for {self.parameter_servers} "
                "parameter_servers; give one for each, or leave it out"
            )
        return self

    @property
    def cured_in_place(self) -> tuple[Severity, ...]:
        """Return `restarts_in_place`, or its default."""
        return self.restarts_in_place or ("process",)

    @property
    def update_shares(self) -> tuple[float, ...] | None:
        """Share of all updates that each server gets; None if they are alike."""
        return shares_of(self.updates)


#: How likely something fails: what always does would never end.
_Chance = Annotated[float, Field(ge=0, lt=1), Part]


class Outages(Section):
    """Times for which the store is away, on the wall clock.

    `every`: mean time from the end of one to the beginning of the next, which come as a Poisson
    process while the store is there. `lasts`: how long they are, a duration or a law.
    """

    every_s: PositiveSeconds = Field(alias="every")
    lasts: Annotated[Delay, Field(examples=["20 min"])]


class Storage(Section):
    """The remote checkpoint store.

    `write`: bandwidth of saves to it, all nodes together. `read`: bandwidth of loads from it, all
    nodes together; where costs are measured, neither need be known. `save_fails`: probability that
    a save to it proves useless at its end. `load_fails`:
    probability that a load from it has to be begun again at its end. `torn`: probability that a
    checkpoint in it is torn or rots, which a load notices at its end. `outages`: times for which it
    is away; a save or load that one falls into fails, too.
    """

    write: Rate | None = None
    read: Rate | None = None
    save_fails: _Chance = 0.0
    load_fails: _Chance = 0.0
    torn: _Chance = 0.0
    outages: Annotated[Outages, Field(examples=[{"every": "30 d", "lasts": "20 min"}])] | None = (
        None
    )

    @property
    def fails(self) -> bool:
        """Return whether any save or load can fail."""
        return bool(self.save_fails or self.load_fails or self.torn or self.outages)

    @model_validator(mode="after")
    def _rates_together(self) -> Self:
        missing = [key for key in ("write", "read") if getattr(self, key) is None]
        if len(missing) == 1 or not self.model_fields_set:
            raise ValidationError.from_exception_data(
                "Storage", [{"type": "missing", "loc": (key,), "input": {}} for key in missing]
            )
        return self


#: Links that transfers draw on. A `server` or `trainer` link is that link of every such
#: node: a transfer draws on it as much as on the busiest of them.
SERVER_OUT, SERVER_IN = "server.out", "server.in"
TRAINER_OUT, TRAINER_IN = "trainer.out", "trainer.in"
STORE_WRITE, STORE_READ = "store.write", "store.read"


def capacities(cluster: Cluster, storage: Storage | None) -> dict[str, float]:
    """B/s of every link; infinite where the scenario sets no limit."""
    nic = math.inf if cluster.nic is None else cluster.nic
    rates = (None, None) if storage is None else (storage.write, storage.read)
    write, read = (math.inf if rate is None else rate for rate in rates)
    return {
        SERVER_OUT: nic,
        SERVER_IN: nic,
        TRAINER_OUT: nic,
        TRAINER_IN: nic,
        STORE_WRITE: write,
        STORE_READ: read,
    }
