"""Warnings about numbers of a run or an answer that rest on less than they look like."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cprsim.basics.units import counted, format_duration
from cprsim.failures.causes import Part
from cprsim.failures.replay import TraceReplay
from cprsim.runs.memory import memory_fault
from cprsim.runs.selection.intervals import LEAST_MET
from cprsim.scenario import Scenario

if TYPE_CHECKING:
    from cprsim.runs.result import Result


def of_run(result: "Result") -> Iterator[str]:
    """Yield a sentence for each warning about the numbers of a run."""
    yield from of_log(result.scenario)
    yield from _of_memory(result)
    yield from _of_intervals(result)
    yield from of_costs(result.scenario)
    yield from _of_repairs(result.scenario)
    # All policies have the same timelines; who takes longer meets more of them.
    met = round(result.count * max(result.kept.means(name)["failures"] for name in result.plans))
    if result.count > 1 and met < LEAST_MET and _can_fail(result.scenario):
        yield (
            f"{counted(met, 'failure').capitalize() if met else 'No failure'} in "
            f"{counted(result.count, 'replication')}: ± is too narrow, and means are more likely "
            "too low; play more (--replications), or ask cprsim advise, whose intervals allow for "
            "what few have met."
        )


def _of_memory(result: "Result") -> Iterator[str]:
    """Policies that exceed the cluster's memory."""
    costs = result.scenario.cost_model
    faults = {name: memory_fault(plan, costs) for name, plan in result.plans.items()}
    said = "; ".join(f"{name} {fault}" for name, fault in faults.items() if fault is not None)
    if said:
        yield f"Not enough memory: {said}."


def _of_intervals(result: "Result") -> Iterator[str]:
    """Yield the policies that would save, but no save of theirs is due within the job."""
    useful_s = result.scenario.job.useful_time_s
    if result.scenario.job.final_save:
        return
    saves = {name: plan.interval_s for name, plan in result.plans.items() if plan.schedules}
    said = ", ".join(
        f"{name} every {format_duration(every_s)}"
        for name, every_s in saves.items()
        if useful_s <= every_s < math.inf
    )
    if said:
        yield f"No save within the {format_duration(useful_s)} of training: {said}."


def _of_repairs(scenario: Scenario) -> Iterator[str]:
    """Yield what failures wait for where repairs win over another time that was given."""
    causes = scenario.failures.causes or ()
    repaired = any(each.repair is not None for each in causes)
    if repaired and not scenario.cluster.spares and "reschedule" in scenario.costs.model_fields_set:
        yield (
            "Without spare machines a failure waits for the repair of its cause "
            "(failures.causes), not for costs.reschedule. Leave repair out where others take over."
        )


#: About a log that is replayed.
REPLAYED = (
    "The log is replayed as it is: every replication has its failures at its instants. So "
    "intervals, and what is called sure, are of this one history, not of what may come; "
    "cprsim fit finds a law in it, whose histories differ."
)


def of_log(scenario: Scenario) -> Iterator[str]:
    """Yield what holds only for a replayed log."""
    replayed = scenario.failure_model.process
    if not isinstance(replayed, TraceReplay):
        return
    useful_s = scenario.job.useful_time_s
    yield REPLAYED
    if replayed.ends_s < useful_s:
        yield (
            f"Its last failure is {format_duration(replayed.ends_s)} after its start, and the job "
            f"trains for {format_duration(useful_s)}: after it nothing fails."
        )
    if replayed.begins_s > useful_s:
        yield (
            f"Its first failure is {format_duration(replayed.begins_s)} after its start, and the "
            f"job trains for {format_duration(useful_s)}: before it nothing fails. To start with "
            'it, set failures.window = "0:1", as cprsim fit --toml does.'
        )


def not_given(scenario: Scenario) -> list[str]:
    """Return the keys of costs of failures that the scenario does not give, nor as 0."""
    costs, job, cluster = scenario.costs, scenario.job, scenario.cluster
    fails = math.isfinite(scenario.failure_model.mtbf_s)
    derived = scenario.model is not None and costs.save_s is None
    missing = {
        "costs.reschedule": fails and not _is_told(scenario, "repair", "reschedule"),
        "costs.detect": fails and not _is_told(scenario, "detect", "detect_s"),
        "costs.restart": costs.restart is None and _processes(scenario) > 0,
        "cluster.nic": cluster.nic is None and (derived or job.network is not None),
    }
    return [key for key, is_missing in missing.items() if is_missing]


def of_costs(scenario: Scenario) -> Iterator[str]:
    """Yield a sentence for each of the keys that are `not_given`."""
    for key in not_given(scenario):
        yield f"{key} is not given: {_MEANS[key]}"


#: What it means that a cost is not given, and how to give it.
_MEANS = {
    "costs.reschedule": ('failed nodes are replaced at once. Set it, e.g. reschedule = "12 min".'),
    "costs.restart": (
        "failures of processes (failures.severity) wait for other nodes, as all others do. Set "
        'it where they restart in place, e.g. restart = "2 min".'
    ),
    "costs.detect": 'failures are noticed at once. Set it, e.g. detect = "30 s".',
    "cluster.nic": (
        "network cards limit nothing, neither saves and loads nor copies between servers. Set it, "
        'e.g. nic = "25 Gbit/s".'
    ),
}


def _is_told(scenario: Scenario, part: Part, cost: str) -> bool:
    """Return whether each cause says how long that part of a failure takes, or a cost does."""
    causes = scenario.failures.causes
    of_causes = causes is not None and all(getattr(each, part) is not None for each in causes)
    return of_causes or cost in scenario.costs.model_fields_set


def _processes(scenario: Scenario) -> float:
    """Return the share of failures that leave the nodes."""
    return scenario.failure_model.process.severity_shares.get("process", 0.0)


def _can_fail(scenario: Scenario) -> bool:
    replayed = isinstance(scenario.failure_model.process, TraceReplay)
    return scenario.failures.exactly is None and not replayed
