"""CPR: partial recovery at the interval that a target on lost samples allows."""

import math
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from cprsim.basics.schema import Part
from cprsim.contract import REMOTE, Context, Interval, Plan, Policy
from cprsim.contract.expected import expected
from cprsim.contract.failure_kinds import mean_delay_s
from cprsim.formulas.attempts import mean_attempts
from cprsim.formulas.pls import least_pls, mean_pls, mean_pls_interval_s, pls_interval_s
from cprsim.policies.full import checkpoint_interval_s, full_plan
from cprsim.policies.partial import partial_plan


def expected_to_cost_less(partial: Plan, full: Plan, context: Context) -> bool:
    """(E7): whether partial recovery is expected to cost less than full recovery."""
    return expected(partial, context).overhead < expected(full, context).overhead


class Cpr(Policy):
    """Partial recovery with checkpoints as rare as `target_pls` allows (CPR, MLSys 2021).

    `target_pls`: the portion of lost samples to accept in return for fewer saves. `pls_interval`:
    how the interval follows from it; `"mean"` solves the mean PLS of this job, with what is lost in
    a save, in recoveries, and at the end of the job; it expects more loss than there is where a
    recovery takes more than a fifth of the MTBF. `"E6"` is the paper's T_save = 2 PLS N_emb T_fail,
    divided by the mean number of servers that one failure takes down, since each of them loses its
    own share; it counts neither saves, nor recoveries, nor the end of the job. Where no interval
    meets the target, or (E7) where (E2) at that interval costs no less than (E1) at full recovery's
    optimum, the plan is full recovery. `interval`: training from one save to the next; one that is
    given leaves nothing to resolve or decide: it is partial recovery then. Failures that are
    announced and answered (`on_notice`) count as none.
    """

    target_pls: Annotated[float, Field(gt=0, le=1), Part] = 0.1
    pls_interval: Literal["mean", "E6"] = "mean"
    interval: Interval | None = None

    def plan(self, context: Context) -> Plan:
        """Resolve the interval and decide by (E7), or take the interval that is given."""
        if self.interval is not None:
            return self.partial(context, self.interval_s(context))
        mtbf_s = self.unannounced_s(context)
        full = full_plan(checkpoint_interval_s("optimal", self.whole_save_s(context), mtbf_s))
        interval_s = self.interval_s(context)
        if interval_s == 0:
            return replace(full, note=self._beyond(context))
        partial = self.partial(context, interval_s)
        both = self.answered(partial, context), self.answered(full, context)
        if expected_to_cost_less(*both, context):
            return partial
        return replace(
            full,
            note=f"(E7) partial recovery at PLS {self.target_pls:g} is expected to cost no less",
        )

    def partial(self, _context: Context, interval_s: float) -> Plan:
        """Partial recovery at that interval, s."""
        return partial_plan(interval_s)

    def interval_s(self, context: Context) -> float:
        """Return the interval that meets the target, or was set, s; 0 where none meets it."""
        if self.interval is not None:
            mtbf_s = self.unannounced_s(context)
            return checkpoint_interval_s(self.interval, self.whole_save_s(context), mtbf_s)
        if self.pls_interval == "E6":
            hit = context.servers, context.servers_hit
            return pls_interval_s(self.target_pls, self.unannounced_s(context), *hit)
        job = self._effective_saves_and_failures(context)
        return mean_pls_interval_s(self.target_pls, *job, context.useful_time_s)

    def mean_pls(self, context: Context, interval_s: float) -> float:
        """The PLS of partial recovery at that interval, with saves, recoveries, and the end."""
        return mean_pls(
            interval_s, *self._effective_saves_and_failures(context), context.useful_time_s
        )

    def _beyond(self, context: Context) -> str:
        """Return why no interval meets the target."""
        least = least_pls(*self._effective_saves_and_failures(context))
        target = f"PLS {self.target_pls:g} cannot be met"
        return f"{target}: failures in saves, and in recoveries from them, lose {least:.3g}"

    def _effective_saves_and_failures(self, context: Context) -> tuple[float, float, int, float]:
        """Return seconds a save, MTBF, servers, and servers hit, as `formulas.pls` takes them.

        In useful seconds of training, which slower training has more failures in. Where lost saves
        are left out, checkpoints are older by a factor, as if failures came that much more often.
        """
        if context.servers_hit == 0:
            return 0.0, math.inf, context.servers, 0.0  # only trainers fail: no shard is lost
        portion, slower, writes, besides_s = self._saving(context)
        fails = context.costs.save_fails(REMOTE, bool(self.checksum))
        # Of the n = 1 / portion saves of a round a row waits for one to n, (n + 1) / 2 in the mean.
        each_s = self._save_s(context, REMOTE, portion, writes, besides_s)
        save_s = each_s / portion * (1 + portion) / 2
        older = 1.0
        if self.after_void == "skip" and portion == 1:
            older = (1 + fails) / (1 - fails)
            save_s /= 1 + fails  # with `older` that is 1 / (1 - fails), the attempts at each save
        else:
            save_s *= mean_attempts(fails)
        again = context.failures_per_recovery(*_recovery_s(context))
        mtbf_s = self.unannounced_s(context) / again / (1 + slower) / older
        return save_s / (1 + slower), mtbf_s, context.servers, context.servers_hit

    def _saving(self, _context: Context) -> tuple[float, float, float, float]:
        """Return what one save takes, and what saving slows.

        The portion of the rows, the slowdown of training, the share of that portion's bytes that is
        written, and further time of the save, s.
        """
        return 1.0, 0.0, 1.0, 0.0


def _recovery_s(context: Context) -> tuple[float, float]:
    """Means of what a failure is waited for, and of what is loaded then, s."""
    costs, delay_s = context.costs, mean_delay_s(context)
    taken = context.servers_hit + context.trainers_hit
    away = taken * delay_s / context.mtbf_s
    waiting_s = delay_s * _share_waited(costs.cluster.spares - taken + 1, away)
    together = max(1, round(context.servers_hit / context.server_failure_share))
    loading_s = costs.seconds(costs.load(REMOTE, "lost", together))
    attempts = mean_attempts(costs.load_fails(REMOTE))
    return context.detect_s + waiting_s + costs.regroup_mean_s, loading_s * attempts


class CprVanilla(Cpr):
    """Recover only the lost shards, and save as rarely as a target on lost samples (PLS) allows.

    Source: CPR (Maeng et al., MLSys 2021), without priorities: each save is of everything.
    """

    system: Literal["cpr-vanilla"]


def _share_waited(spares: float, away: float) -> float:
    """Mean wait for a machine, as a share of the delay until a lost one is replaced; 0 to 1.

    `spares`: how many failures the pool bears before one has to wait; 1 is returned for none.
    `away`: mean number of machines on their way to it, as the guests of a service with room for
    all, so Poisson (Palm's theorem), and due at times uniform over the delay. With n of them the
    wait is for the (n - spares + 1)th of n, or for the own one. First order: nobody else waits.
    """
    if spares <= 0:
        return 1.0
    share, likely = 0.0, math.exp(-away)
    for n in range(int(spares + 10 * (away + 5))):
        share += likely * max(n - spares + 1, 0.0) / (n + 1)
        likely *= away / (n + 1)
    return share
