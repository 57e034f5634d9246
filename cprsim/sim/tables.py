"""Plans as rows of numbers, which both engines read."""

import math
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.contract import (
    Accepted,
    Answers,
    Case,
    Chains,
    Differences,
    Draining,
    EmergencySave,
    Growing,
    Learned,
    Recover,
    Rotations,
    Save,
    Schedule,
    rules,
)
from cprsim.contract.answers import Together
from cprsim.contract.differences import VARIANTS
from cprsim.contract.withdrawal import windows
from cprsim.errors import ScenarioError
from cprsim.failures.hit import SEVERITIES
from cprsim.job.platform import STORE_READ
from cprsim.job.start import has_starts, mean_start
from cprsim.job.transfer import Transfer, uncontended_rate
from cprsim.machine.codes import CHAINS, DIFFERENCES, GROWING, LEARNED, NONE, ROTATIONS, SCHEDULED
from cprsim.machine.rows import (
    LINKS,
    AnswerRow,
    CaseRow,
    PlanRow,
    Row,
    SaveRow,
    ScheduleRow,
    TransferRow,
)
from cprsim.sim.plan_costs import PlanCosts, Rated

#: Share of a link; the rounding of sums of a few rates is less.
_MARGIN = 1e-9
_NONE_DRAWN = (0.0,) * len(LINKS)
_WAIT = (0.0, 1.0, 1.0, 1.0, False, _NONE_DRAWN)


class Tables:
    """Rows of all plans that are played together."""

    def __init__(self) -> None:
        self.plans: list[tuple[Any, ...]] = []
        self.schedules: list[tuple[Any, ...]] = []
        self.saves: list[tuple[Any, ...]] = []
        self.save_values: list[Save] = []
        self.transfers: list[tuple[Any, ...]] = [_WAIT]
        self.answers: list[tuple[Any, ...]] = []
        self.answer_values: list[Recover] = []
        self.cases: list[tuple[Any, ...]] = []
        self.whole: list[int] = []
        self._known: dict[Together, dict[str, int]] = {}
        self.real: list[float] = [0.0]  # place 0: a save of everything leaves no updates

    def add(self, plan_costs: PlanCosts, nodes: int, source: int) -> None:
        """Add the rows of a plan whose failures come from `source`."""
        self.plans.append(PlanRows(self, plan_costs).plan(nodes, source))

    def sets(self, together: Together, servers: int) -> dict[str, int]:
        """Return the place of sets of servers in `whole`, sets of each server, and their size."""
        if together not in self._known:
            sets = _sets(together, servers)
            _, count, size = sets.shape
            self._known[together] = {"sets": len(self.whole), "count": count, "width": size}
            self.whole += sets.ravel().tolist()
        return self._known[together]

    @property
    def of_rows(self) -> tuple[tuple[type[Row], list[tuple[Any, ...]]], ...]:
        """The tables of rows, in the order of `Running`, each with its kind of row."""
        return (
            (PlanRow, self.plans),
            (ScheduleRow, self.schedules),
            (SaveRow, self.saves),
            (TransferRow, self.transfers),
            (AnswerRow, self.answers),
            (CaseRow, self.cases),
        )


