"""What the job has learned, what of it is safe, and what was lost."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Portions add up to a full save but for rounding.
_WHOLE = 1 - 1e-9


class Checkpoint(NamedTuple):
    """What the job returns to: useful seconds done, and how much longer than that they took."""

    progress_s: float
    slowdown_s: float


class State:
    """Progress of one run.

    `progress_s`: useful seconds done. `slowdown_s`: how much longer than that they took. `saved`:
    the last usable checkpoint of the whole job, at first its initial state. `lost_s`: wall-clock
    seconds of training that was rolled back. `pls` and `updates_lost`: shares of learning lost
    (see `Ledger`).

    Where a save takes a portion of the rows, `saved` is the last that completed a round of saves
    as large together as a full one. `left_s`: what a shard would lose just after its first, second,
    ... save since it was last whole, in useful seconds of updates; `period_s` lies between saves.
    """

    def __init__(
        self,
        useful_time_s: float,
        servers: int,
        left_s: Sequence[float] = (0.0,),
        period_s: float = math.inf,
    ) -> None:
        self.progress_s = 0.0
        self.slowdown_s = 0.0
        self.saved = Checkpoint(0.0, 0.0)
        self.saves = 0
        self._left_s = left_s
        self._period_s = period_s
        self._last_save_s = 0.0  # progress that the last save of any portion holds
        self._round = 0.0  # portions saved since `saved`
        self.lost_s = 0.0
        self.pls = 0.0
        self._per_shard = 1.0 / (useful_time_s * servers)
        self._lost_for_good = 0.0  # shares of updates lost before `saved`
        self._lost_since = 0.0  # and after it, which a rollback of the whole job makes up for
        self._set_back: dict[int, float] = {}  # server: progress when its shard was last set back

    @property
    def updates_lost(self) -> float:
        """Share of all updates that were made and then lost for good."""
        return self._lost_for_good + self._lost_since

    def checkpoint(self) -> Checkpoint:
        """What a save that starts now will hold."""
        return Checkpoint(self.progress_s, self.slowdown_s)

    def usable(self, checkpoint: Checkpoint, portion: float = 1.0) -> None:
        """The last byte of `checkpoint`, which holds `portion` of the rows, is stored."""
        self.saves += 1
        if checkpoint.progress_s < self._last_save_s:
            return  # a newer one was usable before it
        self._last_save_s = checkpoint.progress_s
        self._round += portion
        if self._round < _WHOLE:
            return
        # What is beyond a round counts for the next, or rounds would be longer than the interval.
        self.saved, self._round = checkpoint, max(self._round - 1.0, 0.0)
        self._lost_for_good, self._lost_since = self.updates_lost, 0.0

    def roll_back(self) -> None:
        """The whole job returns to its last usable checkpoint."""
        saved = self.saved
        self.lost_s += self.progress_s - saved.progress_s + self.slowdown_s - saved.slowdown_s
        self.progress_s, self.slowdown_s = saved
        self._last_save_s, self._round = saved.progress_s, 0.0
        self._lost_since = 0.0
        self._set_back.clear()

    def lose(self, servers: Iterable[int]) -> None:
        """The shards of these servers alone return to the last usable checkpoint.

        (E4) counts all samples since that checkpoint, even those that an earlier failure of the
        same shard had already cost; `updates_lost` counts each update once, and not those that a
        later rollback of the whole job has trained again.
        """
        since_save_s = self.progress_s - self.saved.progress_s
        for server in servers:
            self.pls += since_save_s * self._per_shard
            self._lost_since += self._unsaved_s(self._set_back.get(server, 0.0)) * self._per_shard
            self._set_back[server] = self.progress_s

    def _unsaved_s(self, whole_s: float) -> float:
        """Updates of a shard that no save holds, in useful seconds; it was whole at `whole_s`.

        What its saves have left, and all that came after the last of them. A first period that is
        shorter than the others, since the shard was set back within it, counts as that part of one.
        """
        if whole_s >= self._last_save_s:
            return self.progress_s - whole_s
        saves = (self._last_save_s - whole_s) / self._period_s
        return self.progress_s - self._last_save_s + _between(self._left_s, saves)


def _between(left_s: Sequence[float], saves: float) -> float:
    """What is left after `saves` saves, a part of one counting as that part."""
    whole = int(saves)
    if whole >= len(left_s):
        return left_s[-1]
    before = left_s[whole - 1] if whole else 0.0
    return before + (saves - whole) * (left_s[whole] - before)
