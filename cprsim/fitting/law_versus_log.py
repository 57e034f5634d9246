"""A law and the log it was fitted to, both simulated for one job: its length, nodes, policies."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pandas as pd

from cprsim.errors import UsageError
from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.readers import READERS
from cprsim.failures.logs.source import LogSource
from cprsim.fitting.block import gap_keys, law_keys, log_keys
from cprsim.fitting.fit_log import of_job
from cprsim.fitting.log_fit import LogFit
from cprsim.fitting.strikes import graded
from cprsim.runs.runner import run
from cprsim.runs.summaries import Mean
from cprsim.scenario import Scenario
from cprsim.survival.sample import Floats

REPLICATIONS: Final = 512
#: Times at which a log of the job's own nodes is started.
_STARTS: Final = 64
#: Least rest of the log at each start, in the longest runs under the law.
_ROOM: Final = 1.25
#: Shortest part of a log that is replayed.
_SHORTEST: Final = 1e-4
#: Measures that are compared, of `runs.measures.MEASURES`, and their names in notes.
COMPARED: Final = {"overhead": "overhead", "pls": "PLS", "failures": "failures"}
#: Keys of `[failures]` that no log holds.
_NOT_IN_LOGS: Final = ("severity", "during_recovery", "while_waiting", "silent", "notice")
#: A difference is beyond chance at so many standard errors.
_SURE: Final = 3.0
#: Length of a log, in jobs, from which on its replays are more than a few of them repeated.
_MANY_JOBS: Final = 20.0


class MeasureCompared(NamedTuple):
    """A measure under the log and under the law, and the law's less the log's, 95 % intervals."""

    log: Mean
    law: Mean
    apart: Mean

    @classmethod
    def of(cls, log: Floats, law: Floats, log_jobs: float) -> Self:
        """From each replication; the log's interval is as wide as of the number of its jobs."""
        by_law, every = Mean.of(law), Mean.of(log)
        wider = math.sqrt(max(len(log) / max(log_jobs, 1.0), 1.0))
        by_log = Mean.around(every.mean, (every.high - every.mean) * wider)
        half = math.hypot(*(each.high - each.mean for each in (by_law, by_log)))
        return cls(by_log, by_law, Mean.around(by_law.mean - by_log.mean, half))

    @property
    def differs(self) -> bool:
        """Return whether the two differ beyond chance, by three standard errors."""
        half = self.apart.high - self.apart.mean
        return abs(self.apart.mean) > _SURE / 1.96 * half

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        means = {name: each.document() for name, each in self._asdict().items()}
        return means | {"differs": self.differs}

    def note(self, measure: str) -> str:
        """Return how far law and log differ beyond chance, in words; empty if they don't."""
        if not self.differs:
            return ""
        if measure == "failures":
            return f"failures {self.law.mean:.3g} instead of {self.log.mean:.3g} a job"
        law, log = 100 * self.law.mean, 100 * self.log.mean
        return f"{COMPARED[measure]} {law:.3g} % instead of {log:.3g} %"


@dataclass(frozen=True)
class LawVersusLog:
    """A job under a law, compared with the same job under the log."""

    scenario: Scenario
    law: str
    #: By name of the policy, of each of `COMPARED`.
    policies: Mapping[str, Mapping[str, MeasureCompared]]
    #: Length of the log in jobs; infinite where it has durations alone.
    log_jobs: float
    #: Whether the log itself was simulated, and not draws from its durations.
    is_replayed: bool

    @property
    def notes(self) -> list[str]:
        """Sentences on whether the law holds for this job."""
        met = (found["failures"] for found in self.policies.values())
        if not any(each.log.mean > 0 or each.law.mean > 0 for each in met):
            return ["Neither the log nor its law has a failure for this job: nothing is told."]
        said = []
        for name, found in self.policies.items():
            apart = ", ".join(filter(None, (found[each].note(each) for each in COMPARED)))
            if apart:
                law = f"the {self.law} law is off the log by more than chance"
                said.append(f"{name}: {law}: {apart}.")
        if not said:
            said = [f"The {self.law} law and the log agree for this job, as far as chance goes."]
        if not self.is_replayed:
            said.append(
                "The log can't be replayed for this job: its durations are drawn from, which shows "
                "no clusters and no trend."
            )
        elif self.log_jobs < _MANY_JOBS:
            said.append(
                f"The log is {self.log_jobs:.2g} jobs long: its replays are parts of the same few "
                "failures."
            )
        return said

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            "scenario": self.scenario.title,
            "law": self.law,
            "log_jobs": None if math.isinf(self.log_jobs) else self.log_jobs,
            "replayed": self.is_replayed,
            "policies": {
                name: {measure: each.document() for measure, each in found.items()}
                for name, found in self.policies.items()
            },
        }


def of_new_law(fitted: LogFit, scenario: Scenario) -> LawVersusLog:
    """Compare the law of a fit, adequate or not, with its log, for a job.

    Both run the plans that policies make of the law. Where the log does not say which kind of node
    fails, each node of the job is as likely to.

    Raises
    ------
    UsageError
        If the scenario has no policies.
    ScenarioError
        If the job can't be simulated under these failures.
    """
    if not scenario.policies:
        raise UsageError("the scenario has no [policies] to compare the log and its law under")
    fitted = of_job(fitted, scenario)
    return _compared(fitted, scenario, _with(scenario, law_keys(fitted), fitted))


