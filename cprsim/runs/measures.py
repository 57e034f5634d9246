"""Measures of each replication: the one list, so that each measure has an interval.

A measure of the list is a column of `results.csv` and of summaries, and a key of their JSON; but
for those that rest on `[prices]`, which are there where it has what they rest on.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from cprsim.contract import Plan
from cprsim.contract.expected import bytes_read_per_failure
from cprsim.contract.ledger import ettr, overhead, overhead_retrained
from cprsim.job.prices import Prices
from cprsim.job.workload import Model
from cprsim.runs.memory import extra_bytes
from cprsim.scenario import Scenario

#: Numbers of one run, or arrays of those of many.
Numbers = Any


def _rates(scenario: Scenario, policy: str) -> dict[str, float]:
    """Return the fields of a `Basis` that the scenario has prices for.

    All machines of the job and the spares that the policy holds ready are paid for, and draw power,
    for as long as the job takes, also while it waits for others. So is memory that the policy
    takes, and one full checkpoint in the store where it saves to it at all: how many are kept is
    not modelled. The ledger has the bytes that are written; bytes that are read are the mean of
    a failure (`bytes_read_per_failure`) times the failures that struck.
    """
    prices, found = scenario.prices, dict[str, float]()
    if prices is None:
        return found
    if prices.power_w is not None:
        found["power_w"] = prices.power_w * sum(_machines(scenario, policy).values())
    if prices.carbon_kg_per_kwh is not None:
        found["carbon_kg_per_kwh"] = prices.carbon_kg_per_kwh
    return found if prices.currency is None else found | _of_money(scenario, policy, prices)


def _machines(scenario: Scenario, policy: str) -> dict[str, int]:
    """Return how many machines of each kind are paid for, by their keys in `[prices]`."""
    cluster = scenario.cluster
    return {
        "trainer": cluster.trainers,
        "parameter_server": cluster.parameter_servers,
        "spare": scenario.plan(policy).machines_ready(cluster.spares),
    }


def _of_money(scenario: Scenario, policy: str, prices: Prices) -> dict[str, float]:
    machines = _machines(scenario, policy)
    per_s = math.fsum(count * prices.amount(kind) for kind, count in machines.items())
    model, plan = scenario.model, scenario.plan(policy)
    checkpoint = read = 0.0  # without a model nothing that is for bytes has a price
    if model is not None:
        per_s += extra_bytes(plan, model) * prices.amount("memory")
        per_s += _stored_bytes(plan, model, scenario) * prices.amount("stored")
        checkpoint = model.checkpoint_bytes * prices.amount("written")
        if prices.read:
            bytes_read = bytes_read_per_failure(plan, model, scenario.context)
            read = bytes_read * prices.amount("read")
    return {
        "price_per_s": per_s,
        "price_per_checkpoint": checkpoint,
        "price_per_failure": read,
    }


def _stored_bytes(plan: Plan, model: Model, scenario: Scenario) -> float:
    """Return the bytes that are always in the store: the checkpoint to return to."""
    saves = any(
        schedule.period_s < scenario.job.useful_time_s
        and plan.tier(schedule.save.tier).medium == "store"
        for schedule in plan.schedules
    )
    return model.checkpoint_bytes if saves else 0.0


_J_PER_KWH = 3.6e6


class Basis(NamedTuple):
    """Numbers of a job and its plan that ledgers are measured against; or arrays, one a run.

    `useful_s`: useful time, s. `nodes`: of the job; `spares`: machines that are ready in addition.
    `memory_overhead`, `peer_bytes_per_s`: as in `Plan`. `checkpoint_bytes`: of a full one; not a
    number where the scenario has no `[model]`. Of money, energy and CO2, not a number where not
    given: `price_per_s` of wall clock; `price_per_checkpoint`, a full one written;
    `price_per_failure`, what a failure makes the job read, in the mean; `power_w` of all machines.
    """

    useful_s: Numbers
    nodes: Numbers
    spares: Numbers
    memory_overhead: Numbers
    peer_bytes_per_s: Numbers
    checkpoint_bytes: Numbers
    price_per_s: Numbers = math.nan
    price_per_checkpoint: Numbers = math.nan
    price_per_failure: Numbers = math.nan
    power_w: Numbers = math.nan
    carbon_kg_per_kwh: Numbers = math.nan

    @classmethod
    def filled(cls, number: float) -> "Basis":
        """One without money, energy and CO2, all else of which is that number."""
        return cls(*[number] * (len(cls._fields) - len(cls._field_defaults)))

    @classmethod
    def of(cls, scenario: Scenario, policy: str) -> "Basis":
        """That of one of the scenario's policies."""
        plan, cluster, model = scenario.plan(policy), scenario.cluster, scenario.model
        return cls(
            scenario.job.useful_time_s,
            cluster.parameter_servers + cluster.trainers,
            plan.machines_ready(cluster.spares),
            plan.memory_overhead,
            plan.peer_bytes_per_s,
            np.nan if model is None else model.checkpoint_bytes,
            **_rates(scenario, policy),
        )


