"""Costs of a second of a job, a checkpoint and a failure under a policy, by `[prices]`."""

import math
from typing import Any, NamedTuple

from cprsim.contract import Plan
from cprsim.contract.memory import extra_bytes
from cprsim.contract.store_reads import bytes_read_per_failure
from cprsim.job.prices import Prices
from cprsim.job.workload import Model
from cprsim.scenario import Scenario

#: Numbers of one run, or arrays of those of many.
Numbers = Any


class Rates(NamedTuple):
    """Numbers behind the measures of money, energy and CO2; not a number where not given.

    `price_per_s`: of a second of wall clock. `price_per_checkpoint`: of a full checkpoint written.
    `price_per_failure`: of what a failure makes the job read, in the mean. `power_w`: of all
    machines. `carbon_kg_per_kwh`: CO2.
    """

    price_per_s: Numbers = math.nan
    price_per_checkpoint: Numbers = math.nan
    price_per_failure: Numbers = math.nan
    power_w: Numbers = math.nan
    carbon_kg_per_kwh: Numbers = math.nan


_NONE = Rates()


def rates(scenario: Scenario, policy: str) -> Rates:
    """Return the rates of one of the scenario's policies.

    All machines of the job and the spares that the policy holds ready are paid for, and draw power,
    for as long as the job takes, also while it waits for others. So is memory that the policy
    takes, and one full checkpoint in the store where it saves to it at all: how many are kept is
    not modelled. The ledger has the bytes that are written; bytes that are read are the mean of
    a failure (`bytes_read_per_failure`) times the failures that struck.
    """
    prices = scenario.prices
    if prices is None:
        return _NONE
    found = _NONE
    if prices.power_w is not None:
        found = found._replace(power_w=prices.power_w * sum(_machines(scenario, policy).values()))
    if prices.carbon_kg_per_kwh is not None:
        found = found._replace(carbon_kg_per_kwh=prices.carbon_kg_per_kwh)
    return found if prices.currency is None else _with_money(found, scenario, policy, prices)


def _machines(scenario: Scenario, policy: str) -> dict[str, int]:
    """Return how many machines of each kind are paid for, by their keys in `[prices]`."""
    cluster = scenario.cluster
    return {
        "trainer": cluster.trainers,
        "parameter_server": cluster.parameter_servers,
        "spare": scenario.plan(policy).machines_ready(cluster.spares),
    }


def _with_money(found: Rates, scenario: Scenario, policy: str, prices: Prices) -> Rates:
    machines = _machines(scenario, policy)
    per_s = math.fsum(count * prices.amount(kind) for kind, count in machines.items())
    model, plan = scenario.model, scenario.plan(policy)
    if model is None:  # then nothing that is for bytes has a price
        return found._replace(price_per_s=per_s, price_per_checkpoint=0.0, price_per_failure=0.0)
    per_s += extra_bytes(plan, model) * prices.amount("memory")
    per_s += _stored_bytes(plan, model, scenario) * prices.amount("stored")
    read = bytes_read_per_failure(plan, model, scenario.context) if prices.read else 0.0
    return found._replace(
        price_per_s=per_s,
        price_per_checkpoint=model.checkpoint_bytes * prices.amount("written"),
        price_per_failure=read * prices.amount("read"),
    )


def _stored_bytes(plan: Plan, model: Model, scenario: Scenario) -> float:
    """Return the bytes that are always in the store: the checkpoint to return to."""
    saves = any(
        schedule.period_s < scenario.job.useful_time_s
        and plan.tier(schedule.save.tier).medium == "store"
        for schedule in plan.schedules
    )
    return model.checkpoint_bytes if saves else 0.0
