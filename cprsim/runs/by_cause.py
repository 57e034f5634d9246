"""Costs of the failures of each cause: detection, waiting, restarts and loads, lost training."""

from typing import TYPE_CHECKING, Final

import pandas as pd

from cprsim.contract import Recover
from cprsim.contract.ledger import FAILURE_COSTS
from cprsim.errors import UsageError
from cprsim.sim.engine import play
from cprsim.sim.observer import Observer

if TYPE_CHECKING:
    from cprsim.runs.result import Result

#: Replications that are watched, of all policies together and of each at least: one takes as long
#: as under the simulator.
MOST: Final = 64
_FEWEST: Final = 8


class CauseAccounts(Observer):
    """Charges seconds to the cause of the last failure, until the job trains again.

    `failures`, `seconds`, `updates_lost`: by cause. Training that a failure rolls back is its loss.
    """

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.seconds: dict[str, dict[str, float]] = {}
        self.updates_lost: dict[str, float] = {}
        self._cause = ""
        self._recovering = False
        self._trained_s = self._lost_before = 0.0

    def struck(self, cause: str, updates_lost: float) -> None:
        """Begin to charge another cause."""
        self._note_lost(updates_lost)
        self._cause, self._recovering = cause, True
        self.failures[cause] = self.failures.get(cause, 0) + 1
        self.seconds.setdefault(cause, dict.fromkeys(FAILURE_COSTS, 0.0))

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Charge seconds of a recovery."""
        if cause == "train":
            self._trained_s += end_s - start_s
            self._recovering = False
        elif self._recovering and cause in FAILURE_COSTS:
            self.seconds[self._cause][cause] += end_s - start_s

    def answered(self, answer: Recover, progress_s: float, slowdown_s: float) -> None:
        """Charge what is rolled back."""
        trained_s = progress_s + slowdown_s
        if answer.rollback == "all" and self._recovering:
            self.seconds[self._cause]["lost"] += self._trained_s - trained_s
        self._trained_s = trained_s

    def over(self, updates_lost: float) -> None:
        """Charge what the last failure lost for good; the next run begins."""
        self._note_lost(updates_lost)
        self._trained_s = self._lost_before = 0.0
        self._cause, self._recovering = "", False

    def _note_lost(self, updates_lost: float) -> None:
        if self._cause:
            known = self.updates_lost.get(self._cause, 0.0)
            self.updates_lost[self._cause] = known + updates_lost - self._lost_before
        self._lost_before = updates_lost


def watched(result: "Result", most: int = MOST) -> int:
    """Return the number of replications of each policy that are played again, watched."""
    return min(result.count, max(most // len(result.plans), _FEWEST))


def by_cause(result: "Result", most: int = MOST) -> pd.DataFrame:
    """Return what failures of each cause cost under each policy, of the first replications.

    Parameters
    ----------
    most
        Replications that are played again, watched, of all policies together.

    Returns
    -------
    pandas.DataFrame
        A row a policy and cause, the dearest first: `policy`, `cause`, `failures` in a job; of the
        useful time `detect`, `reschedule`, `start`, `load`, `lost` and their sum `overhead`;
        `updates_lost`, a share of all updates; `machine_hours` in a job, of all nodes. Sums over
        causes lack what no failure is charged with: saves, slowdown during training, starts and
        loads of allocations, drains, and silent faults.

    Raises
    ------
    UsageError
        Where the scenario has no `[[failures.causes]]`.
    """
    scenario = result.scenario
    if scenario.failures.causes is None:
        raise UsageError("the scenario has no causes of failures: give [[failures.causes]]")
    count, useful_s = watched(result, most), scenario.job.useful_time_s
    rows = []
    for policy in result.plans:
        accounts = CauseAccounts()
        for replication in range(count):
            ledger = play(scenario, policy, result.seed, replication, accounts)
            accounts.over(ledger.updates_lost)
        for cause in scenario.failures.causes:
            seconds = accounts.seconds.get(cause.name, dict.fromkeys(FAILURE_COSTS, 0.0))
            shares = {part: each / count / useful_s for part, each in seconds.items()}
            overhead = sum(shares.values())
            rows.append(
                {
                    "policy": policy,
                    "cause": cause.name,
                    "failures": accounts.failures.get(cause.name, 0) / count,
                    **shares,
                    "overhead": overhead,
                    "updates_lost": accounts.updates_lost.get(cause.name, 0.0) / count,
                    "machine_hours": overhead * useful_s / 3600 * scenario.failure_model.nodes,
                }
            )
    table = pd.DataFrame(rows)
    order = {name: place for place, name in enumerate(result.plans)}
    return table.sort_values(
        ["policy", "overhead"],
        key=lambda column: column.map(order) if column.name == "policy" else -column,
        ignore_index=True,
    )
