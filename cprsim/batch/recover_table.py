"""What a plan answers to losses, and what that takes: arrays, by the number of the answer."""

import numpy as np
from numpy.typing import NDArray

from cprsim.batch.hits import HitRows
from cprsim.batch.lanes import Floats, Integers, Mask
from cprsim.batch.support import contends, contends_with_saves, trains_on
from cprsim.contract import Answers, Loss, Recover, rules
from cprsim.failures.hit import SEVERITIES
from cprsim.sim.resolved import ResolvedPlan

_MOST_PLACES = 62  # bits of a number


class RecoverTable:
    """The different answers of one plan, numbered as they come, and what each takes.

    The plan's rule is asked once about each loss.
    """

    def __init__(self, resolved: ResolvedPlan) -> None:
        self._resolved, self._rule = resolved, resolved.plan.recover
        self._numbers: dict[Recover, int] = {}
        self._by_loss: dict[Loss, int] = {}
        self._loads_s = np.empty((0, resolved.servers + 1, 2))
        self.answers: list[Recover] = []
        self.full_rate = resolved.training(0.0)[1]
        self.depth = np.empty(0, np.intp)
        self.supported = self.keeps = self.slows_saves = np.empty(0, np.bool_)
        self.rate, self.takeover_s, self.pause_s = (np.empty(0) for _ in range(3))
        cases = self._rule.cases if isinstance(self._rule, Answers) else ()
        self._only = self._number(cases[0].answer) if len(cases) == 1 else None

    def numbers_of(self, hits: HitRows) -> Integers:
        """The number of the answer to each loss, or of the only answer that there is."""
        if self._only is not None:
            return np.asarray(self._only)
        rows, which = _distinct(hits)
        return np.array([self._of_row(hits, row) for row in rows.tolist()], np.intp)[which]

    def load_s(self, answers: Integers, servers: Integers, saved: Mask) -> Floats:
        """What loading takes; `saved`: whether a save is loaded, and not the initial state."""
        if len(self._loads_s) < len(self.answers):
            table = np.full((len(self.answers), self._resolved.servers + 1, 2), np.nan)
            table[: len(self._loads_s)] = self._loads_s
            self._loads_s = table
        keys = answers, servers, saved.astype(np.intp)
        found = self._loads_s[keys]
        while (unknown := np.isnan(found)).any():
            i = int(unknown.argmax())
            key = tuple(int(np.broadcast_to(each, found.shape)[i]) for each in keys)
            self._loads_s[key] = self._load_s(*key)
            found = self._loads_s[keys]
        return np.asarray(found)

    def _load_s(self, number: int, servers: int, saved: int) -> float:
        answer, (schedule,) = self.answers[number], self._resolved.plan.schedules
        reads = schedule.save.reads if saved else 1.0
        load, rate = self._resolved.load(answer, servers, reads)
        return load.volume / rate if load.volume else 0.0

    def _of_row(self, hits: HitRows, row: int) -> int:
        loss = Loss(
            frozenset(each for each in hits.servers[row].tolist() if each >= 0),
            frozenset(each for each in hits.trainers[row].tolist() if each >= 0),
            SEVERITIES[hits.severity[row]],
        )
        if loss not in self._by_loss:
            self._by_loss[loss] = self._number(self._rule(loss))
        return self._by_loss[loss]

    def _number(self, answer: Recover) -> int:
        if answer not in self._numbers:
            self._numbers[answer] = len(self.answers)
            self.answers.append(answer)
            self._list()
        return self._numbers[answer]

    def _list(self) -> None:
        """Make the arrays anew, for all answers known by now."""
        self.depth = np.array([rules.DEPTH[each.rollback] for each in self.answers])
        self.supported = np.array([self._is_supported(each) for each in self.answers])
        self.slows_saves = np.array(
            [trains_on(each) and contends_with_saves(self._resolved, each) for each in self.answers]
        )
        self.keeps = np.array([each.keep_training for each in self.answers])
        self.takeover_s = np.array([each.takeover_s for each in self.answers])
        self.pause_s = np.array([each.pause_s for each in self.answers])
        self.rate = np.array([self._resolved.training(each.degraded)[1] for each in self.answers])

    def _is_supported(self, answer: Recover) -> bool:
        """Whether it can be played here.

        It can if a rollback is to the plan's only tier, and filling slows no training that goes on.
        """
        (schedule,) = self._resolved.plan.schedules
        returns = answer.rollback != "none"
        if returns and (answer.healthy is not None or answer.source != schedule.save.tier):
            return False
        return not (
            trains_on(answer) and contends(self._resolved, answer, self._resolved.training(0.0))
        )


def _distinct(hits: HitRows) -> tuple[Integers, Integers]:
    """Rows that differ, and for each row which of them it is like."""
    columns = np.column_stack([hits.servers, hits.trainers, hits.severity]).astype(np.int64)
    base = int(columns.max(initial=0)) + 2
    if columns.shape[1] * base.bit_length() > _MOST_PLACES:
        return _first(np.unique(columns, axis=0, return_index=True, return_inverse=True))
    codes = (columns + 1) @ (base ** np.arange(columns.shape[1], dtype=np.int64))
    return _first(np.unique(codes, return_index=True, return_inverse=True))


def _first(found: tuple[NDArray[np.int64], Integers, Integers]) -> tuple[Integers, Integers]:
    return found[1], found[2].reshape(-1)
