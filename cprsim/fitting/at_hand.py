"""A law and its log, both played at the length, nodes and policies of the job at hand."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.failures.logs.log import FailureLog, parse_window
from cprsim.failures.logs.readers import READERS
from cprsim.failures.logs.views import nodes_of
from cprsim.fitting.fit_log import fit
from cprsim.fitting.log_fit import LogFit, gap_keys, law_keys, log_keys
from cprsim.runs.mean import Mean
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.scenario import Scenario

REPLICATIONS: Final = 512
#: Times at which a log of the job's own nodes is started.
_STARTS: Final = 64
#: Of the useful time, what a job may take until it is through, and so a stretch of the log.
_ROOM: Final = 1.5
#: Of `runs.measures.MEASURES`, what is compared.
COMPARED: Final = ("overhead", "pls", "failures")
#: Keys of `[failures]` that a log doesn't tell, as a scenario has them.
_KEPT: Final = ("severity", "while_waiting")
#: A difference is beyond chance at so many standard errors.
_SURE: Final = 3.0
#: Jobs that a log has to be long for replays of it to be more than a few of them again and again.
_MANY_JOBS: Final = 20.0


@dataclass(frozen=True)
class LawBesideLog:
    """A measure under the log and under the law, and the law's less the log's, 95 % intervals."""

    log: Mean
    law: Mean
    apart: Mean

    @property
    def differs(self) -> bool:
        """Whether the two are apart beyond chance, by three standard errors."""
        half = self.apart.high - self.apart.mean
        return abs(self.apart.mean) > _SURE / 1.96 * half

    def document(self) -> dict[str, Any]:
        """As one JSON object."""
        told = {"log": self.log, "law": self.law, "apart": self.apart}
        return {name: each.document() for name, each in told.items()} | {"differs": self.differs}


@dataclass(frozen=True)
class AtHand:
    """What the best law of a fit says of a job, beside the log itself.

    `policies`: by name, of each of `COMPARED`. `log_jobs`: how many jobs of this length the log is
    long; infinite where it has durations alone.
    """

    scenario: Scenario
    law: str
    policies: Mapping[str, Mapping[str, LawBesideLog]]
    log_jobs: float

    @property
    def notes(self) -> list[str]:
        """Whether the law holds for this job, a sentence each."""
        said = []
        for name, found in self.policies.items():
            apart = [measure for measure in COMPARED if found[measure].differs]
            if apart:
                told = ", ".join(_difference(measure, found[measure]) for measure in apart)
                said.append(
                    f"{name}: the {self.law} law is off the log by more than chance: {told}."
                )
        if not said:
            said = [f"The {self.law} law and the log agree for this job, as far as chance goes."]
        if self.log_jobs < _MANY_JOBS:
            said.append(
                f"The log is {self.log_jobs:.2g} jobs long: its replays are parts of the same few "
                "failures, so they say less than their intervals do."
            )
        return said

    def document(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "scenario": self.scenario.title,
            "law": self.law,
            "log_jobs": None if math.isinf(self.log_jobs) else self.log_jobs,
            "policies": {
                name: {measure: each.document() for measure, each in found.items()}
                for name, found in self.policies.items()
            },
        }


def _nodes_to_fit(fitted: LogFit, scenario: Scenario) -> int | None:
    """Nodes of the job, where the log is of a larger system and its gaps were looked at."""
    nodes = _nodes(scenario)
    if fitted.look != "gaps" or not fitted.source.path or fitted.source.reader == "intervals":
        return None
    return nodes if nodes < nodes_of(fitted.source.failures()) else None


def fit_for(scenario: Scenario, log: str | os.PathLike[str] | FailureLog, **taken: Any) -> LogFit:
    """Fit a log as `cprsim.fit`, for a job: of a larger system, the gaps of a job on its nodes.

    Failures are shared out to the kinds of the job's nodes where the log hasn't any.

    Raises
    ------
    LogError, UsageError
        As of `cprsim.fit`.
    """
    fitted = fit(log, **taken)
    nodes = _nodes_to_fit(fitted, scenario)
    if nodes is not None:
        fitted = fit(log, **taken | {"view": "job", "nodes": nodes})
    return of_job(fitted, scenario)


def of_job(fitted: LogFit, scenario: Scenario) -> LogFit:
    """The fit with failures shared out to the kinds of nodes of the job, if the log hasn't any."""
    cluster = scenario.cluster
    nodes = {"parameter_servers": cluster.parameter_servers, "trainers": cluster.trainers}
    weights = {kind: count for kind, count in nodes.items() if count}
    return fitted if fitted.kinds else replace(fitted, kinds=weights)


