"""Naive partial recovery: only the lost shards return to the last checkpoint."""

from typing import Literal

from cprsim.contract import Always, Context, Interval, Plan, Policy, Recover, every
from cprsim.policies.full import checkpoint_interval_s

#: Lost servers load their last checkpoint, the rest keeps its progress and waits for them. A lost
#: trainer takes no embedding state with it, and the others hold copies of the dense part: nobody
#: rolls back, the job waits for the replacement.
PARTIAL_ROLLBACK = Always(Recover(rollback="lost"))


def partial_plan(interval_s: float) -> Plan:
    """Blocking saves of everything every `interval_s`, rollback of the lost shards alone."""
    return Plan("partial", every(interval_s), PARTIAL_ROLLBACK)


class Partial(Policy):
    """Save everything while training waits; a failure takes only the lost shards back to a save.

    Source: CPR's first step (Maeng et al., MLSys 2021), at full recovery's own interval.

    (E2): O_save T/T_save + (O_load + O_res) T/T_fail. What the lost shards had learned since the
    last checkpoint is lost for good: `pls`, by (E4).
    """

    system: Literal["partial"]
    interval: Interval = "optimal"

    def plan(self, context: Context) -> Plan:
        """Save at the interval, answer every loss with a rollback of the lost shards."""
        mtbf_s = self.unannounced_s(context)
        return partial_plan(
            checkpoint_interval_s(self.interval, self.whole_save_s(context), mtbf_s)
        )
