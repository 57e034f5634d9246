"""Replications of a scenario, many at once: the same ledgers as those of `cprsim.sim`."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, CohortDraws
from cprsim.batch import background, blocking, support
from cprsim.batch.blocking import Pace
from cprsim.batch.cursors import Cursors, LaneDraws, cursors_of
from cprsim.batch.lanes import Floats, Integers, Lanes, Mask
from cprsim.batch.rebuilds import Rebuilds
from cprsim.batch.recover_table import RecoverTable
from cprsim.batch.recovery import LaneRecovery, hopeless
from cprsim.batch.spares import ConstantDelay, LaneSpares
from cprsim.batch.state import Shards
from cprsim.batch.ties import too_close
from cprsim.job.tiers import Medium
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS
from cprsim.sim.resolved import ResolvedPlan

#: Lanes at once: more take memory and gain nothing, fewer don't repay a call of NumPy.
_LANES = 64 * COHORT
#: How many numbers a chunk may take for its nodes, and for the failures that useful time brings.
_NUMBERS = 4_000_000


def simulate(
    scenario: Scenario, policies: Sequence[str], replications: Sequence[int], seed: int
) -> NDArray[np.float64]:
    """As `cprsim.sim.engine.simulate`, for policies that `why_unsupported` has nothing against."""
    plans = [ResolvedPlan.from_scenario(scenario, name) for name in policies]
    values = np.empty((len(replications), len(plans), len(COLUMNS)))
    size = _chunk(scenario)
    for start in range(0, len(replications), size):
        numbers = np.asarray(replications[start : start + size])
        values[start : start + size] = _Chunk(scenario, numbers, seed).play(plans, policies)
    return values


def why_unsupported(scenario: Scenario, policy: str) -> str | None:
    """Why a policy can't be played here, or None."""
    cohort = scenario.failure_model.process.cohort(0, 0)
    return support.why_unsupported(ResolvedPlan.from_scenario(scenario, policy), cohort)


