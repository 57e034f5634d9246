"""Plans as rows of numbers, which both engines read."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.contract import Answers, Case, Differences, Recover, Save, Schedule, rules
from cprsim.contract.actions import emergency_of
from cprsim.contract.answers import Together
from cprsim.contract.pattern_rows import PatternRows, PatternTables
from cprsim.errors import ScenarioError
from cprsim.job.platform import STORE_READ
from cprsim.job.severity import SEVERITIES
from cprsim.job.start import has_starts, mean_start
from cprsim.job.transfer import Transfer, uncontended_rate
from cprsim.machine.codes import NONE
from cprsim.machine.plan_rows import (
    LINKS,
    AnswerRow,
    CaseRow,
    PlanRow,
    SaveRow,
    ScheduleRow,
    TransferRow,
)
from cprsim.machine.rows import Row
from cprsim.scenario import Scenario

#: Share of a link; the rounding of sums of a few rates is less.
_MARGIN = 1e-9


class Tables(PatternTables):
    """Rows of all plans that are played together."""

    def __init__(self) -> None:
        super().__init__()
        self.plans: list[PlanRow] = []
        wait = TransferRow(cap=1.0, limit=1.0, share=1.0)
        self.transfers = [wait]  # volumes are seconds
        self.cases: list[CaseRow] = []
        self._known: dict[tuple[Together, int], dict[str, int]] = {}

    def add(self, scenario: Scenario, policy: str, source: int) -> None:
        """Add the rows of a policy whose failures come from `source`."""
        self.plans.append(PlanRows(self, scenario, policy).row(source))

    def sets(self, together: Together, servers: int) -> dict[str, int]:
        """Return the place of sets of servers in `whole`, their number a server, and their size."""
        key = together, servers
        if key not in self._known:
            sets = _sets(together, servers)
            _, count, size = sets.shape
            self._known[key] = {"sets": len(self.whole), "count": count, "width": size}
            self.whole += sets.ravel().tolist()
        return self._known[key]

    @property
    def of_rows(self) -> tuple[tuple[type[Row], list[Any]], ...]:
        """The tables of rows, in the order of `Running`, each with its kind of row."""
        return (
            (PlanRow, self.plans),
            (ScheduleRow, self.schedules),
            (SaveRow, self.saves),
            (TransferRow, self.transfers),
            (AnswerRow, self.answers),
            (CaseRow, self.cases),
        )


class PlanRows(PatternRows):
    """Adds the rows of one policy's plan in its scenario, with all that it costs.

    `own`: whether code of a user's decides while the job runs.
    """

    def __init__(self, tables: Tables, scenario: Scenario, policy: str, own: bool = False) -> None:
        self.scenario, self.policy, self._own = scenario, policy, own
        self.plan, self.costs = scenario.plan(policy), scenario.cost_model
        super().__init__(tables, self.plan.schedules, self.plan.sequence)
        self._tables: Tables = tables
        self.servers, self.nodes = scenario.cluster.parameter_servers, scenario.failure_model.nodes
        storage = self.costs.storage
        fails = storage is not None and storage.fails
        self._can_fail = {t.name for t in self.plan.tiers if fails and t.medium == "store"}
        # Whether checkpoints differ in more than their age: torn, corrupt or verified.
        torn = storage is not None and storage.torn > 0
        silent = scenario.failures.silent is not None
        self._marked = torn or silent or self.plan.verifies is not None
        self._transfers: dict[Transfer, int] = {}
        self._are_undisturbed = self._undisturbed()

    def row(self, source: int) -> PlanRow:
        """Return the row of the plan, after adding all rows that it refers to."""
        plan, scenario, storage = self.plan, self.scenario, self.costs.storage
        cluster, failures = scenario.cluster, scenario.failures
        useful_s = scenario.job.useful_time_s
        training = self._training(0.0)
        columns = self.columns()
        first_case, cases = self._cases()
        mirror = plan.mirror
        left = None if plan.tracking is None else plan.tracking.left
        values = {
            "servers": self.servers,
            "nodes": self.nodes,
            "leaves": 1 << max(self.nodes - 1, 0).bit_length(),
            "spares": plan.machines_ready(cluster.spares),
            **columns,
            "last_save": self.number_of_save(plan.last_save),
            "most_last": plan.schedules[-1].max_pending if plan.schedules else 1,
            "first_case": first_case,
            "cases": cases,
            "training": self._transfer(training),
            "unslowed": self._rate(training) == 1.0,
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
            "nearly_done_s": rules.nearly_done_s(useful_s),
            "detect_s": scenario.costs.detect_s,
            "per_shard": 1.0 / rules.all_samples(useful_s, self.servers),
            "delay_s": _constant(self.costs.costs.reschedule),
            **self._restarts(),
            "regroup_s": _constant(self.costs.costs.regroup or 0.0),
            "step_s": 0.0 if mirror is None else mirror.step_s,
            "behind": 0.0 if mirror is None else mirror.behind,
            "last_mirrored": mirror is not None and plan.last_save.tier == mirror.tier,
            "save_fails": 0.0 if storage is None else storage.save_fails,
            "load_fails": 0.0 if storage is None else storage.load_fails,
            "torn": 0.0 if storage is None else storage.torn,
            "marked": self._marked,
            "checksum": plan.checksum,
            "older": plan.keep - 1 if self._marked else 0,
            "has_outages": storage is not None and storage.outages is not None,
            "fast_blocking": self._is_fast_blocking(),
            # The nearest tier decides, as most saves go there.
            "fast_background": bool(self._are_undisturbed) and self._are_undisturbed[0],
            "tight": self._tight(),
            **self._starts(),
            **self._notices(),
            "capacity": tuple(self.costs.capacities[link] for link in LINKS),
        }
        return PlanRow(**values, **self._verification())

    def _verification(self) -> dict[str, Any]:
        """Return when training is verified, and the rollbacks to verified checkpoints by tier."""
        plan, verifies = self.plan, self.plan.verifies
        if verifies is None:
            return {}
        tiers = [schedule.save.tier for schedule in plan.schedules]
        *returns, last = [
            self.number_of_answer(Recover("all", source=tier))
            for tier in (*tiers, plan.tiers[-1].name)
        ]
        return {
            "verifies": True,
            "verify_every": verifies.every,
            "verify_s": verifies.takes_s,
            "returns": self._whole(returns),
            "last_return": last,
        }

    def _notices(self) -> dict[str, Any]:
        """Return how failures are announced, and the save or the drain in answer."""
        notices, answer = self.scenario.failures.notice, self.plan.on_notice
        if notices is None or answer is None:
            return {}
        return {
            "notices": True,
            "lead_s": notices.lead_s,
            "recall": notices.recall,
            "reschedule_s": self.scenario.context.reschedule_s,
            **self.notice_columns(answer),
        }

    def _restarts(self) -> dict[str, Any]:
        """Return the columns on restarts in place, unless machines of the plan's own take over."""
        costs = self.costs
        if not self.plan.restarts_in_place(costs):
            return {}
        return {
            "restarts": sum(1 << SEVERITIES.index(each) for each in set(costs.restarts_in_place)),
            "restart_s": _constant(costs.costs.restart or 0.0),
            "restart_fails": costs.costs.restart_fails or 0.0,
        }

    def _starts(self) -> dict[str, Any]:
        """Return the plan row's columns on starts and allocations."""
        costs = self.costs.costs
        if not has_starts(costs):
            return self._allocations()
        return {
            "starts": True,
            "cache_on_node": costs.start is not None and costs.start.on_node,
            "start_costs": tuple(mean_start(costs)),  # mean durations, where none is drawn
            **self._allocations(),
        }

    def _allocations(self) -> dict[str, Any]:
        """Return the columns on allocations, where the job has several."""
        allocation_s = self.scenario.job.allocation_s
        if allocation_s is None:
            return {}
        return {
            "allocated": True,
            "allocation_s": allocation_s,
            "stop_s": self.plan.stop_s(self.costs),
            "hands_over": self.number_of_answer(Recover("all", source=self.plan.last_save.tier)),
        }

    def _is_fast_blocking(self) -> bool:
        """Return whether training and equal blocking saves alternate, for the fast path."""
        plan = self.plan
        if len(plan.schedules) != 1 or plan.sequence is not None or self._marked:
            return False
        ((_, save, _),) = plan.schedules
        transfer = self._saving(save)
        takes = transfer.volume > 0 and 0 < self._rate(transfer) < math.inf
        return save.blocking and takes and save.tier not in self._can_fail

    def _undisturbed(self) -> list[bool]:
        """Return for each schedule whether its saves and training never slow each other.

        That takes one save at a time to each tier, and saves that can't fail.
        """
        alone, found = [self._training(0.0)], list[Schedule]()
        if self._marked:
            return [False] * len(self.plan.schedules)
        for schedule in self.plan.schedules:
            _, save, most = schedule
            transfer = self._saving(save)
            if (
                not save.blocking
                and most == 1
                and save.tier not in self._can_fail
                and 0 < self._rate(transfer) < math.inf
                and transfer.volume < math.inf
                and all(self._fit(link, [*found, schedule], alone) for link in LINKS)
            ):
                found.append(schedule)
        return [schedule in found for schedule in self.plan.schedules]

    def _tight(self) -> int:
        """Return the links that background saves and other flows may fill, one bit each."""
        plan = self.plan
        any_of_them = (1 << len(LINKS)) - 1
        if self._own:
            return any_of_them
        assert isinstance(plan.recover, Answers)
        answers = {case.answer for case in plan.recover.cases}
        if any(answer.keep_training for answer in answers):
            return any_of_them  # shards are filled while the job trains and saves
        if all(each.save.blocking for each in plan.schedules):
            return 0  # without background work no link is shared
        alone = [self._saving(each.save) for each in plan.schedules if each.save.blocking]
        emergency = emergency_of(plan.on_notice)
        if emergency is not None:
            alone.append(self._saving(emergency.save))
        alone += [self._training(each.degraded) for each in answers]
        alone.append(self._training(0.0))
        try:
            for answer in answers:
                alone += [self.load(answer, number) for number in {1, self.servers}]
        except ScenarioError:
            return any_of_them
        saves = [each for each in plan.schedules if not each.save.blocking]
        return sum(1 << i for i, link in enumerate(LINKS) if not self._fit(link, saves, alone))

    def _fit(self, link: str, schedules: Sequence[Schedule], alone: Sequence[Transfer]) -> bool:
        """Return whether a link carries all saves and any one of `alone` at full rate."""
        saves = [(self._drawn(self._saving(s.save), link), s.max_pending) for s in schedules]
        most = max(self._drawn(transfer, link) for transfer in alone)
        users = sum(count for drawn, count in saves if drawn) + (most > 0)
        drawn = sum(count * drawn for drawn, count in saves) + most
        capacity = self.costs.capacities[link]
        return users <= 1 or drawn <= capacity * (1 - _MARGIN)

    def _drawn(self, transfer: Transfer, link: str) -> float:
        """Return the units of a link that a transfer draws on free links, per second."""
        coefficient = dict(transfer.uses).get(link, 0.0)
        return coefficient * self._rate(transfer) if coefficient else 0.0

    # --- Schedules and saves ----------------------------------------------------------------------

    def _schedule_values(self, number: int, schedule: Schedule) -> dict[str, Any]:
        tier = self.plan.tier(schedule.save.tier)
        return super()._schedule_values(number, schedule) | {
            "undisturbed": self._are_undisturbed[number],
            "keeps_older": tier.keeps_older,
            "live": tier.live,
        }

    def _difference_values(self, tier: str) -> dict[str, Any]:
        """Return the columns of a save of everything; a checksum takes the same for each share."""
        costs, to = self.costs, self.plan.tier(tier)
        check_s, values = costs.check_s(to, self.plan.checksum), super()._difference_values(tier)
        assert isinstance(self._sequence, Differences)
        values |= {"from_base": self._sequence.since == "baseline"}
        if not check_s:
            return values
        whole = costs.save(to)
        if self._rate(whole) == math.inf:  # the check alone takes time
            whole = Transfer(0.0, cap=1.0)
        pace = self._rate(whole)
        return values | {"transfer": self._transfer(whole), "besides": check_s * pace}

    def _save_values(self, save: Save) -> dict[str, Any]:
        values = super()._save_values(save) | {
            "portion": save.portion,
            "tries_again": self.plan.tries_again(save),
            "can_fail": save.tier in self._can_fail,
            "alone": not save.leaves and save.since is None and save.reads <= save.writes,
            "from_base": save.since == "baseline",
        }
        if values["tier"] == NONE:  # the simulator raises the save's error
            return values
        tier, model = self.plan.tier(save.tier), self.costs.model
        share = save.portion if model is None else model.saved_share(save.portion)
        return values | {
            "stored" if tier.medium == "store" else "sent": (
                share * save.writes if tier.medium != "host" else 0.0
            ),
            "transfer": self._transfer(self._saving(save)),
            "snapshot_s": tier.snapshot_s,
        }

    # --- Answers ----------------------------------------------------------------------------------

    def _cases(self) -> tuple[int, int]:
        rule = self.plan.recover
        if self._own:
            return 0, 0
        assert isinstance(rule, Answers)
        rows = [self._case(case) for case in rule.cases]
        first = len(self._tables.cases)
        self._tables.cases += rows
        return first, len(rows)

    def _case(self, case: Case) -> CaseRow:
        values: dict[str, Any] = {
            "answer": self.number_of_answer(case.answer),
            "severities": sum(1 << SEVERITIES.index(each) for each in set(case.severities)),
            "sets": NONE,
        }
        for name, (least, most) in (("servers", case.servers), ("trainers", case.trainers)):
            values |= {f"least_{name}": least, f"most_{name}": most}
        if case.gone is not None:
            values |= self._tables.sets(case.gone, self.servers)
        return CaseRow(**values)

    def _answer_values(self, answer: Recover) -> dict[str, Any]:
        mirror, refills = self.plan.mirror, answer.regrow is not None
        own = len(self._tables.answers)  # the number that this answer gets
        fills = self.number_of_answer(answer.fills) if refills else own
        return super()._answer_values(answer) | {
            "healthy": NONE if answer.healthy is None else self.tiers[answer.healthy],
            "depth": rules.DEPTH[answer.rollback],
            "keep": answer.keep_training,
            "fills": fills,
            "regrows": refills,
            "mirrored": mirror is not None and answer.source == mirror.tier,
            "made_anew": answer.made_anew,
            "starts_again": answer.starts_again,
            "can_fail": answer.source in self._can_fail,
            "reads": answer.reads,
            "takeover_s": answer.takeover_s,
            "pause_s": answer.pause_s,
            "training": self._transfer(self._training(answer.degraded)),
            **self._loads(answer),
        }

    def _loads(self, answer: Recover) -> dict[str, Any]:
        """Return the loads where no server and one is down, and the store units of each more."""
        costs, tier = self.costs, self.plan.tier(answer.source)
        try:
            nothing, one = (costs.load(tier, answer.loads, servers) for servers in (0, 1))
            each = 0.0
            if one.uses and self.servers > 1:
                two = costs.load(tier, answer.loads, 2)
                each = dict(two.uses).get(STORE_READ, 0.0) - dict(one.uses).get(STORE_READ, 0.0)
        except ScenarioError:  # the simulator raises it if a run needs this load
            return {"nothing": NONE, "load": NONE}
        return {
            "nothing": self._transfer(nothing),
            "load": self._transfer(one),
            "each": each,
        }

    # --- Transfers --------------------------------------------------------------------------------

    def _training(self, degraded: float) -> Transfer:
        """Return a useful second of training, which takes longer by the share `degraded`."""
        slowdown = (1 + self.plan.slowdown) * (1 + degraded) - 1
        return self.costs.training(slowdown, self.plan.peer_bytes_per_s)

    def _saving(self, save: Save) -> Transfer:
        return self.plan.transfer(save, self.costs)

    def load(self, answer: Recover, servers: int) -> Transfer:
        """Return the load after a failure of `servers` servers, from a whole checkpoint.

        Raises `ScenarioError` where the scenario doesn't give its cost.
        """
        read = rules.bytes_read(answer.reads, answer.made_anew, 1.0)
        return self.costs.load(self.plan.tier(answer.source), answer.loads, servers, read)

    def _rate(self, transfer: Transfer) -> float:
        """Return the rate of a transfer while no other is on its links, per second."""
        return uncontended_rate(transfer, self.costs.capacities)

    def _transfer(self, transfer: Transfer) -> int:
        if transfer not in self._transfers:
            uses = dict(transfer.uses)
            self._transfers[transfer] = len(self._tables.transfers)
            row = TransferRow(
                volume=transfer.volume,
                cap=transfer.cap,
                limit=self._rate(transfer),
                share=transfer.weight / transfer.unit,
                linked=bool(uses),
                uses=[uses.get(link, 0.0) for link in LINKS],
            )
            self._tables.transfers.append(row)
        return self._transfers[transfer]


def _constant(delay: object) -> float:
    return delay if isinstance(delay, float) else 0.0


def _sets(together: Together, servers: int) -> NDArray[np.int64]:
    """Return sets of servers, shape (servers, sets, size).

    A smaller set has its first server more than once, and `NONE` fills the places of missing sets.
    """
    # An empty set is always down: as the server itself is, where its sets are looked at.
    sets = [[each or (server,) for each in together.sets(server)] for server in range(servers)]
    size = max((len(each) for some in sets for each in some), default=1)
    found = np.full((servers, max(map(len, sets)), size), NONE)
    for row, some in zip(found, sets, strict=True):
        for place, each in zip(row, some, strict=False):
            place[:] = each[0]
            place[: len(each)] = each
    return found