class PlanRows:
    """Adds the rows of one plan."""

    def __init__(self, tables: Tables, plan_costs: PlanCosts, own: bool = False) -> None:
        self._own = own
        self._tables, self._plan_costs, self._plan = tables, plan_costs, plan_costs.plan
        self._tiers = {each.save.tier: i for i, each in enumerate(self._plan.schedules)}
        storage = plan_costs.costs.storage
        fails = storage is not None and storage.fails
        self._can_fail = {t.name for t in self._plan.tiers if fails and t.medium == "store"}
        self._saves: dict[Save, int] = {}
        self._answers: dict[Recover, int] = {}
        self.saves: list[Save] = tables.save_values
        self.answers: list[Recover] = tables.answer_values
        self._transfers: dict[Rated, int] = {}

    def plan(self, nodes: int, source: int) -> tuple[Any, ...]:
        """Return the row of the plan, after adding all rows that it refers to."""
        plan_costs, plan, tables = self._plan_costs, self._plan, self._tables
        scenario, storage = plan_costs.scenario, plan_costs.costs.storage
        cluster, failures = scenario.cluster, scenario.failures
        useful_s = scenario.job.useful_time_s
        full, rate = plan_costs.training(0.0)
        first_schedule = len(tables.schedules)
        sequence = self._sequence()
        beside = self._beside()
        for i, schedule in enumerate(plan.schedules):
            tier = plan.tier(schedule.save.tier)
            more = beside[i], tier.keeps_older, tier.live
            tables.schedules.append((*self._schedule(i, schedule), *more))
        first_case, cases = self._cases()
        mirror = plan.mirror
        left = None if plan.tracking is None else plan.tracking.left
        values = {
            "servers": plan_costs.servers,
            "nodes": nodes,
            "leaves": 1 << max(nodes - 1, 0).bit_length(),
            "spares": plan.machines_ready(cluster.spares),
            "schedules": len(plan.schedules),
            "first_schedule": first_schedule,
            "last_save": self._save(plan.last_save),
            "most_last": plan.schedules[-1].max_pending if plan.schedules else 1,
            "first_case": first_case,
            "cases": cases,
            "training": self._transfer((full, rate)),
            "unslowed": rate == 1.0,
            "source": source,
            "updates": self._real(cluster.update_shares or ()),
            "uneven": cluster.update_shares is not None,
            "left": self._real(left or ()),
            "uneven_left": left is not None,
            "final_save": scenario.job.final_save,
            "during_recovery": failures.during_recovery,
            "while_waiting": failures.while_waiting and failures.during_recovery,
            "holds_nodes": cluster.holds_nodes,
            "own": self._own,
            "useful_s": useful_s,
            "nearly_done_s": rules.r4_nearly_done_s(useful_s),
            "detect_s": scenario.costs.detect_s,
            "per_shard": 1.0 / rules.r23_all(useful_s, plan_costs.servers),
            "delay_s": _constant(plan_costs.costs.costs.reschedule),
            "step_s": 0.0 if mirror is None else mirror.step_s,
            "behind": 0.0 if mirror is None else mirror.behind,
            "last_mirrored": mirror is not None and plan.last_save.tier == mirror.tier,
            "save_fails": 0.0 if storage is None else storage.save_fails,
            "load_fails": 0.0 if storage is None else storage.load_fails,
            "torn": 0.0 if storage is None else storage.torn,
            "marked": plan_costs.marked,
            "checksum": plan.checksum,
            "older": plan.keep - 1 if plan_costs.marked else 0,
            "has_outages": storage is not None and storage.outages is not None,
            "interval_s": plan.interval_s,
            "in_turn": self._in_turn(),
            "beside": beside[:1] == [True],  # the nearest tier decides, as most saves go there
            "tight": self._tight(),
            **self._starts(),
            **self._notices(),
            "capacity": tuple(plan_costs.costs.capacities[link] for link in LINKS),
        }
        return _row(PlanRow, values | sequence | self._verification())

    def _verification(self) -> dict[str, Any]:
        """Return when training is verified, and the rollbacks to verified checkpoints by tier."""
        plan, verifies = self._plan, self._plan.verifies
        if verifies is None:
            return {}
        tiers = [schedule.save.tier for schedule in plan.schedules]
        return {
            "verifies": True,
            "verify_every": verifies.every,
            "verify_s": verifies.takes_s,
            "returns": self._whole([self._answer(Recover("all", source=tier)) for tier in tiers]),
            "last_return": self._answer(Recover("all", source=plan.tiers[-1].name)),
        }

    def _notices(self) -> dict[str, Any]:
        """Return how failures are announced, and the save or the drain in answer."""
        plan_costs, answer = self._plan_costs, self._plan.on_notice
        if plan_costs.notices is None:
            return {}
        saves = self._emergency
        return {
            "notices": True,
            "lead_s": plan_costs.notices.lead_s,
            "recall": plan_costs.notices.recall,
            "emergency": NONE if saves is None else self._save(saves.save),
            "emergency_s": 0.0 if saves is None else saves.takes_s,
            "drains": isinstance(answer, Draining),
            "drain_s": answer.takes_s if isinstance(answer, Draining) else 0.0,
            "reschedule_s": plan_costs.costs.reschedule_mean_s,
        }

    @property
    def _emergency(self) -> EmergencySave | None:
        """The save that answers a notice, or None."""
        answer = self._plan.on_notice
        return answer.otherwise if isinstance(answer, Draining) else answer

    def _starts(self) -> dict[str, Any]:
        """Return the plan row's columns on starts, allocations and windows."""
        costs = self._plan_costs.costs.costs
        return (
            {
                "starts": has_starts(costs),
                "cache_on_node": costs.start is not None and costs.start.on_node,
                "start_costs": tuple(mean_start(costs)),  # mean durations, where none is drawn
            }
            | self._allocations()
            | self._windows()
        )

    def _allocations(self) -> dict[str, Any]:
        """Return the columns on allocations, where the job has several."""
        allocation_s = self._plan_costs.scenario.job.allocation_s
        if allocation_s is None:
            return {}
        return {
            "allocated": True,
            "allocation_s": allocation_s,
            "stop_s": self._plan.stop_s(self._plan_costs.costs),
            **self._hands_over(),
        }

    def _windows(self) -> dict[str, Any]:
        """Return the columns on windows in which servers are withdrawn."""
        found = windows(self._plan, self._plan_costs.costs)
        if not found:
            return {}
        numbers = [number for each in found for number in each[:3]]
        return {
            "windows": len(found),
            "windows_at": self._real(numbers),
            **self._hands_over(),
        }

    def _hands_over(self) -> dict[str, int]:
        """Return the answer by which the job loads after a planned stop."""
        return {"hands_over": self._answer(Recover("all", source=self._plan.last_save.tier))}

    def _in_turn(self) -> bool:
        """Return whether training and equal blocking saves alternate, for the fast path."""
        plan = self._plan
        if len(plan.schedules) != 1 or plan.sequence is not None or self._plan_costs.marked:
            return False
        ((_, save, _),) = plan.schedules
        transfer, rate = self._plan_costs.save(save)
        takes = transfer.volume > 0 and 0 < rate < math.inf
        return save.blocking and takes and save.tier not in self._can_fail

    def _beside(self) -> list[bool]:
        """Return for each schedule whether its saves and training never slow each other.

        That takes one save at a time to each tier, and saves that can't fail.
        """
        alone, found = [self._plan_costs.training(0.0)], list[Schedule]()
        if self._plan_costs.marked:
            return [False] * len(self._plan.schedules)
        for schedule in self._plan.schedules:
            _, save, most = schedule
            transfer, rate = self._plan_costs.save(save)
            if (
                not save.blocking
                and most == 1
                and save.tier not in self._can_fail
                and 0 < rate < math.inf
                and transfer.volume < math.inf
                and all(self._fit(link, [*found, schedule], alone) for link in LINKS)
            ):
                found.append(schedule)
        return [schedule in found for schedule in self._plan.schedules]

    def _tight(self) -> int:
        """Return the links that background saves and other flows may fill, one bit each."""
        plan = self._plan
        any_of_them = (1 << len(LINKS)) - 1
        if self._own:
            return any_of_them
        assert isinstance(plan.recover, Answers)
        answers = {case.answer for case in plan.recover.cases}
        if any(answer.keep_training for answer in answers):
            return any_of_them  # shards are filled while the job trains and saves
        if all(each.save.blocking for each in plan.schedules):
            return 0  # without background work no link is shared
        alone = [self._plan_costs.save(each.save) for each in plan.schedules if each.save.blocking]
        if self._emergency is not None:
            alone.append(self._plan_costs.save(self._emergency.save))
        alone += [self._plan_costs.training(each.degraded) for each in answers]
        alone.append(self._plan_costs.training(0.0))
        try:
            for answer in answers:
                alone += [
                    self._plan_costs.load(answer, n, 1.0) for n in {1, self._plan_costs.servers}
                ]
        except ScenarioError:
            return any_of_them
        saves = [each for each in plan.schedules if not each.save.blocking]
        return sum(1 << i for i, link in enumerate(LINKS) if not self._fit(link, saves, alone))

    def _fit(self, link: str, schedules: Sequence[Schedule], alone: Sequence[Rated]) -> bool:
        """Return whether a link carries all saves and any one of `alone` at full rate."""
        saves = [(_drawn(self._plan_costs.save(s.save), link), s.max_pending) for s in schedules]
        most = max(_drawn(rated, link) for rated in alone)
        users = sum(count for drawn, count in saves if drawn) + (most > 0)
        drawn = sum(count * drawn for drawn, count in saves) + most
        capacity = self._plan_costs.costs.capacities[link]
        return users <= 1 or drawn <= capacity * (1 - _MARGIN)

    # --- Actions of a user's controller

    def number_of_save(self, save: Save) -> int:
        """Return the number of a controller's save, adding a row for a new one."""
        return self._save(save)

    def number_of_answer(self, answer: Recover) -> int:
        """Return the number of a controller's answer, adding a row for a new one."""
        return self._answer(answer)

    # --- Saves ------------------------------------------------------------------------------------

    def _schedule(self, number: int, schedule: Schedule) -> tuple[Any, ...]:
        sequence, period_s = self._plan.sequence, schedule.period_s
        first_s, links = period_s, [schedule.save]
        if isinstance(sequence, Growing):
            first_s = schedule._replace(interval_s=sequence.first_s).period_s
        elif isinstance(sequence, Chains):
            links = list(sequence.chains[number])
        chain = self._whole([self._save(each) for each in links])
        save = self._tables.whole[chain]
        if isinstance(sequence, Differences):  # a row of all bytes, of which the run writes a share
            save = len(self._tables.saves)
            self._tables.saves.append(self._difference_row(Save(schedule.save.tier, False)))
            self._tables.save_values.append(schedule.save)
        return period_s, first_s, schedule.max_pending, save, chain, len(links)

    def _difference_row(self, save: Save) -> tuple[Any, ...]:
        """Return the row of a save of everything; a checksum takes the same for each share."""
        costs, tier = self._plan_costs.costs, self._plan.tier(save.tier)
        checked_s, found = self._plan.checked_s(tier, costs), self._save_row(save)
        if not checked_s:
            return found
        whole = costs.save(tier)
        pace = uncontended_rate(whole, costs.capacities)
        if pace == math.inf:  # the check alone takes time
            whole, pace = Transfer(0.0, cap=1.0), 1.0
        values = dict(zip(SaveRow.__annotations__, found, strict=True))
        values |= {"transfer": self._transfer((whole, pace)), "besides": checked_s * pace}
        return _row(SaveRow, values)

    def _save(self, save: Save) -> int:
        """Return the number of a save, the same for equal ones."""
        if save not in self._saves:
            self._saves[save] = len(self._tables.saves)
            self._tables.saves.append(self._save_row(save))
            self._tables.save_values.append(save)
        return self._saves[save]

    def _save_row(self, save: Save) -> tuple[Any, ...]:
        tier = self._tiers.get(save.tier, NONE)
        values: dict[str, Any] = {"tier": tier, "blocking": save.blocking, "portion": save.portion}
        if tier != NONE:  # otherwise the simulator raises the save's error
            medium, amount = self._plan_costs.amount(save)
            values["stored" if medium == "store" else "sent"] = amount if medium != "host" else 0.0
            values |= {
                "transfer": self._transfer(self._plan_costs.save(save)),
                "snapshot_s": self._plan.tier(save.tier).snapshot_s,
            }
        values |= {
            "unsaved": 0 if save.unsaved_s == (0.0,) else self._real(save.unsaved_s),
            "unsaved_count": len(save.unsaved_s),
            "tries_again": self._plan.tries_again(save),
            "can_be_void": save.tier in self._can_fail,
            "reads": save.reads,
            "alone": not save.leaves,
        }
        return _row(SaveRow, values)

    def _sequence(self) -> dict[str, Any]:
        """Return the plan row's columns on the sequence that chooses saves."""
        sequence = self._plan.sequence
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
                NONE if save is None else self._save(save)
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
            return {"sequence": DIFFERENCES, "variant": variant, **points, **sizes}
        return {"sequence": SCHEDULED}

    def _accepted(self, accepted: Accepted | None) -> dict[str, Any]:
        if accepted is None:
            return {"partial_answer": NONE}
        return {
            "partial_answer": self._answer(accepted.partial),
            "full_answer": self._answer(accepted.full),
            "partial_mtbfs": accepted.mtbfs,
            "spared_s": accepted.spared_s,
        }

    # --- Answers ----------------------------------------------------------------------------------

    def _cases(self) -> tuple[int, int]:
        rule = self._plan.recover
        if self._own:
            return 0, 0
        assert isinstance(rule, Answers)
        rows = [self._case(case) for case in rule.cases]
        first = len(self._tables.cases)
        self._tables.cases += rows
        return first, len(rows)

    def _case(self, case: Case) -> tuple[Any, ...]:
        values: dict[str, Any] = {
            "answer": self._answer(case.answer),
            "severities": sum(1 << SEVERITIES.index(each) for each in set(case.severities)),
            "sets": NONE,
        }
        for name, (least, most) in (("servers", case.servers), ("trainers", case.trainers)):
            values |= {f"least_{name}": least, f"most_{name}": most}
        if case.gone is not None:
            values |= self._tables.sets(case.gone, self._plan_costs.servers)
        return _row(CaseRow, values)

    def _answer(self, answer: Recover) -> int:
        if answer not in self._answers:
            fills = NONE if answer.regrow is None else self._answer(answer.fills)
            number = self._answers[answer] = len(self._tables.answers)
            own = number if fills == NONE else fills
            self._tables.answers.append(self._answer_row(answer, own))
            self._tables.answer_values.append(answer)
        return self._answers[answer]

    def _answer_row(self, answer: Recover, fills: int) -> tuple[Any, ...]:
        mirror = self._plan.mirror
        values = {
            "depth": rules.DEPTH[answer.rollback],
            "keep": answer.keep_training,
            "fills": fills,
            "regrows": answer.regrow is not None,
            "source": self._tiers.get(answer.source, NONE),
            "mirrored": mirror is not None and answer.source == mirror.tier,
            "healthy": NONE if answer.healthy is None else self._tiers[answer.healthy],
            "has_healthy": answer.healthy is not None,
            "made_anew": answer.rollback == "none",
            "starts_again": answer.starts_again,
            "can_fail": answer.source in self._can_fail,
            "reads": answer.reads,
            "takeover_s": answer.takeover_s,
            "pause_s": answer.pause_s,
            "training": self._transfer(self._plan_costs.training(answer.degraded)),
        }
        return _row(AnswerRow, values | self._loads(answer))

    def _loads(self, answer: Recover) -> dict[str, Any]:
        """Return the loads where no server and one is down, and the store units of each more."""
        costs, tier = self._plan_costs.costs, self._plan.tier(answer.source)
        try:
            nothing, one = (costs.load(tier, answer.loads, servers) for servers in (0, 1))
            each = 0.0
            if one.uses and self._plan_costs.servers > 1:
                two = costs.load(tier, answer.loads, 2)
                each = dict(two.uses).get(STORE_READ, 0.0) - dict(one.uses).get(STORE_READ, 0.0)
        except ScenarioError:  # the simulator raises it if a run needs this load
            return {"nothing": NONE, "load": NONE}
        return {
            "nothing": self._transfer((nothing, 0.0)),
            "load": self._transfer((one, 0.0)),
            "each": each,
        }

    # --- Numbers ----------------------------------------------------------------------------------

    def _transfer(self, rated: Rated) -> int:
        if rated not in self._transfers:
            transfer, limit = rated
            uses = dict(transfer.uses)
            share = transfer.weight / transfer.unit
            drawn = tuple([uses.get(link, 0.0) for link in LINKS]) if uses else _NONE_DRAWN
            self._transfers[rated] = len(self._tables.transfers)
            row = transfer.volume, transfer.cap, limit, share, bool(uses), drawn
            self._tables.transfers.append(row)
        return self._transfers[rated]

    def _whole(self, values: Sequence[int]) -> int:
        self._tables.whole += values
        return len(self._tables.whole) - len(values)

    def _real(self, values: Sequence[float]) -> int:
        self._tables.real += values
        return len(self._tables.real) - len(values)


def _drawn(rated: Rated, link: str) -> float:
    """Return the units of a link that a transfer draws on free links, per second."""
    transfer, rate = rated
    coefficient = dict(transfer.uses).get(link, 0.0)
    return coefficient * rate if coefficient else 0.0


def _constant(delay: object) -> float:
    return delay if isinstance(delay, float) else 0.0


def _row(kind: type[Row], values: dict[str, Any]) -> tuple[Any, ...]:
    """Return values in order of the columns, 0 for missing ones."""
    return tuple(map(values.get, kind.__annotations__, repeat(0)))


def _sets(together: Together, servers: int) -> NDArray[np.int64]:
    """Return sets of servers, shape (servers, sets, size); `NONE` fills missing places."""
    sets = [together.sets(server) for server in range(servers)]
    shape = servers, max(map(len, sets)), max(len(each) for some in sets for each in some)
    found = np.full(shape, NONE)
    for row, some in zip(found, sets, strict=True):
        for place, each in zip(row, some, strict=False):
            place[:] = each
    return found