def at_hand(fitted: LogFit, scenario: Scenario, seed: int = 0) -> AtHand:
    """Play the job under the best law, adequate or not, and under the log.

    Both play the plans that policies make of the law. Where the log doesn't tell which kind of node
    fails, each node of the job is as likely to.

    Raises
    ------
    UsageError
        If the scenario has no policies.
    ScenarioError
        If the job can't be played under these failures.
    """
    if not scenario.policies:
        raise UsageError("the scenario has no [policies] to compare the log and its law under")
    fitted = of_job(fitted, scenario)
    by_law, log_jobs = _with(scenario, law_keys(fitted)), _jobs_in(fitted, scenario)
    law = [run(by_law, replications=REPLICATIONS, seed=seed)]
    log = []
    for failures, replications in _of_log(fitted, log_jobs):
        by_log = _with(scenario, failures)
        by_log.plans.update(by_law.plans_of())
        log.append(run(by_log, replications=replications, seed=seed))
    return AtHand(
        scenario,
        fitted.best.law.distribution,
        {name: _compared(law, log, name) for name in scenario.policies},
        log_jobs,
    )


def _of_log(fitted: LogFit, log_jobs: float) -> Iterator[tuple[dict[str, Any], int]]:
    """`[failures]` of the log, and how many replications of each.

    A log of a whole system starts each replication somewhere else by itself. One of the job's own
    nodes is replayed from evenly spaced times; where it is hardly longer than the job, its gaps are
    drawn from.
    """
    keys = log_keys(fitted)
    as_it_stands = "trace" in keys and READERS[keys["reader"]].of_the_job
    if not as_it_stands:
        yield keys, REPLICATIONS
    elif log_jobs < _ROOM:
        yield gap_keys(fitted), REPLICATIONS
    else:
        first, last = parse_window(keys["window"])
        for share in np.linspace(first, last - (last - first) * _ROOM / log_jobs, _STARTS):
            yield keys | {"window": f"{share:.6f}:{last:.6f}"}, 1


def _with(scenario: Scenario, keys: Mapping[str, Any]) -> Scenario:
    tables = scenario.mapping()
    kept = {key: value for key, value in tables["failures"].items() if key in _KEPT}
    return Scenario(**tables | {"failures": {**kept, **keys}})


def _compared(law: Sequence[Result], log: Sequence[Result], policy: str) -> dict[str, LawBesideLog]:
    found = {}
    for measure in COMPARED:
        one, other = (_values(each, policy, measure) for each in (law, log))
        half = math.hypot(*(float(Mean.of(each).high - each.mean()) for each in (one, other)))
        apart = Mean.around(float(one.mean() - other.mean()), half)
        found[measure] = LawBesideLog(Mean.of(other), Mean.of(one), apart)
    return found


def _values(results: Sequence[Result], policy: str, measure: str) -> NDArray[np.float64]:
    rows = (each.replications for each in results)
    return np.concatenate([each.loc[each["policy"] == policy, measure].to_numpy() for each in rows])


def _jobs_in(fitted: LogFit, scenario: Scenario) -> float:
    """Stretches of the length of this job, on nodes of their own, in the log."""
    source = fitted.source
    if not source.path or source.reader == "intervals":
        return math.inf
    log = source.failures()
    dealt = max(nodes_of(log) // _nodes(scenario), 1)
    return dealt * log.span_s / scenario.job.useful_time_s


def _nodes(scenario: Scenario) -> int:
    return scenario.cluster.trainers + scenario.cluster.parameter_servers


def _difference(measure: str, found: LawBesideLog) -> str:
    name = {"overhead": "overhead", "pls": "PLS", "failures": "failures"}[measure]
    law, log = found.law.mean, found.log.mean
    if measure == "failures":
        return f"{name} {law:.3g} instead of {log:.3g} a job"
    return f"{name} {100 * law:.3g} % instead of {100 * log:.3g} %"