def _chunk(scenario: Scenario) -> int:
    failures, job = scenario.failure_model, scenario.job
    drawn = 1 + failures.servers_hit + failures.trainers_hit
    numbers = failures.nodes + math.ceil(job.useful_time_s / failures.mtbf_s * drawn)
    return max(min(_LANES, _NUMBERS // numbers // COHORT * COHORT), COHORT)


class _Chunk:
    """Some replications, whose failures are drawn once for all policies."""

    def __init__(self, scenario: Scenario, numbers: Integers, seed: int) -> None:
        self._scenario, self._numbers, self._seed = scenario, numbers, seed
        cohorts, which = np.unique(numbers // COHORT, return_inverse=True)
        self._place = which * COHORT + numbers % COHORT
        process = scenario.failure_model.process
        self._cohorts = [process.cohort(seed, int(each)) for each in cohorts]
        self._delays = self._rescheduling([int(each) for each in cohorts])

    def _rescheduling(self, cohorts: Sequence[int]) -> ConstantDelay | LaneDraws:
        delay = self._scenario.costs.reschedule
        if not isinstance(delay, Distribution):
            return ConstantDelay(delay)
        rows = [CohortDraws(delay.sample, self._seed, each, Cause.RESCHEDULE) for each in cohorts]
        return LaneDraws(rows, self._place)

    def play(self, plans: Sequence[ResolvedPlan], policies: Sequence[str]) -> NDArray[np.float64]:
        """Ledgers, of shape (replications, policies, len(COLUMNS))."""
        values = np.empty((len(self._numbers), len(plans), len(COLUMNS)))
        make_cursors = cursors_of(self._cohorts, self._place)
        for i, (resolved, policy) in enumerate(zip(plans, policies, strict=True)):
            runs = Runs(resolved, make_cursors(), self._delays)
            values[:, i], handed = runs.play()
            if handed.any():
                numbers = self._numbers[handed].tolist()
                values[handed, i] = sim.simulate(self._scenario, [policy], numbers, self._seed)[
                    :, 0
                ]
        return values


class Runs:
    """Runs of one policy, each on its own failures."""

    def __init__(
        self, resolved: ResolvedPlan, cursors: Cursors, delays: ConstantDelay | LaneDraws
    ) -> None:
        count = len(cursors.next_s)
        (schedule,) = resolved.plan.schedules
        self._resolved, self._cursors = resolved, cursors
        self._handed = np.zeros(count, np.bool_)
        self._table = RecoverTable(resolved)
        self._shards = Shards(count, resolved.servers, resolved.useful_time_s, schedule)
        self._rebuilds = Rebuilds(count, cursors, self._shards, self._table)
        self._recovery = LaneRecovery(
            resolved,
            cursors,
            delays,
            LaneSpares(count, resolved.spares),
            self._shards,
            self._rebuilds,
            self._table,
            self._handed,
        )
        self._pace = _pace(resolved, self._table.full_rate)
        self._advance = blocking.advance if schedule.save.blocking else background.advance
        self._lanes = Lanes.start(count)
        self._lanes.due_s[:] = self._pace.period_s
        self._lanes.next_s[:] = cursors.next_s
        self._ends = np.zeros_like(self._lanes.values)
        self._saved_s = np.full(count, np.inf)

    def play(self) -> tuple[NDArray[np.float64], Mask]:
        """Ledgers, of shape (lanes, len(COLUMNS)), but of those that are handed over."""
        lanes = self._lanes
        while len(lanes):
            until_s, pace = lanes.next_s, self._pace
            if self._rebuilds.in_use:
                until_s = np.minimum(until_s, self._rebuilds.event_s[lanes.number])
                pace = pace._replace(rate=self._rebuilds.rate[lanes.number])
            self._watch(lanes)
            ended, lanes, unsure = self._advance(lanes, pace, until_s)
            self._handed[unsure] = True
            self._hand_over(ended)
            self._hand_over(lanes)
            self._end(ended)
            lanes = lanes.take(~self._handed[lanes.number])
            self._handle_due(lanes)
            lanes = lanes.take(~self._handed[lanes.number])
        return self._ledgers(), self._handed

    def _watch(self, lanes: Lanes) -> None:
        """Note what runs had spent on saves when a save would begin to be slowed."""
        if self._rebuilds.in_use:
            slow = self._rebuilds.slow_saves(lanes)
            self._saved_s[lanes.number] = np.where(slow, lanes.save_s, np.inf)

    def _hand_over(self, lanes: Lanes) -> None:
        """Leave runs whose saves were slowed, or that seem to get nowhere, to `cprsim.sim`."""
        beyond = hopeless(lanes, self._resolved.useful_time_s)
        if self._rebuilds.in_use:
            beyond |= lanes.save_s > self._saved_s[lanes.number]
        self._handed[lanes.number[beyond]] = True

    def _handle_due(self, lanes: Lanes) -> None:
        """Carry out what is due now: rebuilds that end, failures that strike."""
        if self._rebuilds.in_use:
            event_s = self._rebuilds.event_s[lanes.number]
            near = too_close(np.abs(event_s - lanes.next_s), lanes.now_s, lanes.saves)
            self._handed[lanes.number[near]] = True
            self._rebuilds.settle(lanes)
            lanes.next_s[:] = self._cursors.next_s[lanes.number]
        struck = (lanes.next_s <= lanes.now_s) & ~self._handed[lanes.number]
        if struck.any():
            part = lanes.take(struck)
            self._recovery.recover(part)
            lanes.put(struck, part)

    def _end(self, lanes: Lanes) -> None:
        if self._rebuilds.in_use:
            self._rebuilds.end(lanes)
        for ends, values in zip(self._ends, lanes.values, strict=True):
            ends[lanes.number] = values

    def _ledgers(self) -> NDArray[np.float64]:
        lanes = Lanes(np.arange(self._ends.shape[1]), self._ends)
        columns: dict[str, float | Floats | Integers] = {
            "train": self._resolved.useful_time_s,
            "lost": lanes.lost_s,
            "save": lanes.save_s,
            "load": lanes.load_s,
            "reschedule": lanes.reschedule_s,
            "detect": lanes.detect_s,
            "slowdown": lanes.slowdown_s,
            "stall": lanes.stall_s,
            "wall": lanes.now_s,
            "pls": lanes.pls,
            "updates_lost": lanes.updates_lost,
            "failures": lanes.failures,
            "absorbed": self._cursors.absorbed,
            "saves": lanes.saves + lanes.finals,
            "stored": self._written(lanes, "store"),
            "sent": self._written(lanes, "peers"),
        }
        values = np.zeros((len(lanes), len(COLUMNS)))
        for name, column in columns.items():
            values[:, COLUMNS.index(name)] = column
        return values

    def _written(self, lanes: Lanes, medium: Medium) -> Floats:
        """Bytes that saves wrote to tiers of that kind, in full checkpoints."""
        plan, written = self._resolved.plan, np.zeros(len(lanes))
        for save, count in ((plan.schedules[0].save, lanes.saves), (plan.last_save, lanes.finals)):
            to, amount = self._resolved.amount(save)
            written += count * amount * (to == medium)
        return written


def _pace(resolved: ResolvedPlan, rate: float) -> Pace:
    (schedule,) = resolved.plan.schedules
    save_s, final_s = (
        transfer.volume / per_second if transfer.volume else 0.0
        for transfer, per_second in (
            resolved.save(schedule.save),
            resolved.save(resolved.plan.last_save),
        )
    )
    hold_s = save_s if schedule.save.blocking else resolved.snapshot_s(schedule.save)
    # Saves that are further apart than the job is long never come, whatever they are apart.
    period_s = min(schedule.period_s, 2 * resolved.useful_time_s)
    return Pace(
        resolved.useful_time_s, period_s, hold_s, final_s, resolved.final_save, rate, save_s
    )
