"""Policies of a fleet, played on its jobs: each job once, the same failures for all policies."""

from collections.abc import Iterable, Sequence
from typing import Final

from cprsim.advice.aims import Aim
from cprsim.advice.trials import Trials, Values
from cprsim.contract import Policy
from cprsim.contract.memory import memory_fault
from cprsim.errors import CprsimError
from cprsim.fleets.fleet import Fleet
from cprsim.runs.engines import Engine, play_jobs
from cprsim.scenario import Scenario

#: To build a job and its plans takes about so long, s.
_JOB_S: Final = 3e-3


class FleetTrials(Trials):
    """As `Trials`, of which replication i is job i; `scenario` is the fleet's example.

    A policy of the fleet is what each job has of it, drawn values and all. One that can't be
    planned for some job can't be played.
    """

    most = 1024
    of_fleet = True

    def __init__(self, fleet: Fleet, aim: Aim, seed: int) -> None:
        super().__init__(fleet.example, aim, seed)
        self._fleet = fleet
        self._own = {self._key(each): name for name, each in fleet.example.policies.items()}
        self._jobs: list[Scenario] = []

    def seconds(self, policies: Iterable[Policy]) -> float:
        """What a job takes about, s."""
        return _JOB_S + super().seconds(policies)

    def _ledgers(
        self, engines: dict[str, Engine], replications: range
    ) -> tuple[Values, list[Scenario]]:
        """Return ledgers of jobs under policies that have a plan in each of them; and the jobs."""
        names = list(engines)
        jobs = [self._with(job, names) for job in self._of(replications)]
        tasks = [(i, job, names) for i, job in zip(replications, jobs, strict=True)]
        engine: Engine = "batch" if set(engines.values()) == {"batch"} else "sim"
        return play_jobs(tasks, self.seed, engine), jobs

    def gets_nowhere(self, policy: Policy) -> bool:  # noqa: ARG002
        """Return False: jobs that get nowhere are left out one by one."""
        return False

    def why_not(self, policy: Policy) -> str | None:
        """Why a policy can't be played in one of the jobs, or None."""
        return super().why_not(policy) or self.faults(policy, range(self.most))

    def faults(self, policy: Policy, jobs: range) -> str | None:
        """Why it can't be played in one of these jobs, or None."""
        name = self._key(policy)
        for number, job in zip(jobs, self._of(jobs), strict=True):
            try:
                plan = self._with(job, [name]).check(name)
            except (CprsimError, ValueError) as error:
                return f"can't be in job {number}: {error}"
            lacks = memory_fault(plan, job.cost_model)
            if lacks is not None:
                return f"{lacks} in job {number}"
        return None

    def _of(self, numbers: range) -> list[Scenario]:
        if len(self._jobs) < numbers.stop:
            new = range(len(self._jobs), numbers.stop)
            self._jobs += self._fleet.jobs(self.seed, new)
        return self._jobs[numbers.start : numbers.stop]

    def _with(self, job: Scenario, names: Sequence[str]) -> Scenario:
        own = {key: job.policies[name] for key, name in self._own.items()}
        return job.with_policies({key: own.get(key, self._policies[key]) for key in names})
