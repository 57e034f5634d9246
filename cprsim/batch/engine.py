"""Replications of a scenario, many at once: the same ledgers as those of `cprsim.sim`."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import COHORT, Cause, Rows
from cprsim.batch import background
from cprsim.batch import blocking as course
from cprsim.batch import support as fit
from cprsim.batch.answers import Answers
from cprsim.batch.blocking import Pace
from cprsim.batch.cursors import Front, Stack, fronts
from cprsim.batch.lanes import Floats, Lanes, Mask, Whole
from cprsim.batch.rebuilds import Rebuilds
from cprsim.batch.recovery import Recovery, hopeless
from cprsim.batch.spares import Always, Spares
from cprsim.batch.state import Shards
from cprsim.batch.ties import close
from cprsim.job.tiers import Medium
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.sim.engine import COLUMNS
from cprsim.sim.resolved import Setting

#: Lanes at once: more take memory and gain nothing, fewer don't repay a call of NumPy.
_LANES = 64 * COHORT
#: How many numbers a chunk may take for its nodes, and for the failures that useful time brings.
_NUMBERS = 4_000_000


def simulate(
    scenario: Scenario, policies: Sequence[str], replications: Sequence[int], seed: int
) -> NDArray[np.float64]:
    """As `cprsim.sim.engine.simulate`, for policies that `unfit` has nothing against."""
    settings = [Setting.of(scenario, name) for name in policies]
    values = np.empty((len(replications), len(settings), len(COLUMNS)))
    size = _chunk(scenario)
    for start in range(0, len(replications), size):
        numbers = np.asarray(replications[start : start + size])
        values[start : start + size] = _Chunk(scenario, numbers, seed).play(settings, policies)
    return values


def unfit(scenario: Scenario, policy: str) -> str | None:
    """Why a policy can't be played here, or None."""
    cohort = scenario.failure_model.process.cohort(0, 0)
    return fit.unfit(Setting.of(scenario, policy), cohort)


