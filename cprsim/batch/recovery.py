"""Failures of many runs at once: who is set back, and what is waited for."""

from typing import NamedTuple

import numpy as np

from cprsim.batch.background import land
from cprsim.batch.cursors import Cursors, LaneDraws
from cprsim.batch.hits import HitRows
from cprsim.batch.lanes import Floats, Integers, Lanes, Mask
from cprsim.batch.rebuilds import Rebuilds
from cprsim.batch.recover_table import RecoverTable
from cprsim.batch.spares import ConstantDelay, LaneSpares
from cprsim.batch.state import Shards
from cprsim.batch.ties import too_close
from cprsim.contract import rules
from cprsim.sim.resolved import ResolvedPlan

#: A run with so many failures is handed over: one by one they are quicker.
_MOST_FAILURES = 100_000
#: A run with more failures than this in a row while loading is handed over.
_MOST_IN_A_ROW = 50


class _Waiting(NamedTuple):
    """What is waited for since earlier failures, and the answer that went furthest back."""

    down: HitRows
    deepest: Integers


class _Loss(NamedTuple):
    """A failure: when, whom it hit, all who are waited for, and the servers that are only now."""

    at_s: Floats
    hits: HitRows
    down: HitRows
    new: HitRows

    def take(self, which: Mask) -> "_Loss":
        hits, down, new = (each.take(which) for each in (self.hits, self.down, self.new))
        return _Loss(self.at_s[which], hits, down, new)


