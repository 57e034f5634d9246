"""A plan in its scenario: what its transfers cost, and whether a controller may ask for them."""

from cprsim.contract import Loss, Recover, Save, rules
from cprsim.contract.checks import answer_flaw, save_flaw
from cprsim.errors import RunError
from cprsim.failures.notice import Notices
from cprsim.job.tiers import Medium
from cprsim.job.transfer import Transfer, uncontended_rate
from cprsim.scenario import Scenario


class PlanCosts:
    """A policy's plan in its scenario."""

    def __init__(self, scenario: Scenario, policy: str) -> None:
        self.scenario, self.policy = scenario, policy
        self.plan, self.costs = scenario.plan(policy), scenario.cost_model
        self.servers = scenario.cluster.parameter_servers

    @property
    def nodes(self) -> int:
        """Servers and trainers."""
        return self.servers + self.costs.cluster.trainers

    @property
    def marked(self) -> bool:
        """Return whether checkpoints differ in more than their age: torn, corrupt or verified."""
        storage = self.costs.storage
        torn = storage is not None and storage.torn > 0
        silent = self.scenario.failures.silent is not None
        return torn or silent or self.plan.verifies is not None

    @property
    def notices(self) -> Notices | None:
        """The notices of failures; None where the plan answers none."""
        return None if self.plan.on_notice is None else self.scenario.failures.notice

    # --- Transfers -------------------------------------------------------------------------------

    def training(self, degraded: float) -> Transfer:
        """Return a useful second of training, which takes longer by the share `degraded`."""
        slowdown = (1 + self.plan.slowdown) * (1 + degraded) - 1
        return self.costs.training(slowdown, self.plan.peer_bytes_per_s)

    def save(self, save: Save) -> Transfer:
        """Return the transfer of a save."""
        return self.plan.transfer(save, self.costs)

    def amount(self, save: Save) -> tuple[Medium, float]:
        """Return the medium that a save writes to, and its bytes, in full checkpoints."""
        model, portion = self.costs.model, save.portion
        share = portion if model is None else model.saved_share(portion)
        return self.plan.tier(save.tier).medium, share * save.writes

    def load(self, answer: Recover, servers: int, reads: float) -> Transfer:
        """Return the load after a failure of `servers` servers, from a checkpoint that `reads`.

        Raises
        ------
        ScenarioError
            If the scenario doesn't give its cost.
        """
        tier = self.plan.tier(answer.source)
        read = rules.bytes_read(answer.reads, answer.made_anew, reads)
        return self.costs.load(tier, answer.loads, servers, read)

    def rate(self, transfer: Transfer) -> float:
        """Return the rate of a transfer while no other is on its links, per second."""
        return uncontended_rate(transfer, self.costs.capacities)

    # --- What a controller says ------------------------------------------------------------------

    def check_save(self, save: Save) -> None:
        """Raise `RunError` for a save that no controller may ask for."""
        flaw = save_flaw(save, self.plan)
        if flaw:
            raise RunError(f"policy {self.policy!r}: its controller requested a save {flaw}")
        self.check_tier(save)

    def check_tier(self, save: Save) -> None:
        """Raise `RunError` for a save to a tier without a schedule."""
        if all(each.save.tier != save.tier for each in self.plan.schedules):
            raise RunError(
                f"policy {self.policy!r}: {save} is to a tier that its plan has no schedule for"
            )

    def checked_answer(self, answer: object, loss: Loss) -> Recover:
        """The answer to a loss; raises `RunError` for one that no controller may give."""
        flaw = answer_flaw(answer, loss, self.plan)
        if flaw:
            raise RunError(f"policy {self.policy!r}: its controller answered a failure {flaw}")
        assert isinstance(answer, Recover)
        return answer
