"""What shards lose, lane by lane: `cprsim.sim.state` for one tier of blocking saves."""

import numpy as np

from cprsim.batch.lanes import Floats, Integers, Lanes
from cprsim.contract import Schedule, rules


class Shards:
    """The shards of all lanes, and the rules of losing them.

    `set_back_s[i, k]`: progress when shard k of lane i last came back from a checkpoint.
    """

    def __init__(self, lanes: int, servers: int, useful_time_s: float, schedule: Schedule) -> None:
        self._set_back_s = np.zeros((lanes, servers))
        self._per_shard = 1.0 / rules.r23_all(useful_time_s, servers)
        self.servers = servers
        self._period_s = schedule.period_s
        self._portion = schedule.save.portion
        self._unsaved_s = schedule.save.unsaved_s
        self._rounds = [0]  # the last save that completed a round of portions, after so many
        self._portions = 0.0

    def lose(self, lanes: Lanes, servers: Integers) -> None:
        """One shard of each lane, -1 for none, returns to its last checkpoint."""
        hit = servers >= 0
        which, servers = lanes.number[hit], servers[hit]
        progress_s, saved_s = lanes.progress_s[hit], lanes.saved_s[hit]
        lost_s = rules.r23_lost(progress_s, self._whole_s(lanes)[hit])
        lanes.pls[hit] += lost_s * self._per_shard
        whole_s = self._set_back_s[which, servers]
        unsaved_s = progress_s - np.maximum(whole_s, saved_s) + self._unsaved_of(whole_s, saved_s)
        lanes.updates_lost[hit] += unsaved_s * self._per_shard
        self._set_back_s[which, servers] = progress_s

    def refill(self, lanes: Lanes, servers: Integers) -> None:
        """One shard of each lane, -1 for none, has missed what was trained while it was down."""
        hit = servers >= 0
        which, servers, progress_s = lanes.number[hit], servers[hit], lanes.progress_s[hit]
        missed_s = progress_s - self._set_back_s[which, servers]
        lanes.updates_lost[hit] += missed_s * self._per_shard
        self._set_back_s[which, servers] = progress_s

    def roll_back(self, lanes: Lanes) -> None:
        """All of these jobs return to their last checkpoint."""
        lanes.lost_s += lanes.progress_s - lanes.saved_s + lanes.slowdown_s - lanes.saved_slowdown_s
        lanes.progress_s[:], lanes.slowdown_s[:] = lanes.saved_s, lanes.saved_slowdown_s
        lanes.updates_lost[:] = lanes.saved_lost
        if any(self._unsaved_s):
            set_back_s = self._set_back_s[lanes.number]
            unsaved_s = self._unsaved_of(set_back_s, lanes.saved_s[:, np.newaxis]).sum(axis=1)
            lanes.updates_lost += unsaved_s * self._per_shard
        lanes.saved_lost[:] = lanes.updates_lost
        lanes.base_s[:], lanes.round[:] = lanes.saved_s, 0.0
        self._set_back_s[lanes.number] = lanes.saved_s[:, np.newaxis]
        lanes.due_s[:] = rules.r3_due_s(lanes.due_s, lanes.progress_s, self._period_s)
        lanes.rest_s[:] = lanes.final[:] = 0.0

    def _unsaved_of(self, whole_s: Floats, saved_s: Floats) -> Floats:
        """What the last saves left of shards that were whole at `whole_s`, s of updates."""
        saves = np.maximum(saved_s - whole_s, 0.0) / self._period_s
        return np.asarray(rules.r25_unsaved_s(self._unsaved_s, saves))

    def _whole_s(self, lanes: Lanes) -> Floats:
        """Progress at the last save that completed a round of portions."""
        if self._portion == 1.0:
            return lanes.saved_s
        count = lanes.round.astype(np.intp)
        self._count_rounds(int(count.max(initial=0)))
        last = np.array(self._rounds)[count]
        return np.where(last > 0, lanes.saved_s - (count - last) * self._period_s, lanes.base_s)

    def _count_rounds(self, saves: int) -> None:
        while len(self._rounds) <= saves:
            complete, self._portions = rules.r25_round(self._portions, self._portion)
            self._rounds.append(len(self._rounds) if complete else self._rounds[-1])