class LaneRecovery:
    """Brings runs back to training after failures.

    `handed`: which runs are beyond it: too close to call, hopeless, or with a failure while nodes
    are rebuilt in the background.
    """

    def __init__(
        self,
        resolved: ResolvedPlan,
        cursors: Cursors,
        delays: ConstantDelay | LaneDraws,
        spares: LaneSpares,
        shards: Shards,
        rebuilds: Rebuilds,
        table: RecoverTable,
        handed: Mask,
    ) -> None:
        self._resolved, self._cursors, self._delays, self._spares = (
            resolved,
            cursors,
            delays,
            spares,
        )
        self._shards, self._rebuilds, self._table = shards, rebuilds, table
        self._handed = handed

    def recover(self, lanes: Lanes) -> None:
        """From failures at this instant until training can go on, or the run is handed over."""
        if self._rebuilds.in_use:
            self._hand_over(lanes, np.isfinite(self._rebuilds.event_s[lanes.number]))
        self._attempt(lanes, None, 1)
        lanes.next_s[:] = self._cursors.next_s[lanes.number]

    def _attempt(self, lanes: Lanes, waiting: _Waiting | None, in_a_row: int) -> None:
        """Recover; where a failure strikes while loading, again, for the nodes of both."""
        self._hand_over(lanes, hopeless(lanes, self._resolved.useful_time_s))
        land(lanes)
        loss = self._strike(lanes, waiting)
        answers = self._table.numbers_of(loss.down)
        depth = self._table.depth[answers]
        self._hand_over(lanes, ~self._table.supported[answers])
        self._set_back(lanes, depth, loss.new)
        delay_s = self._replacement_s(lanes, loss.hits) + self._table.takeover_s[answers]
        lanes.now_s += self._resolved.detect_s
        lanes.detect_s += self._resolved.detect_s
        keeps = rules.r13_trains_on(self._table.keeps[answers], depth)
        if waiting is not None:
            self._hand_over(lanes, keeps)
            as_deep = rules.r12_goes_as_deep(depth, self._table.depth[waiting.deepest])
            answers = np.where(as_deep, answers, waiting.deepest)
        elif keeps.any():
            answers = np.broadcast_to(answers, len(lanes))
            keeps = np.broadcast_to(keeps, len(lanes))
            self._train_on(lanes, keeps, loss.hits, answers, delay_s)
            if keeps.all():
                return
            rest = lanes.take(~keeps)
            self._wait(rest, loss.take(~keeps), answers[~keeps], delay_s[~keeps], in_a_row)
            lanes.put(~keeps, rest)
            return
        self._wait(lanes, loss, answers, delay_s, in_a_row)

    def _strike(self, lanes: Lanes, waiting: _Waiting | None) -> _Loss:
        hits = self._cursors.strike(lanes.number)
        lanes.failures += 1
        if waiting is None:
            return _Loss(lanes.now_s.copy(), hits, hits, hits)
        servers, trainers = self._shards.servers, self._resolved.costs.cluster.trainers
        before = waiting.down.marked(servers, trainers)
        after = hits.marked(servers, trainers)
        severity = np.maximum(waiting.down.severity, hits.severity)
        return _Loss(
            lanes.now_s.copy(),
            hits,
            HitRows.from_marked(before | after, servers, severity),
            HitRows.from_marked(after & ~before, servers, severity),
        )

    def _set_back(self, lanes: Lanes, depth: Integers, new: HitRows) -> None:
        """Return who has to return to a checkpoint."""
        void = rules.r9_is_void(depth, new.server_count, trained_on=True)
        lanes.lands_s[:] = np.where(void, np.inf, lanes.lands_s)
        back = depth == rules.ALL
        if back.all():
            self._shards.roll_back(lanes)
            return
        if back.any():
            part = lanes.take(back)
            self._shards.roll_back(part)
            lanes.put(back, part)
        lost = depth == rules.LOST
        if lost.any():
            for servers in new.servers.T:
                self._shards.lose(lanes, servers if lost.all() else np.where(lost, servers, -1))

    def _replacement_s(self, lanes: Lanes, hits: HitRows) -> Floats:
        index = lanes.failures.astype(np.intp) - 1
        delay_s = self._delays.at(lanes.number, index)
        return self._spares.wait_s(lanes.number, hits.nodes, lanes.now_s, delay_s)

    def _train_on(
        self, lanes: Lanes, keeps: Mask, hits: HitRows, answers: Integers, delay_s: Floats
    ) -> None:
        """The lost nodes are replaced and filled while the rest trains on."""
        part, hits, answers = lanes.take(keeps), hits.take(keeps), answers[keeps]
        self._rebuilds.start(part, hits, answers, delay_s[keeps])
        pause_s = self._table.pause_s[answers]
        part.now_s += pause_s
        part.reschedule_s += pause_s
        self._rebuilds.settle(part)
        self._resume(part, part.now_s)
        lanes.put(keeps, part)

    def _wait(
        self, lanes: Lanes, loss: _Loss, deepest: Integers, delay_s: Floats, in_a_row: int
    ) -> None:
        """Everyone waits for the lost nodes, and for what they load.

        Where a node that is up fails before they are there, the run is handed over.
        """
        could = self._resolved.can_fail_waiting(self._table.depth[deepest])
        up = np.broadcast_to(could, len(lanes))
        self._resume(lanes, loss.at_s, up)
        lanes.now_s += delay_s
        lanes.reschedule_s += delay_s
        if up.any():
            ahead_s = self._cursors.next_s[lanes.number] - lanes.now_s
            self._hand_over(lanes, up & (ahead_s < 0))
            self._hand_over(lanes, up & too_close(np.abs(ahead_s), lanes.now_s, lanes.saves))
        self._cursors.replace(lanes.number, loss.hits, lanes.now_s)
        self._load(lanes, loss.down, deepest, up, in_a_row)

    def _load(
        self, lanes: Lanes, down: HitRows, deepest: Integers, up: Mask, in_a_row: int
    ) -> None:
        """Everyone waits for what is loaded; `up`: where failures go on already."""
        load_s = self._table.load_s(deepest, down.server_count, lanes.saved_s > 0)
        ready_s = lanes.now_s + load_s
        if not self._resolved.during_recovery:
            lanes.load_s += load_s
            lanes.now_s[:] = ready_s
            self._resume(lanes, ready_s)
            return
        self._resume(lanes, lanes.now_s, ~up)
        next_s = self._cursors.next_s[lanes.number]
        self._hand_over(lanes, too_close(np.abs(next_s - ready_s), ready_s, lanes.saves))
        struck = next_s < ready_s
        end_s = np.minimum(next_s, ready_s)
        lanes.load_s += np.where(struck, end_s - lanes.now_s, load_s)
        lanes.now_s[:] = end_s
        struck &= ~self._handed[lanes.number]
        if not struck.any():
            return
        if in_a_row == _MOST_IN_A_ROW:
            self._hand_over(lanes, struck)
            return
        part = lanes.take(struck)
        deepest = np.broadcast_to(deepest, len(lanes))
        waiting = _Waiting(down.take(struck), deepest[struck])
        self._attempt(part, waiting, in_a_row + 1)
        lanes.put(struck, part)

    def _resume(self, lanes: Lanes, now_s: Floats, which: Mask | None = None) -> None:
        """Failures go on from then, in these runs or in all."""
        if which is not None and not which.all():
            if which.any():
                part = lanes.take(which)
                self._resume(part, now_s[which])
            return
        margin_s = self._cursors.resume(lanes.number, now_s)
        self._hand_over(lanes, too_close(margin_s, now_s, lanes.saves))

    def _hand_over(self, lanes: Lanes, which: Mask) -> None:
        if which.any():
            self._handed[lanes.number[np.broadcast_to(which, len(lanes))]] = True


def hopeless(lanes: Lanes, useful_time_s: float) -> Mask:
    """Which runs `cprsim.sim` may have given up, or will."""
    nowhere = rules.r29_gets_nowhere(lanes.now_s, useful_time_s, lanes.failures + lanes.saves)
    return np.asarray(nowhere | (lanes.failures >= _MOST_FAILURES))
