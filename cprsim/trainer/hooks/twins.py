"""Groups that hold the same rows: they are averaged, and fill each other's lost shards."""

from collections.abc import Collection
from typing import Any

from cprsim.errors import RunError, UsageError
from cprsim.trainer.hooks.adapter import ShardAdapter
from cprsim.trainer.hooks.nested import packed, unpacked
from cprsim.trainer.hooks.process_state import ProcessState
from cprsim.trainer.hooks.ranks import Ranks


class TwinShards:
    """Shards with the same rows, in whatever processes they are.

    `adapter`: averages the groups; one without `average()` raises `UsageError`. `state`: the rows
    of this process. `ranks`: the processes of the job. `averaged`: the step after which all groups
    were the same.
    """

    def __init__(self, adapter: ShardAdapter[Any], state: ProcessState[Any], ranks: Ranks) -> None:
        average = getattr(adapter, "average", None)
        if average is None:
            raise UsageError(
                "the adapter has no average(), and the policy averages groups that hold the same "
                "rows; give it one (TwinAdapter), for TorchRec's DMPCollection its sync"
            )
        self._average, self._state, self._ranks = average, state, ranks
        self.averaged = 0

    def average(self, step: int) -> None:
        """Make all groups the same, after so many steps; what was learned by then is with each."""
        self._average()
        self._state.updates.saved(None, sure=True)
        self.averaged = step

    def fill(self, lost: Collection[int]) -> list[tuple[int, int]]:
        """Fill lost shards by others with the same rows.

        Gives of each that is here the step up to which nothing of it is lost, and its bytes.
        Whoever holds a shard says which rows are in it, and the first that has them, too, sends
        them to all.
        """
        state, ranks = self._state, self._ranks
        self.averaged = -ranks.least(-self.averaged)  # of one that has just been started, none is
        left = [shard for shard in state.shards if shard not in lost]
        filled = []
        for shard in sorted(lost):
            here = shard in state.shards
            rows = ranks.copied(packed(state.rows_of(shard)) if here else None)
            wanted = None if rows is None else unpacked(rows)
            twins = [each for each in left if state.rows_of(each) == wanted]
            content = ranks.copied(packed(state.content(twins[0])) if twins else None)
            if content is None:
                raise RunError(
                    f"on_failure(): no other shard has the rows of shard {shard}; shards() of a "
                    "process in each group has to give the same parts of the same tables"
                )
            if here:
                state.take(shard, unpacked(content))
                filled.append((self.averaged, sum(each.nbytes for each in content)))
        return filled
