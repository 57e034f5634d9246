"""The cluster: trainers, parameter servers, their network cards, and the checkpoint store."""

import math
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from cprsim.basics.schema import Rate, Section


def _listed(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list; write a number for each parameter server")
    return tuple(value)


class Cluster(Section):
    """Nodes of the job. `nic`: each node, each way, B/s; without it the network is no limit.

    `spares`: nodes held ready; a failed node is replaced by one without waiting, as long as there
    are any. A spare that was used is made good when its own rescheduling delay is over.
    `holds_nodes`: a restart of the whole job keeps the nodes that are up, where it gives them back
    to the scheduler otherwise (see `failures.while_waiting`). `updates`:
    how updates of embedding rows spread over the parameter servers, a number for each of which only
    the ratio counts; evenly if not given.
    """

    trainers: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    parameter_servers: Annotated[int, Field(ge=1, le=1_000_000)]
    nic: Rate | None = None
    spares: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    holds_nodes: bool = False
    updates: (
        Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(_listed)] | None
    ) = None

    @model_validator(mode="after")
    def _a_number_each(self) -> Self:
        if self.updates is not None and len(self.updates) != self.parameter_servers:
            raise ValueError(
                f"updates has {len(self.updates)} numbers for {self.parameter_servers} "
                "parameter_servers; give one for each, or leave it out"
            )
        return self

    @property
    def update_shares(self) -> tuple[float, ...] | None:
        """Share of all updates that each server gets; None if they are alike."""
        if self.updates is None:
            return None
        total = math.fsum(self.updates)
        return tuple(each / total for each in self.updates)


class Storage(Section):
    """The remote checkpoint store: aggregate bandwidth over all nodes, B/s."""

    write: Rate
    read: Rate


#: Links that transfers draw on. A `server` or `trainer` link stands for that link of every such
#: node: what a transfer draws on it is what it draws on the busiest of them.
SERVER_OUT, SERVER_IN = "server.out", "server.in"
TRAINER_OUT, TRAINER_IN = "trainer.out", "trainer.in"
STORE_WRITE, STORE_READ = "store.write", "store.read"


def capacities(cluster: Cluster, storage: Storage | None) -> dict[str, float]:
    """B/s of every link; infinite where the scenario sets no limit."""
    nic = math.inf if cluster.nic is None else cluster.nic
    return {
        SERVER_OUT: nic,
        SERVER_IN: nic,
        TRAINER_OUT: nic,
        TRAINER_IN: nic,
        STORE_WRITE: math.inf if storage is None else storage.write,
        STORE_READ: math.inf if storage is None else storage.read,
    }