def _bytes(checkpoints: Numbers, basis: Basis) -> Numbers:
    """Return the bytes of so many full checkpoints; of none 0, also if their size is unknown."""
    return np.where(checkpoints == 0, 0.0, checkpoints * basis.checkpoint_bytes)


def _peer_bytes(run: Mapping[str, Numbers], basis: Basis) -> Numbers:
    # What was rolled back was forwarded as well. It took as long as training that counts, which is
    # exact where all of it is as slow.
    useful_share = basis.useful_s / (basis.useful_s + run["slowdown"])
    trained_s = basis.useful_s + run["lost"] * useful_share
    return _bytes(run["sent"], basis) + basis.peer_bytes_per_s * trained_s


def _machine_overhead(run: Mapping[str, Numbers], basis: Basis) -> Numbers:
    machines = 1 + basis.spares / basis.nodes
    return (1 + overhead(run["wall"], basis.useful_s)) * machines - 1


def _overhead_retrained(run: Mapping[str, Numbers], basis: Basis) -> Numbers:
    return overhead_retrained(overhead(run["wall"], basis.useful_s), run["updates_lost"])


def _cost(run: Mapping[str, Numbers], basis: Basis) -> Numbers:
    written = run["stored"] * basis.price_per_checkpoint
    read = run["failures"] * basis.price_per_failure
    return run["wall"] * basis.price_per_s + written + read


def _energy_kwh(run: Mapping[str, Numbers], basis: Basis) -> Numbers:
    return run["wall"] * basis.power_w / _J_PER_KWH


#: By name, from the columns of a ledger (`cprsim.contract.ledger`): overhead and ETTR, what was
#: lost, the overhead if that were trained again, the wall clock in s, failures that struck; bytes
#: in the whole job that servers sent to each other for copies, parities and saves, and that saves
#: wrote to the remote store; machine time, that of the spares included, over useful machine
#: time - 1; and by `[prices]` what it all costs, in their currency, the energy that the machines
#: draw, and its CO2. These three are not a number where there are no prices.
MEASURES: Final[dict[str, Callable[[Mapping[str, Numbers], Basis], Numbers]]] = {
    "overhead": lambda run, basis: overhead(run["wall"], basis.useful_s),
    "pls": lambda run, _: run["pls"],
    "updates_lost": lambda run, _: run["updates_lost"],
    "learning_lost": lambda run, _: run["learning_lost"],
    "overhead_retrained": _overhead_retrained,
    "wall_s": lambda run, _: run["wall"],
    "failures": lambda run, _: run["failures"],
    "ettr": lambda run, basis: ettr(run["wall"], basis.useful_s),
    "peer_bytes": _peer_bytes,
    "store_bytes": lambda run, basis: _bytes(run["stored"], basis),
    "machine_overhead": _machine_overhead,
    "cost": _cost,
    "energy_kwh": _energy_kwh,
    "carbon_kg": lambda run, basis: _energy_kwh(run, basis) * basis.carbon_kg_per_kwh,
}
#: What of a `Basis` says whether those of prices are there.
_RESTS_ON: Final = {
    "cost": "price_per_s",
    "energy_kwh": "power_w",
    "carbon_kg": "carbon_kg_per_kwh",
}
#: Measures whose paired differences between policies are kept where replications are not.
COMPARED: Final = ("overhead", "overhead_retrained", "machine_overhead", "cost")
#: Of a plan, the same in every replication.
PLANNED: Final = ("memory_overhead", "spares")


def measured(run: Mapping[str, Numbers], basis: Basis) -> dict[str, Numbers]:
    """All of `MEASURES`, from columns of a ledger by name."""
    return {name: measure(run, basis) for name, measure in MEASURES.items()}


def measures_of(basis: Basis | None = None) -> list[str]:
    """Return the measures that a scenario with this `basis` has; by default those that all have."""
    rests = {} if basis is None else basis._asdict()
    return [
        name
        for name in MEASURES
        if name not in _RESTS_ON or not np.isnan(rests.get(_RESTS_ON[name], math.nan)).any()
    ]
