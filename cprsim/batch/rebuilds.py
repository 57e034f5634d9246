"""Nodes that are replaced and filled while the job trains on, one failure's at a time."""

import numpy as np

from cprsim.batch.cursors import Cursors
from cprsim.batch.hits import HitRows
from cprsim.batch.lanes import Floats, Integers, Lanes, Mask
from cprsim.batch.recover_table import RecoverTable
from cprsim.batch.state import Shards
from cprsim.contract import rules


class Rebuilds:
    """What is under way in each lane.

    `in_use`: whether any lane ever rebuilt something. `event_s`: when the lost nodes are placed, or
    filled; infinite for none. `rate`: useful seconds of training in a second beside it.
    """

    def __init__(self, lanes: int, cursors: Cursors, shards: Shards, table: RecoverTable) -> None:
        self._cursors, self._shards, self._table = cursors, shards, table
        self.in_use = False
        self.event_s = np.full(lanes, np.inf)
        self.rate = np.full(lanes, table.full_rate)
        self._filling = np.zeros(lanes, np.bool_)
        self._answer = np.zeros(lanes, np.intp)
        self._hits = HitRows.none(lanes)

    def start(self, lanes: Lanes, hits: HitRows, answers: Integers, delay_s: Floats) -> None:
        """These nodes are lost, and others will be placed after `delay_s`."""
        # One rebuild a lane at a time: a run in which a failure finds one under way is handed over.
        # So what stands here of these lanes is over, and may be overwritten.
        which, self.in_use = lanes.number, True
        self._hits = self._hits.put(which, hits)
        self._answer[which] = answers
        self._filling[which] = False
        self.rate[which] = self._table.rate[answers]
        self.event_s[which] = lanes.now_s + delay_s

    def slow_saves(self, lanes: Lanes) -> Mask:
        """Where lost shards are being filled over links that saves need as well."""
        slows = self._table.slows_saves[self._answer[lanes.number]]
        return np.asarray(self._filling[lanes.number] & slows)

    def settle(self, lanes: Lanes) -> None:
        """Carry out the placements and fillings that are over by now."""
        # A filling that takes no time ends at once, so a lane may be due twice. By absolute times:
        # each turn ends a placement or a filling, and no lane has more than one of each.
        while (due := self.event_s[lanes.number] <= lanes.now_s).any():
            part = lanes.take(due)
            # Asked before either is carried out: who begins to be filled in this turn is seen to in
            # the next.
            filling = self._filling[part.number]
            self._fill(part.take(~filling))
            filled = part.take(filling)
            self._serve(filled)
            part.put(filling, filled)
            lanes.put(due, part)

    def end(self, lanes: Lanes) -> None:
        """These jobs are done; shards that are still down have missed what they won't learn."""
        self._refill(lanes, np.isfinite(self.event_s[lanes.number]))

    def _fill(self, lanes: Lanes) -> None:
        """The nodes are placed: trainers are back, servers are filled."""
        which = lanes.number
        hits, at_s = self._hits.take(which), self.event_s[which]
        self._cursors.replace(which, hits.only_trainers(), at_s)
        answers, servers = self._answer[which], hits.server_count
        fill_s = self._table.load_s(answers, servers, lanes.saved_s > 0)
        # Without servers there is nothing to fill: due at once, and over in the next turn.
        self._filling[which] = True
        self.event_s[which] = np.where(servers > 0, at_s + fill_s, at_s)
        both = (servers > 0) & (hits.nodes > servers)
        if both.any():
            left = hits.take(both).only_servers()
            serving = self._table.numbers_of(
                left
            )  # may be an answer that is new to the table of rates
            self.rate[which[both]] = self._table.rate[serving]

    def _serve(self, lanes: Lanes) -> None:
        """The servers serve again."""
        which = lanes.number
        self._refill(lanes, np.ones(len(which), np.bool_))
        # Lives begin when the servers serve, not when they were placed: until then they are down
        # for every purpose, and no failure of theirs can strike.
        self._cursors.replace(which, self._hits.take(which).only_servers(), self.event_s[which])
        self.event_s[which] = np.inf
        self._filling[which] = False
        self.rate[which] = self._table.full_rate

    def _refill(self, lanes: Lanes, down: Mask) -> None:
        missed = down & (self._table.depth[self._answer[lanes.number]] == rules.LOST)
        if missed.any():
            for column in self._hits.servers[lanes.number].T:
                self._shards.refill(lanes, np.where(missed, column, -1))
