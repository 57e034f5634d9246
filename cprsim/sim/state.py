"""What the job has learned, what of it is safe, and what was lost."""

from collections.abc import Iterable
from typing import NamedTuple


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
    """

    def __init__(self, useful_time_s: float, servers: int) -> None:
        self.progress_s = 0.0
        self.slowdown_s = 0.0
        self.saved = Checkpoint(0.0, 0.0)
        self.saves = 0
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

    def usable(self, checkpoint: Checkpoint) -> None:
        """The last byte of `checkpoint` is stored."""
        self.saves += 1
        if checkpoint.progress_s < self.saved.progress_s:
            return  # a newer one was usable before it
        self.saved = checkpoint
        self._lost_for_good, self._lost_since = self.updates_lost, 0.0

    def roll_back(self) -> None:
        """The whole job returns to its last usable checkpoint."""
        saved = self.saved
        self.lost_s += self.progress_s - saved.progress_s + self.slowdown_s - saved.slowdown_s
        self.progress_s, self.slowdown_s = saved
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
            since_set_back_s = self.progress_s - self._set_back.get(server, 0.0)
            self.pls += since_save_s * self._per_shard
            self._lost_since += min(since_save_s, since_set_back_s) * self._per_shard
            self._set_back[server] = self.progress_s