def _chunk(scenario: Scenario) -> int:
    failures, job = scenario.failure_model, scenario.job
    drawn = 1 + failures.servers_hit + failures.trainers_hit
    numbers = failures.nodes + math.ceil(job.useful_time_s / failures.mtbf_s * drawn)
    return max(min(_LANES, _NUMBERS // numbers // COHORT * COHORT), COHORT)


class _Chunk:
    """Some replications, whose failures are drawn once for all policies."""

    def __init__(self, scenario: Scenario, numbers: Whole, seed: int) -> None:
        self._scenario, self._numbers, self._seed = scenario, numbers, seed
        cohorts, which = np.unique(numbers // COHORT, return_inverse=True)
        self._place = which * COHORT + numbers % COHORT
        process = scenario.failure_model.process
        self._cohorts = [process.cohort(seed, int(each)) for each in cohorts]
        self._delays = self._rescheduling([int(each) for each in cohorts])

    def _rescheduling(self, cohorts: Sequence[int]) -> Always | Stack:
        delay = self._scenario.costs.reschedule
        if not isinstance(delay, Distribution):
            return Always(delay)
        rows = [Rows(delay.sample, self._seed, each, Cause.RESCHEDULE) for each in cohorts]
        return Stack(rows, self._place)

    def play(self, settings: Sequence[Setting], policies: Sequence[str]) -> NDArray[np.float64]:
        """Ledgers, of shape (replications, policies, len(COLUMNS))."""
        values = np.empty((len(self._numbers), len(settings), len(COLUMNS)))
        front = fronts(self._cohorts, self._place)
        for i, (setting, policy) in enumerate(zip(settings, policies, strict=True)):
            runs = Runs(setting, front(), self._delays)
            values[:, i], handed = runs.play()
            if handed.any():
                numbers = self._numbers[handed].tolist()
                values[handed, i] = sim.simulate(self._scenario, [policy], numbers, self._seed)[
                    :, 0
                ]
        return values


class Runs:
    """Runs of one policy, each on its own failures."""

    def __init__(self, setting: Setting, front: Front, delays: Always | Stack) -> None:
        count = len(front.next_s)
        (schedule,) = setting.plan.schedules
        self._set, self._front = setting, front
        self._handed = np.zeros(count, np.bool_)
        self._answers = Answers(setting)
        self._shards = Shards(count, setting.servers, setting.useful_time_s, schedule)
        self._rebuilds = Rebuilds(count, front, self._shards, self._answers)
        self._recovery = Recovery(
            setting,
            front,
            delays,
            Spares(count, setting.spares),
            self._shards,
            self._rebuilds,
            self._answers,
            self._handed,
        )
        self._pace = _pace(setting, self._answers.full_rate)
        self._advance = course.advance if schedule.save.blocking else background.advance
        self._lanes = Lanes.start(count)
        self._lanes.due_s[:] = self._pace.period_s
        self._lanes.next_s[:] = front.next_s
        self._ends = np.zeros_like(self._lanes.values)
        self._saved_s = np.full(count, np.inf)

    def play(self) -> tuple[NDArray[np.float64], Mask]:
        """Ledgers, of shape (lanes, len(COLUMNS)), but of those that are handed over."""
        lanes = self._lanes
        while len(lanes):
            until_s, pace = lanes.next_s, self._pace
            if self._rebuilds.any:
                until_s = np.minimum(until_s, self._rebuilds.event_s[lanes.number])
                pace = pace._replace(rate=self._rebuilds.rate[lanes.number])
            self._watch(lanes)
            ended, lanes, unsure = self._advance(lanes, pace, until_s)
            self._handed[unsure] = True
            self._hand_over(ended)
            self._hand_over(lanes)
            self._end(ended)
            lanes = lanes.take(~self._handed[lanes.number])
            self._meet(lanes)
            lanes = lanes.take(~self._handed[lanes.number])
        return self._ledgers(), self._handed

    def _watch(self, lanes: Lanes) -> None:
        """Remember how long runs have saved in which a save would now be slowed."""
        if self._rebuilds.any:
            slow = self._rebuilds.slow_saves(lanes)
            self._saved_s[lanes.number] = np.where(slow, lanes.save_s, np.inf)

    def _hand_over(self, lanes: Lanes) -> None:
        """Runs whose saves were slowed, and those that seem to get nowhere, are not for here."""
        beyond = hopeless(lanes, self._set.useful_time_s)
        if self._rebuilds.any:
            beyond |= lanes.save_s > self._saved_s[lanes.number]
        self._handed[lanes.number[beyond]] = True

    def _meet(self, lanes: Lanes) -> None:
        """Go through what happens now."""
        if self._rebuilds.any:
            event_s = self._rebuilds.event_s[lanes.number]
            near = close(np.abs(event_s - lanes.next_s), lanes.now_s, lanes.saves)
            self._handed[lanes.number[near]] = True
            self._rebuilds.pass_by(lanes)
            lanes.next_s[:] = self._front.next_s[lanes.number]
        struck = (lanes.next_s <= lanes.now_s) & ~self._handed[lanes.number]
        if struck.any():
            part = lanes.take(struck)
            self._recovery.recover(part)
            lanes.put(struck, part)

    def _end(self, lanes: Lanes) -> None:
        if self._rebuilds.any:
            self._rebuilds.end(lanes)
        for ends, values in zip(self._ends, lanes.values, strict=True):
            ends[lanes.number] = values

    def _ledgers(self) -> NDArray[np.float64]:
        lanes = Lanes(np.arange(self._ends.shape[1]), self._ends)
        columns: dict[str, float | Floats | Whole] = {
            "train": self._set.useful_time_s,
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
            "absorbed": self._front.absorbed,
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
        save, last = (
            self._set.written({(each.tier, each.portion, each.writes): 1}, medium)
            for each in (self._set.plan.schedules[0].save, self._set.plan.last_save)
        )
        return lanes.saves * save + lanes.finals * last


def _pace(setting: Setting, rate: float) -> Pace:
    (schedule,) = setting.plan.schedules
    save_s, final_s = (
        transfer.volume / per_second if transfer.volume else 0.0
        for transfer, per_second in (
            setting.save(schedule.save),
            setting.save(setting.plan.last_save),
        )
    )
    hold_s = save_s if schedule.save.blocking else setting.snapshot_s(schedule.save)
    # Saves that are further apart than the job is long never come, whatever they are apart.
    period_s = min(schedule.period_s, 2 * setting.useful_time_s)
    return Pace(setting.useful_time_s, period_s, hold_s, final_s, setting.final_save, rate, save_s)
