"""The scenario that predicts a real run: this machine's costs, and saves where that has them."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Plan, Policy, Redundancy
from cprsim.errors import ScenarioError
from cprsim.failures.hit import Hit
from cprsim.policies.priority import MOST_APPENDED
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of
from cprsim.trainer.coordinator.running_job import steps_to
from cprsim.trainer.data import Data
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.trackers_lists import TOGETHER
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.support import TRAINER
from cprsim.trainer.validation.appended import NOTHING, Chain, merging_at_once_s, of_scenario
from cprsim.trainer.validation.calibration import Calibration
from cprsim.trainer.validation.rehearsal import ONE_SERVER, kinds, lost, trains_beside

#: Batches in which it is counted where updates go, and how many rows are saved.
_LOOKED_AT = 100
#: What `ecrm` charges for what the measured step and the measured load have.
_OF_PARITIES = {
    **dict.fromkeys(("coding", "commit", "replication"), 0.0),
    **dict.fromkeys(("resume", "rebuild_fixed"), "0 s"),
    **dict.fromkeys(("rebuild_read", "rebuild_write"), "1000 PB/s"),
}
#: What `replication` charges for the same; the trainer's copies take over at once.
_OF_COPIES = {"slowdown": 0.0, "takeover": "0 s"}


def is_predictable(plan: Plan, hits: Sequence[Hit] = (ONE_SERVER,)) -> bool:
    """Whether what a rehearsal measures is all that the runs of this plan cost.

    `hits`: who fails at once.
    """
    if len(plan.schedules) != 1:
        return False
    if plan.schedules[0].save.blocking and plan.redundancy is None:
        return True
    # A lost trainer is always waited for.
    answers = [plan.recover(lost(servers)) for servers in (1, *filter(None, kinds(hits)))]
    alike = len({(each.rollback, each.keep_training) for each in answers}) == 1
    if plan.recovery == "parity" and waits(plan):  # as no model of parities does
        return False
    return plan.sequence is None and plan.schedules[0].max_pending == 1 and alike


def waits(plan: Plan) -> bool:
    """Whether training waits until a lost server is filled again."""
    return not plan.recover(lost(1)).keep_training


def check_predictable(
    section: TrainerSection,
    trainers: int,
    plans: Mapping[str, Plan],
    hits: Sequence[Hit] = (ONE_SERVER,),
) -> None:
    """Raise `ScenarioError` with all that stands against predicting real runs of these plans."""
    found = []
    if section.failures != "at-step":
        found.append(
            f"trainer.failures: {section.failures!r} strikes at other steps than a simulation "
            'does; write failures = "at-step" to validate'
        )
    for manner in ("hangs", "saving", "loading"):
        share = getattr(section, manner)
        if share:
            found.append(f"trainer.{manner}: {share:g} is in no simulation; write 0 to validate")
    if trainers != 1:
        found.append(f"cluster.trainers: {trainers} can't be validated yet; give 1")
    for name, plan in plans.items():
        TRAINER.check_plan(name, plan, lambda: plans)
        if not is_predictable(plan, hits):
            found.append(
                f"policies.{name}: can't be validated yet; choose a policy with one schedule, all "
                "of whose saves are alike, at most one under way at a time, and with one answer to "
                "all failures of servers"
            )
    if found:
        raise ScenarioError(*found)


def hits_of(scenario: Scenario, seed: int) -> list[Hit]:
    """Who fails at once in the job, were there nothing but training in it; a server, if nobody."""
    cursor, found = cursor_of(scenario.failure_model.timeline(seed, 0)), []
    while cursor.next_s < scenario.job.useful_time_s:
        now_s, hit = cursor.next_s, cursor.strike()
        found.append(hit)
        cursor.replace(hit, now_s)
        cursor.resume(now_s)
    return found or [ONE_SERVER]


def period_of(plan: Plan, nominal_step_s: float) -> int | None:
    """Steps from one save to the next, as the real trainer has it; None if there are no saves."""
    period_s = plan.schedules[0].period_s
    return None if period_s == math.inf else steps_to(period_s, nominal_step_s)


def updates_by_server(data: Data, servers: int) -> NDArray[np.float64]:
    """Updates of each table that each server gets in the first samples, (tables, servers)."""
    placement = Placement(tuple(table.rows for table in data.tables), servers)
    counts = np.zeros((len(data.tables), servers))
    for step in range(min(_LOOKED_AT, data.steps)):
        on = placement.ids(data.batch(step).sparse) % servers
        for table, of_table in enumerate(on.T):
            counts[table] += np.bincount(of_table, minlength=servers)
    return counts


def calibrated(
    scenario: Scenario,
    plans: Mapping[str, Plan],
    data: Data,
    calibration: Calibration,
    directions: int | None = None,
) -> Scenario:
    """The scenario on this machine: its costs, the time its steps take, saves on whole steps.

    Failures are left out; simulations of it are given those that the real run meets. `directions`:
    those of a row's gradients, if SCAR is to choose by them.
    """
    step_s, steps = calibration.step_s, data.steps
    nominal_s = scenario.job.useful_time_s / steps
    never = steps + 1
    mapping = scenario.mapping()
    mapping["job"]["useful_time"] = format_exact(steps * step_s, SECONDS)
    mapping["job"].pop("network", None)  # the measured step has it
    updates = updates_by_server(data, scenario.cluster.parameter_servers)
    shares = updates.sum(axis=0) / updates.sum()
    mapping["cluster"] |= {"spares": 0, "updates": shares.tolist()}
    if scenario.model is not None and scenario.model.tables is not None:
        mapping["model"] |= {"optimizer_rule": "adagrad", "batch": len(data.batch(0).labels)}
        if directions is not None:
            mapping["model"]["gradient_directions"] = directions
        for table, of_table in zip(mapping["model"]["tables"], updates, strict=True):
            table["updates"] = np.maximum(of_table, 1.0).tolist()  # some have had none yet
    periods = {name: period_of(plan, nominal_s) for name, plan in plans.items()}
    chosen = {name: _chosen(scenario, plan, data, periods[name]) for name, plan in plans.items()}
    mapping["costs"] = calibration.costs | _of_files(
        calibration, plans, chosen, scenario.cluster.parameter_servers
    )
    if all(map(trains_beside, plans.values())):  # pinned to steps, it has all landed by the next
        if not any(plan.schedules[0].save.blocking for plan in plans.values()):
            mapping["costs"] |= {"save": "0 s"}
        if not any(waits(plan) for plan in plans.values()):
            mapping["costs"] |= {"load_full": "0 s", "load_partial": "0 s", "reschedule": "0 s"}
    mapping["failures"] = {"exactly": 0, "while_waiting": False}
    given = mapping["policies"]
    mapping["policies"] = {
        name: _resolved(given[name], plan, periods[name] or never, calibration)
        | _of_tracking(scenario, plan, chosen[name], calibration)
        for name, plan in plans.items()
    }
    return Scenario(**mapping)


def _resolved(
    policy: Mapping[str, Any], plan: Plan, period: int, calibration: Calibration
) -> dict[str, Any]:
    """The policy at the interval that its plan comes to in whole steps."""
    save = plan.schedules[0].save
    interval = format_exact(period * calibration.step_s / save.portion, SECONDS)
    if plan.redundancy is not None:  # the measured step has what copies and parities take
        coded = plan.recovery == "parity"
        kept = _coded(policy, plan.redundancy) if coded else {**policy, **_OF_COPIES}
        return {**kept, "interval": interval, "degraded": 0.0}
    if not save.blocking:
        stall = format_exact(calibration.stall_s, SECONDS)
        return {**policy, "interval": interval, "snapshot": stall}
    if plan.recovery == "full":  # what CPR decides for where partial recovery doesn't pay
        return {"system": "full", "interval": interval}
    return {**policy, "interval": interval}


def _coded(policy: Mapping[str, Any], redundancy: Redundancy) -> dict[str, Any]:
    """Parities as `ecrm` plays them, whichever policy keeps them."""
    of_any = {key: policy[key] for key in Policy.model_fields if key in policy}
    return {**of_any, "system": "ecrm", "parity": redundancy.data, **_OF_PARITIES}


class _Chosen(NamedTuple):
    """Saves of chosen rows of one plan, as the first samples have them.

    `rows`: of the fullest server. `share`: of its rows. `merge_after`: saves.
    """

    rows: float
    share: float
    merge_after: int


def _chosen(scenario: Scenario, plan: Plan, data: Data, period: int | None) -> _Chosen | None:
    """None if it makes none."""
    if plan.tracking is None or period is None:
        return None
    steps = min(max(_LOOKED_AT, 2 * period) + 1, data.steps)
    saves = of_scenario(scenario, plan.tracking, data, period, steps)
    if not saves.rows.size:
        return None
    each = sum(table.rows for table in data.tables) / scenario.cluster.parameter_servers
    share = min(saves.of_fullest / each, 1.0)
    return _Chosen(saves.of_fullest, share, saves.merges_after(round(each)))


def _of_files(
    calibration: Calibration,
    plans: Mapping[str, Plan],
    chosen: Mapping[str, _Chosen | None],
    servers: int,
) -> dict[str, str]:
    """Costs of saves of chosen rows and of the files that they append, means of all such plans."""
    of_plans = [
        (plan.tracking.tracker, each)
        for plan, each in zip(plans.values(), chosen.values(), strict=True)
        if plan.tracking is not None and each is not None
    ]
    if not of_plans:
        return {}
    fixed_s = fmean(calibration.save_fixed_s(by, each.rows, each.share) for by, each in of_plans)
    rows = fmean(each.rows for _, each in of_plans)
    files = fmean(each.merge_after for _, each in of_plans)
    appended = files < MOST_APPENDED
    chain = Chain(round(files), round(files * rows)) if appended else NOTHING
    merge_s = merging_at_once_s(calibration.merge_s, calibration.reading, servers * [chain])
    # Each of the files that a load reads has its share of what it takes that there are any.
    append_s = calibration.append_s + calibration.append_row_s * rows
    append_s += calibration.appended_s / max(files / 2, 1.0)
    costs_s = {"save_fixed": fixed_s, "merge": merge_s, "append": append_s}
    return {name: format_exact(cost_s, SECONDS) for name, cost_s in costs_s.items()}


def _of_tracking(
    scenario: Scenario, plan: Plan, chosen: _Chosen | None, calibration: Calibration
) -> dict[str, Any]:
    """What is to be said of a plan with a tracker."""
    tracking = plan.tracking
    if tracking is None:
        return {}
    lists = {"together": TOGETHER} if tracking.tracker == "ssu" else {}
    told = {**lists, "slowdown": 0.0}  # the measured step has it
    if chosen is None:
        return told
    assert scenario.model is not None
    return {
        **told,
        "writes": min(chosen.share / scenario.model.saved_share(tracking.fraction), 1.0),
        "select": format_exact(calibration.select_s[tracking.tracker], SECONDS),
        "merge_after": chosen.merge_after,
    }
