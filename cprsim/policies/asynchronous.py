"""Asynchronous checkpoints: a short stall for a snapshot, then a save in the background."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, WrapValidator, model_validator

from cprsim.basics import units
from cprsim.basics.schema import A_DURATION, Bytes, PositiveSeconds, Seconds
from cprsim.contract.actions import Save
from cprsim.contract.plan import Growing, Plan, every
from cprsim.contract.policy import Context, Interval, Policy, Setting, whole_numbers
from cprsim.formulas.intervals import checkfreq_settled, checkfreq_steps
from cprsim.job.derived import snapshot
from cprsim.job.tiers import Tier
from cprsim.policies.full import FULL_ROLLBACK, checkpoint_interval_s

#: Steps that CheckFreq adds to its interval at a time.
_STEPS = 2
#: Saves under way at a time that a search tries: each takes a copy of the state in memory.
_MOST_IN_FLIGHT = 4
_RULE = "checkfreq"


_ALSO = {"anyOf": [{"enum": ["optimal", "exact", "never", _RULE]}, A_DURATION]}


def _or_rule(value: object, interval: Callable[[object], Any]) -> Any:
    return value if value == _RULE else interval(value)


class Async(Policy):
    """Copy the state and write it in the background; a failure takes the whole job back to a save.

    Source: CheckFreq (FAST 2021); Vaidya 1997.

    `snapshot`: how long it takes to copy the state to host memory; 0 for copy-on-write. By default
    a server's part of the checkpoint over `cluster.memory_bandwidth`. Training stalls for it. With
    `staging = "pinned"` the copy overlaps with one training step, of `iteration`, and training
    stalls for the rest of it alone: `max(0, snapshot - iteration)`. The save itself takes as long
    as a blocking one, longer where it shares bandwidth with training, and counts from the instant
    its last byte is stored: a failure before that returns to the one before it. The background
    write moves no optimum but bounds the interval: with `in_flight` saves under way at most, the
    next snapshot waits for the oldest of them. A lost server or trainer takes its part of every
    snapshot in memory with it, so saves in flight fail then.

    `interval = "checkfreq"`: `max(ceil((t_full - overhead) / iteration), 1)` steps at first, with
    `t_full` the snapshot and the save and `overhead` the stall; then, whenever the time from one
    save to the next was more than `max_overhead` longer than the training in it, 2 steps more.
    Times with a failure in them don't count. As CheckFreq's published code has it; 5 % is its
    default, 3.5 % what the paper reports.

    Host memory: a copy of the state for each save in flight, and with pinned memory, which is set
    aside for the whole run, one more that is filled meanwhile. `host_memory`: what each server has
    to spare for that; a plan that takes more is refused.

    `in_flight`: saves that may be under way at a time. `staging`: how the copy is made, into
    pageable memory, or during a training step into pinned memory. `iteration`: time of one training
    step, which `"pinned"` and `"checkfreq"` need. `max_overhead`: the share of time that
    `"checkfreq"` lets a save cost.
    """

    system: Literal["async"]
    interval: Annotated[Interval, WrapValidator(_or_rule), WithJsonSchema(_ALSO)] = "optimal"
    snapshot_s: Seconds | None = Field(None, alias="snapshot")
    in_flight: Annotated[int, Field(ge=1)] = 1
    staging: Literal["pageable", "pinned"] = "pageable"
    iteration_s: PositiveSeconds | None = Field(None, alias="iteration")
    max_overhead: Annotated[float, Field(gt=0)] = 0.05
    host_memory: Bytes | None = None

    @model_validator(mode="after")
    def _iteration_is_given(self) -> Self:
        needs = f"interval = '{_RULE}'" if self.interval == _RULE else None
        needs = "staging = 'pinned'" if self.staging == "pinned" else needs
        if needs is not None and self.iteration_s is None:
            raise ValueError(
                f"{needs} has to know how long a training step takes; give it, e.g. "
                'iteration = "500 ms"'
            )
        return self

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval, and saves in flight."""
        return (*super().settings(context), *whole_numbers("in_flight", 1, _MOST_IN_FLIGHT))

    def plan(self, context: Context) -> Plan:
        """Save at the interval, or as often as saves land where that is rarer."""
        self._check_memory(context)
        copied = snapshot(context.costs, self.snapshot_s)
        stall_s = self.stall_s(copied.value)
        # The stall is part of the snapshot: the rest of it lands during training.
        interval_s, growing = self._pace(context, stall_s, copied.value - stall_s)
        return Plan(
            recovery="full",
            schedules=every(interval_s, Save(blocking=False), self.in_flight),
            recover=FULL_ROLLBACK,
            tiers=(Tier("remote", snapshot_s=stall_s),),
            sequence=growing,
            memory_overhead=float(self.copies),
            own_costs=(copied,),
        )

    def stall_s(self, snapshot_s: float) -> float:
        """Return how long training stalls for a snapshot that takes so long, s."""
        if self.staging == "pageable":
            return snapshot_s
        return max(snapshot_s - self._step_s, 0.0)

    @property
    def copies(self) -> int:
        """Copies of the state that host memory holds at most."""
        return self.in_flight + (self.staging == "pinned")

    def _pace(
        self, context: Context, stall_s: float, hidden_s: float
    ) -> tuple[float, Growing | None]:
        """Return the interval, s; under CheckFreq's rule where it ends, and how it grows to that.

        `hidden_s`: the part of the snapshot that lands during training.
        """
        if self.interval != _RULE:
            landing_s = self.whole_save_s(context) / self.in_flight
            mtbf_s = self.unannounced_s(context)
            return background_interval_s(self.interval, stall_s, landing_s, mtbf_s), None
        step_s = self._step_s
        first = checkfreq_steps(hidden_s + self.whole_save_s(context), step_s, 0.0)
        settled = checkfreq_settled(first, step_s, stall_s, self.max_overhead)
        growing = Growing(first * step_s, _STEPS * step_s, self.max_overhead)
        return settled * step_s, growing

    @property
    def _step_s(self) -> float:
        """One training step, s, where its length has to be given."""
        assert self.iteration_s is not None
        return self.iteration_s

    def _check_memory(self, context: Context) -> None:
        if self.host_memory is None:
            return
        model = context.costs.model
        if model is None:
            raise ValueError("host_memory says nothing without [model]; give one, or leave it out")
        peak = self.copies * model.checkpoint_bytes / context.servers
        if peak > self.host_memory:
            raise ValueError(
                f"host_memory = {_bytes(self.host_memory)} is less than the {_bytes(peak)} that "
                f"{self.copies} {'copy takes' if self.copies == 1 else 'copies take'} on each "
                "server; give more, fewer in_flight, or more parameter_servers"
            )


def background_interval_s(
    rule: str | float, stall_s: float, landing_s: float, mtbf_s: float
) -> float:
    """Seconds of an `interval` setting for saves that land `landing_s` after a stall.

    A rule finds the optimum of the stall, or as often as saves land where that is rarer. Raises
    `ValueError` where neither takes any time.
    """
    if not isinstance(rule, str):
        return rule
    if stall_s == landing_s == 0:
        raise ValueError(
            "neither the snapshot nor the save takes any time, so no interval is optimal; "
            'give one, e.g. interval = "10 min"'
        )
    if stall_s == 0:
        return landing_s if mtbf_s < math.inf else math.inf
    return max(checkpoint_interval_s(rule, stall_s, mtbf_s), landing_s)


def _bytes(value: float) -> str:
    return units.format_exact(value, units.BYTES)
