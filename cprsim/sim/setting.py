"""What all runs of one policy in one scenario share."""

from dataclasses import dataclass, field

from cprsim.contract import Plan
from cprsim.costs import CostModel, Rollback
from cprsim.scenario import Scenario
from cprsim.transfer import Transfer, uncontended_rate


@dataclass(frozen=True, slots=True)
class Setting:
    """The plan, and the costs with the rate that each has with its links to itself."""

    policy: str
    plan: Plan
    costs: CostModel
    useful_time_s: float
    servers: int
    final_save: bool
    during_recovery: bool
    detect_s: float
    spares: int
    training: Transfer
    training_rate: float
    _saves: dict[float, tuple[Transfer, float]] = field(default_factory=dict)
    _loads: dict[tuple[Rollback, int], tuple[Transfer, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, policy: str) -> "Setting":
        """The setting of one of the scenario's policies."""
        plan, costs = scenario.plan(policy), scenario.cost_model
        training = costs.training(plan.push_factor, plan.slowdown)
        return cls(
            policy=policy,
            plan=plan,
            costs=costs,
            useful_time_s=scenario.job.useful_time_s,
            servers=scenario.cluster.parameter_servers,
            final_save=scenario.job.final_save,
            during_recovery=scenario.failures.during_recovery,
            detect_s=scenario.costs.detect_s,
            spares=scenario.cluster.spares,
            training=training,
            training_rate=uncontended_rate(training, costs.capacities),
        )

    def save(self, portion: float) -> tuple[Transfer, float]:
        """What a save of `portion` of the rows writes, and its rate alone."""
        known = self._saves.get(portion)
        if known is None:
            transfer = self.costs.save_portion(portion)
            known = (transfer, uncontended_rate(transfer, self.costs.capacities))
            self._saves[portion] = known
        return known

    def load(self, rollback: Rollback, servers: int) -> tuple[Transfer, float]:
        """What is loaded after a failure that took down `servers` servers, and its rate alone."""
        known = self._loads.get((rollback, servers))
        if known is None:
            transfer = self.costs.load(rollback, servers)
            known = (transfer, uncontended_rate(transfer, self.costs.capacities))
            self._loads[rollback, servers] = known
        return known