def of_own_law(fitted: LogFit, scenario: Scenario) -> LawVersusLog:
    """Compare as `of_new_law`, but the law that the scenario has.

    Its causes are simulated without their `repair`: a replay has no causes, so that both sides wait
    for `costs.reschedule`.
    """
    tables = scenario.mapping()
    causes = tables["failures"].get("causes", ())
    alike = [{key: each for key, each in cause.items() if key != "repair"} for cause in causes]
    by_law = scenario
    if alike != [*causes]:
        by_law = Scenario(**tables | {"failures": {**tables["failures"], "causes": alike}})
    return _compared(of_job(fitted, scenario), scenario, by_law)


def _compared(fitted: LogFit, scenario: Scenario, by_law: Scenario) -> LawVersusLog:
    law = run(by_law, replications=REPLICATIONS).replications
    longest_s = float(law["wall_s"].max())
    log, keys, log_jobs = fitted.log, log_keys(fitted), math.inf
    parts, replications = [keys], REPLICATIONS
    if "trace" in keys:
        # A log of the job's own nodes is replayed unchanged: from evenly spaced times that leave
        # room until its end, if it has these nodes and is long enough. One of a whole system starts
        # each replication somewhere else by itself, and has stretches on nodes of their own.
        at_once = 1
        if READERS[keys["reader"]].of_the_job:
            first, last = fitted.source.shares()
            left = min(1 - _ROOM * longest_s / log.span_s, 1 - _SHORTEST)
            parts = [gap_keys(fitted)]
            if left > 0 and _has_nodes(log, scenario):
                starts = np.linspace(first, first + (last - first) * left, _STARTS)
                parts = [keys | {"window": f"{share:.6f}:{last:.6f}"} for share in starts]
                replications = 1
        else:
            at_once = max(Attendance(log).most // scenario.failure_model.nodes, 1)
        if "trace" in parts[0]:
            log_jobs = at_once * log.span_s / scenario.job.useful_time_s
    by_log = []
    for number, part in enumerate(parts):
        replay = _with(scenario, part, fitted)
        replay.plans.update(by_law.plans_of())
        # A seed for each start: one seed has the same delays in each first replication.
        by_log.append(run(replay, replications=replications, seed=number).replications)
    every, policies = pd.concat(by_log), dict[str, dict[str, MeasureCompared]]()
    for name in scenario.policies:
        of_log, of_law = (runs[runs["policy"] == name] for runs in (every, law))
        policies[name] = {
            measure: MeasureCompared.of(
                of_log[measure].to_numpy(), of_law[measure].to_numpy(), log_jobs
            )
            for measure in COMPARED
        }
    name = str(by_law.failures.distribution)
    return LawVersusLog(scenario, name, policies, log_jobs, "trace" in parts[0])


def _has_nodes(log: FailureLog, scenario: Scenario) -> bool:
    """Return whether the job has all nodes that fail in the log."""
    cluster = scenario.cluster
    if log.kinds is None:
        return int(log.nodes.max()) < scenario.failure_model.nodes
    counts = {"parameter_server": cluster.parameter_servers, "trainer": cluster.trainers}
    return all(node < counts[kind] for node, kind in zip(log.nodes, log.kinds, strict=True))


def _with(scenario: Scenario, keys: Mapping[str, Any], fitted: LogFit) -> Scenario:
    """The scenario under these failures; severities are the log's where it has some."""
    tables = scenario.mapping()
    is_graded = any(each.severity is not None for each in fitted.strikes)
    kept = not_in_logs(tables["failures"], is_graded)
    severities = kept.pop("severity", None)
    if severities is not None:
        keys = graded(keys, severities)
    return Scenario(**tables | {"failures": {**kept, **keys}})


def not_in_logs(failures: Mapping[str, Any], is_graded: bool = False) -> dict[str, Any]:
    """Return the keys of `[failures]` that no log of failures holds; `severity` if it has none.

    Raises
    ------
    UsageError
        If there are causes with a detection, or with a severity where the log has none
        (`is_graded`): it does not say which of its failures are of which cause.
    """
    causes = failures.get("causes")
    for cause in causes if isinstance(causes, list) else ():
        if not isinstance(cause, dict):
            continue  # a fault that the scenario reports
        if "detect" in cause or (not is_graded and cause.get("severity", "node") != "node"):
            raise UsageError(
                "--for: the scenario has [[failures.causes]], which a log of failures does not "
                "tell; leave them out, and give failures.severity if costs.restart is given"
            )
    kept = {key: failures[key] for key in _NOT_IN_LOGS if key in failures}
    return {key: each for key, each in kept.items() if key != "severity" or not is_graded}


def replayed(log: Path, reader: str | None, given: Mapping[str, Any]) -> Scenario:
    """Return the job of these tables in which the failures of a log strike.

    Severities of the log win over those of the job.
    """
    failures, source = given.get("failures"), LogSource.from_options(log, reader)
    kept: dict[str, Any] = {}
    if isinstance(failures, dict):
        needs_log = bool({"severity", "causes"} & failures.keys())
        is_graded = needs_log and source.failures().severities is not None
        kept = not_in_logs(failures, is_graded)
    return Scenario(**{**given, "failures": {"trace": str(log), "reader": source.reader, **kept}})
