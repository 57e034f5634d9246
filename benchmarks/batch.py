"""The batch engine beside the simulator, and beside drawing its failures and nothing else.

In processor time of this process, so that what else the machine does matters little; each round
measures all of them in turn, and the ratios are those of a round.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import cprsim
from cprsim.basics.streams import COHORT
from cprsim.batch import engine as batch
from cprsim.failures.cohorts import InstantCohort
from cprsim.sim import engine as sim

_ROUNDS = 3
_MANY, _FEWER = 100_000, 4_096
#: Shipped scenarios with other failures, and replications of the simulator that take no minutes.
_OTHERS = {"quickstart": 20, "production": 20, "ecrm": 20, "replication": 5}


class Spread(NamedTuple):
    """Median, least and greatest of some ratios."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of these."""
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:,.3g} ({self.least:,.3g} to {self.most:,.3g})"


class Speed(NamedTuple):
    """Microseconds a replication (medians), and ratios; `drawn` where that is measured."""

    scenario: str
    policies: str
    sim_us: float
    batch_us: float
    faster: Spread
    drawn: Spread | None


def kaggle() -> Iterator[Speed]:
    """`criteo-kaggle`: each of its policies, and all of them together."""
    scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
    every = list(scenario.policies)
    for policies in (*([name] for name in every), every):
        yield _speed("criteo-kaggle", scenario, policies, _MANY, 100)


def others() -> Iterator[Speed]:
    """Other scenarios, all policies together that the batch engine plays."""
    for name, few in _OTHERS.items():
        scenario = cprsim.load_scenario(f"scenarios/{name}.toml")
        policies = [
            each for each in scenario.policies if batch.why_unsupported(scenario, each) is None
        ]
        yield _speed(name, scenario, policies, _FEWER, few)


def _speed(name: str, scenario: cprsim.Scenario, policies: list[str], many: int, few: int) -> Speed:
    process = scenario.failure_model.process

    def draw() -> None:
        for number in range(-(-many // COHORT)):
            cohort = process.cohort(0, number)
            assert isinstance(cohort, InstantCohort)
            cohort.victims.upto(cohort.times_s.shape[1])

    fixed = isinstance(process.cohort(0, 0), InstantCohort)
    rounds = [
        (
            _us(lambda: sim.simulate(scenario, policies, range(few), 0), few),
            _us(lambda: batch.simulate(scenario, policies, range(many), 0), many),
            _us(draw, many) if fixed else 0.0,
        )
        for _ in range(_ROUNDS)
    ]
    sims, batches, draws = zip(*rounds, strict=True)
    return Speed(
        name,
        policies[0] if len(policies) == 1 else f"{len(policies)} together",
        statistics.median(sims),
        statistics.median(batches),
        Spread.of([one / other for one, other in zip(sims, batches, strict=True)]),
        Spread.of([one / other for one, other in zip(batches, draws, strict=True)])
        if fixed
        else None,
    )


def _us(run: Callable[[], object], count: int) -> float:
    start = time.process_time()
    run()
    return 1e6 * (time.process_time() - start) / count
