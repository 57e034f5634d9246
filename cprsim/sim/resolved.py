"""A policy of a scenario resolved to plan, costs and options, which all its runs share."""

import math
from dataclasses import dataclass, field

from cprsim.basics.distributions import Distribution
from cprsim.contract import Loss, Plan, Recover, Save, rules
from cprsim.contract.checks import answer_flaw, save_flaw
from cprsim.contract.withdrawal import Window, windows
from cprsim.errors import RunError
from cprsim.failures.notice import Notices
from cprsim.job.costs import CostModel
from cprsim.job.start import has_starts
from cprsim.job.tiers import Medium
from cprsim.job.transfer import Transfer, uncontended_rate
from cprsim.scenario import Scenario

#: A transfer, and its rate on free links.
Rated = tuple[Transfer, float]
#: Largest number of saves and answers remembered as checked; plans hand out a few, again and again.
_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class ResolvedPlan:
    """A plan and its costs, each with its rate on free links.

    `store_fails`: whether saves to the store or loads from it can fail. `torn`: whether its
    checkpoints can be torn. `notices`: how failures are announced, if the policy answers notices.
    `starts`: whether starts or shutdowns take any time. `allocation_s`: seconds of an allocation; a
    planned stop takes its last `stop_s`. `windows`: in which servers are withdrawn.
    """

    policy: str
    plan: Plan
    costs: CostModel
    useful_time_s: float
    servers: int
    final_save: bool
    during_recovery: bool
    while_waiting: bool
    holds_nodes: bool
    detect_s: float
    spares: int
    update_shares: tuple[float, ...] | None
    store_fails: bool
    torn: bool
    silent: Distribution | None
    notices: Notices | None
    starts: bool
    allocation_s: float
    stop_s: float
    windows: tuple[Window, ...]
    _training: dict[float, Rated] = field(default_factory=dict)
    _saves: dict[tuple[str, float, float, float], Rated] = field(default_factory=dict)
    _amounts: dict[tuple[str, float, float], tuple[Medium, float]] = field(default_factory=dict)
    _loads: dict[tuple[Recover, int, float], Rated] = field(default_factory=dict)
    _snapshots_s: dict[str, float] = field(default_factory=dict)
    _sound: dict[int, Save | Recover] = field(default_factory=dict)  # by id, which they keep

    @classmethod
    def from_scenario(cls, scenario: Scenario, policy: str) -> "ResolvedPlan":
        """Resolve one of the scenario's policies."""
        plan, costs = scenario.plan(policy), scenario.cost_model
        return cls(
            policy=policy,
            plan=plan,
            costs=costs,
            useful_time_s=scenario.job.useful_time_s,
            servers=scenario.cluster.parameter_servers,
            final_save=scenario.job.final_save,
            during_recovery=scenario.failures.during_recovery,
            while_waiting=scenario.failures.while_waiting and scenario.failures.during_recovery,
            holds_nodes=scenario.cluster.holds_nodes,
            detect_s=scenario.costs.detect_s,
            spares=plan.machines_ready(scenario.cluster.spares),
            update_shares=scenario.cluster.update_shares,
            store_fails=costs.storage is not None and costs.storage.fails,
            torn=costs.storage is not None and costs.storage.torn > 0,
            silent=scenario.failures.silent,
            notices=None if plan.on_notice is None else scenario.failures.notice,
            starts=has_starts(scenario.costs),
            allocation_s=scenario.job.allocation_s or math.inf,
            stop_s=0.0 if scenario.job.allocation_s is None else plan.stop_s(costs),
            windows=windows(plan, costs),
            _snapshots_s={tier.name: tier.snapshot_s for tier in plan.tiers},
        )

    @property
    def nodes(self) -> int:
        """The number of servers and trainers."""
        return self.servers + self.costs.cluster.trainers

    @property
    def marked(self) -> bool:
        """Return whether checkpoints have marks (rule 34 of docs/semantics.md)."""
        return self.torn or self.silent is not None or self.plan.verifies is not None

    def can_fail_waiting(self, depth: int) -> bool:
        """Return whether nodes that are up can fail while the job waits for others (rule 11)."""
        return rules.r11_can_fail(self.while_waiting, depth, self.holds_nodes)

    def training(self, degraded: float) -> Rated:
        """Return a useful second of training, which takes longer by the share `degraded`."""
        known = self._training.get(degraded)
        if known is None:
            slowdown = (1 + self.plan.slowdown) * (1 + degraded) - 1
            transfer = self.costs.training(slowdown, self.plan.peer_bytes_per_s)
            known = self._training[degraded] = self._rated(transfer)
        return known

    def check_save(self, save: Save) -> None:
        """Raise `RunError` for a save that no controller may request."""
        if self._sound.get(id(save)) is save:
            return
        flaw = save_flaw(save, self.plan)
        if flaw:
            raise RunError(f"policy {self.policy!r}: its controller asked for a save {flaw}")
        self._remember(save)

    def checked_answer(self, answer: object, loss: Loss) -> Recover:
        """Return the answer to a loss; raise `RunError` for one that no controller may give."""
        known = self._sound.get(id(answer))
        if isinstance(known, Recover) and known is answer:
            return known
        flaw = answer_flaw(answer, loss, self.plan)
        if flaw:
            raise RunError(f"policy {self.policy!r}: its controller answered a failure {flaw}")
        assert isinstance(answer, Recover)
        if loss.servers:  # an answer without lost servers may still be wrong for lost ones
            self._remember(answer)
        return answer

    def _remember(self, said: Save | Recover) -> None:
        if len(self._sound) < _REMEMBERED:
            self._sound[id(said)] = said

    def save(self, save: Save) -> Rated:
        """Return the transfer of a save; raise `RunError` for a tier without a schedule."""
        key = (save.tier, save.portion, save.writes, save.extra_s)
        known = self._saves.get(key)
        if known is None:
            if all(each.save.tier != save.tier for each in self.plan.schedules):
                raise RunError(
                    f"policy {self.policy!r}: {save} is to a tier that its plan has no schedule for"
                )
            known = self._saves[key] = self._rated(self.plan.transfer(save, self.costs))
        return known

    def amount(self, save: Save) -> tuple[Medium, float]:
        """Return the medium that a save writes to, and its bytes in full checkpoints."""
        key = save.tier, save.portion, save.writes
        known = self._amounts.get(key)
        if known is None:
            model, portion = self.costs.model, save.portion
            share = portion if model is None else model.saved_share(portion)
            known = self._amounts[key] = self.plan.tier(save.tier).medium, share * save.writes
        return known

    def snapshot_s(self, save: Save) -> float:
        """Return how long training waits for the snapshot of a background save, s."""
        return self._snapshots_s[save.tier]

    def load(self, answer: Recover, servers: int, reads: float) -> Rated:
        """Return the load after a failure of `servers` servers.

        `reads`: bytes that loading the checkpoint takes, in full checkpoints.
        """
        known = self._loads.get((answer, servers, reads))
        if known is None:
            tier = self.plan.tier(answer.source)
            read = rules.r26_reads(answer.reads, answer.made_anew, reads)
            transfer = self.costs.load(tier, answer.loads, servers, read)
            known = self._loads[answer, servers, reads] = self._rated(transfer)
        return known

    def _rated(self, transfer: Transfer) -> Rated:
        return transfer, uncontended_rate(transfer, self.costs.capacities)
