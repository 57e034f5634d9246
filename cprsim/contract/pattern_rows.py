"""Schedules, saves and answers of a plan as rows of numbers for `cprsim.machine.schedules`."""

import math
from collections.abc import Sequence as Values
from typing import Any

from cprsim.contract.actions import Draining, EmergencySave, Recover, Save, emergency_of
from cprsim.contract.plan import (
    VARIANTS,
    Accepted,
    Chains,
    Differences,
    Growing,
    Learned,
    Rotations,
    Schedule,
)
from cprsim.machine.codes import CHAINS, DIFFERENCES, GROWING, LEARNED, NONE, ROTATIONS, SCHEDULED
from cprsim.machine.plan_rows import AnswerRow, SaveRow, ScheduleRow


class PatternTables:
    """Rows of schedules, saves and answers, and the numbers that they refer to by place."""

    def __init__(self) -> None:
        self.schedules: list[ScheduleRow] = []
        self.saves: list[SaveRow] = []
        self.save_values: list[Save] = []
        self.answers: list[AnswerRow] = []
        self.answer_values: list[Recover] = []
        self.whole: list[int] = []
        self.real: list[float] = [0.0]  # place 0: a save of everything leaves no updates


class PatternRows:
    """Adds the rows of a plan's schedules, and of all saves and answers that they name."""

    def __init__(
        self, tables: PatternTables, schedules: Values[Schedule], sequence: object
    ) -> None:
        self._tables, self.saves, self.answers = tables, tables.save_values, tables.answer_values
        self.tiers = {each.save.tier: number for number, each in enumerate(schedules)}
        self._schedules, self._sequence = schedules, sequence
        self._save_numbers: dict[Save, int] = {}
        self._answer_numbers: dict[Recover, int] = {}

    def columns(self) -> dict[str, Any]:
        """Return the plan row's columns on schedules, after adding the rows that they name."""
        first_schedule, sequence = len(self._tables.schedules), self._sequence_columns()
        for number, schedule in enumerate(self._schedules):
            values = self._schedule_values(number, schedule)
            self._tables.schedules.append(ScheduleRow(**values))
        return {
            "schedules": len(self._schedules),
            "first_schedule": first_schedule,
            "interval_s": self._schedules[0].interval_s if self._schedules else math.inf,
            **sequence,
        }

    def notice_columns(self, answer: EmergencySave | Draining | None) -> dict[str, Any]:
        """Return the plan row's columns on the save or the drain that answers a notice."""
        save = emergency_of(answer)
        return {
            "emergency": NONE if save is None else self.number_of_save(save.save),
            "emergency_s": 0.0 if save is None else save.takes_s,
            "drains": isinstance(answer, Draining),
            "drain_s": answer.takes_s if isinstance(answer, Draining) else 0.0,
        }

    def number_of_save(self, save: Save) -> int:
        """Return the number of a save, the same for equal ones."""
        if save not in self._save_numbers:
            self._save_numbers[save] = self._added_save(save, self._save_values(save))
        return self._save_numbers[save]

    def number_of_answer(self, answer: Recover) -> int:
        """Return the number of an answer, the same for equal ones."""
        if answer not in self._answer_numbers:
            row = AnswerRow(**self._answer_values(answer))
            self._answer_numbers[answer] = len(self._tables.answers)
            self._tables.answers.append(row)
            self.answers.append(answer)
        return self._answer_numbers[answer]

    def _added_save(self, save: Save, values: dict[str, Any]) -> int:
        self._tables.saves.append(SaveRow(**values))
        self.saves.append(save)
        return len(self._tables.saves) - 1

    def _save_values(self, save: Save) -> dict[str, Any]:
        return {
            "tier": self.tiers.get(save.tier, NONE),
            "blocking": save.blocking,
            "reads": save.reads,
            "unsaved": 0 if save.unsaved_s == (0.0,) else self._real(save.unsaved_s),
            "unsaved_count": len(save.unsaved_s),
        }

    def _answer_values(self, answer: Recover) -> dict[str, Any]:
        return {
            "source": self.tiers.get(answer.source, NONE),
            "healthy": NONE if answer.healthy is None else self.tiers.get(answer.healthy, NONE),
            "has_healthy": answer.healthy is not None,
        }

    def _schedule_values(self, number: int, schedule: Schedule) -> dict[str, Any]:
        sequence, first_s, links = self._sequence, schedule.period_s, [schedule.save]
        if isinstance(sequence, Growing):
            first_s = schedule._replace(interval_s=sequence.first_s).period_s
        elif isinstance(sequence, Chains):
            links = list(sequence.chains[number])
        chain = self._whole([self.number_of_save(each) for each in links])
        save = self._tables.whole[chain]
        if isinstance(sequence, Differences):  # a row of all bytes, of which a run writes a share
            save = self._added_save(schedule.save, self._difference_values(schedule.save.tier))
        return {
            "period_s": schedule.period_s,
            "first_period_s": first_s,
            "most": schedule.max_pending,
            "save": save,
            "chain": chain,
            "links": len(links),
        }

    def _difference_values(self, tier: str) -> dict[str, Any]:
        """Return the columns of a background save of everything, which differences are parts of."""
        return self._save_values(Save(tier, blocking=False))

    def _sequence_columns(self) -> dict[str, Any]:
        sequence = self._sequence
        if isinstance(sequence, Growing):
            more = {"more_s": sequence.more_s, "max_overhead": sequence.max_overhead}
            return {"sequence": GROWING, **more}
        if isinstance(sequence, Learned):
            return {
                "sequence": LEARNED,
                "prior_mtbf_s": sequence.mtbf_s,
                "prior_weight": sequence.weight,
                "prior_save_s": sequence.save_s,
                **self._accepted(sequence.accepted),
            }
        if isinstance(sequence, Chains):
            return {"sequence": CHAINS}
        if isinstance(sequence, Rotations):
            saves = [
                NONE if save is None else self.number_of_save(save)
                for each in sequence.rotations
                for save in each
            ]
            return {
                "sequence": ROTATIONS,
                "rotations": len(sequence.rotations),
                "rotations_at": self._whole(saves),
                "rotation_servers": sequence.servers,
                "limit_s": sequence.limit_s,
            }
        if isinstance(sequence, Differences):
            at = self._real((*sequence.at, *sequence.shares))
            sizes = {"whole": sequence.whole, "rows": sequence.rows}
            points = {"at": at, "points": len(sequence.at)}
            variant = VARIANTS.index(sequence.variant)
            chain = {"variant": variant, "merge_s": sequence.merge_s}
            return {"sequence": DIFFERENCES, **chain, **points, **sizes}
        return {"sequence": SCHEDULED}

    def _accepted(self, accepted: Accepted | None) -> dict[str, Any]:
        if accepted is None:
            return {"partial_answer": NONE}
        return {
            "partial_answer": self.number_of_answer(accepted.partial),
            "full_answer": self.number_of_answer(accepted.full),
            "partial_mtbfs": accepted.mtbfs,
            "spared_s": accepted.spared_s,
        }

    def _whole(self, values: Values[int]) -> int:
        """Add whole numbers; return the place of the first."""
        self._tables.whole += values
        return len(self._tables.whole) - len(values)

    def _real(self, values: Values[float]) -> int:
        """Add real numbers; return the place of the first."""
        self._tables.real += values
        return len(self._tables.real) - len(values)
