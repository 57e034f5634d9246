"""A law and its log, both played at the length, nodes and policies of the job at hand."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.failures.logs.attendance import Attendance
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.readers import READERS
from cprsim.fitting.block import gap_keys, law_keys, log_keys
from cprsim.fitting.fit_log import of_job
from cprsim.fitting.log_fit import LogFit
from cprsim.fitting.strikes import graded
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.runs.summaries import Mean
from cprsim.scenario import Scenario

REPLICATIONS: Final = 512
#: Times at which a log of the job's own nodes is started.
_STARTS: Final = 64
#: Of the longest job under the law, what is left of the log at each start.
_ROOM: Final = 1.25
#: Of a log, the shortest part that is replayed.
_SHORTEST: Final = 1e-4
#: Of `runs.measures.MEASURES`, what is compared, and what it is called.
COMPARED: Final = {"overhead": "overhead", "pls": "PLS", "failures": "failures"}
#: Keys of `[failures]` that a log doesn't tell, as a scenario has them.
_NOT_TOLD: Final = ("severity", "during_recovery", "while_waiting", "silent", "notice")
#: A difference is beyond chance at so many standard errors.
_SURE: Final = 3.0
#: Jobs that a log has to be long for replays of it to be more than a few of them again and again.
_MANY_JOBS: Final = 20.0


class LawBesideLog(NamedTuple):
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
        told = {name: each.document() for name, each in self._asdict().items()}
        return told | {"differs": self.differs}


@dataclass(frozen=True)
class AtHand:
    """What the best law of a fit says of a job, beside the log itself."""

    scenario: Scenario
    law: str
    #: By name, of each of `COMPARED`.
    policies: Mapping[str, Mapping[str, LawBesideLog]]
    #: How many jobs of this length the log is long; infinite where it has durations alone.
    log_jobs: float
    #: Whether the log itself was played, and not draws from its durations.
    is_replayed: bool

    @property
    def notes(self) -> list[str]:
        """Whether the law holds for this job, a sentence each."""
        met = (found["failures"] for found in self.policies.values())
        if not any(each.log.mean > 0 or each.law.mean > 0 for each in met):
            return ["Neither the log nor its law has a failure for this job: nothing is told."]
        said = []
        for name, found in self.policies.items():
            apart = [_difference(measure, found[measure]) for measure in COMPARED]
            told = ", ".join(filter(None, apart))
            if told:
                said.append(
                    f"{name}: the {self.law} law is off the log by more than chance: {told}."
                )
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
        """As one JSON object."""
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


def _difference(measure: str, found: LawBesideLog) -> str:
    """How far law and log differ beyond chance, in words; empty if they don't."""
    name, law, log = COMPARED[measure], found.law.mean, found.log.mean
    if not found.differs:
        return ""
    if measure == "failures":
        return f"{name} {law:.3g} instead of {log:.3g} a job"
    return f"{name} {100 * law:.3g} % instead of {100 * log:.3g} %"


def at_hand(fitted: LogFit, scenario: Scenario) -> AtHand:
    """Play the job under the law of a fit, adequate or not, and under the log.

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
    return _beside(fitted, scenario, _with(scenario, law_keys(fitted), fitted))


def its_own_law(fitted: LogFit, scenario: Scenario) -> AtHand:
    """As `at_hand`, but under the law that the scenario has.

    Its causes are played without their `repair`: a replay does not tell causes, so that both sides
    wait for `costs.reschedule`.
    """
    tables = scenario.mapping()
    causes = tables["failures"].get("causes", ())
    alike = [{key: each for key, each in cause.items() if key != "repair"} for cause in causes]
    by_law = scenario
    if alike != [*causes]:
        by_law = Scenario(**tables | {"failures": {**tables["failures"], "causes": alike}})
    return _beside(of_job(fitted, scenario), scenario, by_law)


def _beside(fitted: LogFit, scenario: Scenario, by_law: Scenario) -> AtHand:
    law = [run(by_law, replications=REPLICATIONS)]
    longest_s = float(law[0].replications["wall_s"].max())
    whole = fitted.source.failures() if "trace" in log_keys(fitted) else None
    played = _of_log(fitted, whole, scenario, _ROOM * longest_s)
    keys, _ = played[0]
    is_replayed = "trace" in keys
    log_jobs = math.inf
    if whole is not None and is_replayed:  # stretches of this length, on nodes of their own
        dealt = (
            1 if _stands(keys) else max(Attendance(whole).most // scenario.failure_model.nodes, 1)
        )
        log_jobs = dealt * whole.span_s / scenario.job.useful_time_s
    log = []
    for number, (failures, replications) in enumerate(played):
        by_log = _with(scenario, failures, fitted)
        by_log.plans.update(by_law.plans_of())
        # Delays are drawn anew for each start: one seed has the same in each first replication.
        log.append(run(by_log, replications=replications, seed=number))
    return AtHand(
        scenario,
        str(by_law.failures.distribution),
        {name: _compared(law, log, name, log_jobs) for name in scenario.policies},
        log_jobs,
        is_replayed,
    )


def _of_log(
    fitted: LogFit, log: FailureLog | None, scenario: Scenario, room_s: float
) -> list[tuple[dict[str, Any], int]]:
    """`[failures]` of the log, if it is one, and how many replications of each.

    A log of a whole system starts each replication somewhere else by itself. One of the job's own
    nodes is replayed from evenly spaced times that leave `room_s` until its end; where there are
    none, or it has other nodes, its durations are drawn from.
    """
    keys = log_keys(fitted)
    if log is None or not _stands(keys):
        return [(keys, REPLICATIONS)]
    first, last = fitted.source.shares()
    left = min(1 - room_s / log.span_s, 1 - _SHORTEST)
    if left <= 0 or not _fits(log, scenario):
        return [(gap_keys(fitted), REPLICATIONS)]
    starts = np.linspace(first, first + (last - first) * left, _STARTS)
    return [(keys | {"window": f"{share:.6f}:{last:.6f}"}, 1) for share in starts]


def _stands(keys: Mapping[str, Any]) -> bool:
    """Whether it is a log of the job's own nodes, replayed as it stands."""
    return "trace" in keys and READERS[keys["reader"]].of_the_job


def _fits(log: FailureLog, scenario: Scenario) -> bool:
    """Whether the job has all nodes that fail in the log."""
    cluster = scenario.cluster
    if log.kinds is None:
        return int(log.nodes.max()) < scenario.failure_model.nodes
    counts = {"parameter_server": cluster.parameter_servers, "trainer": cluster.trainers}
    return all(node < counts[kind] for node, kind in zip(log.nodes, log.kinds, strict=True))


def _with(scenario: Scenario, keys: Mapping[str, Any], fitted: LogFit) -> Scenario:
    """The scenario under these failures; severities are the log's where that tells them."""
    tables = scenario.mapping()
    is_graded = any(each.severity is not None for each in fitted.strikes)
    kept = not_told(tables["failures"], is_graded)
    severities = kept.pop("severity", None)
    if severities is not None and not is_graded:
        keys = graded(keys, severities)
    return Scenario(**tables | {"failures": {**kept, **keys}})


def not_told(failures: Mapping[str, Any], is_graded: bool = False) -> dict[str, Any]:
    """Return the keys of `[failures]` that no log of failures tells.

    Raises `UsageError` if there are causes with a detection, or with a severity where the log tells
    none (`is_graded`): it does not tell which of its failures are of which cause.
    """
    causes = failures.get("causes")
    for cause in causes if isinstance(causes, list) else ():
        if not isinstance(cause, dict):
            continue  # which is a fault that the scenario tells
        if "detect" in cause or (not is_graded and cause.get("severity", "node") != "node"):
            raise UsageError(
                "--for: the scenario has [[failures.causes]], which a log of failures does not "
                "tell; leave them out, and give failures.severity if costs.restart is given"
            )
    return {key: failures[key] for key in _NOT_TOLD if key in failures}


def _compared(
    law: Sequence[Result], log: Sequence[Result], policy: str, log_jobs: float
) -> dict[str, LawBesideLog]:
    found = {}
    for measure in COMPARED:
        of_law, drawn = (
            np.concatenate(
                [
                    each.replications.loc[each.replications["policy"] == policy, measure].to_numpy()
                    for each in results
                ]
            )
            for results in (law, log)
        )
        by_law, by_log = Mean.of(of_law), _as_few(drawn, log_jobs)
        half = math.hypot(*(each.high - each.mean for each in (by_law, by_log)))
        found[measure] = LawBesideLog(by_log, by_law, Mean.around(by_law.mean - by_log.mean, half))
    return found


def _as_few(values: NDArray[np.float64], log_jobs: float) -> Mean:
    """Their mean, with an interval as wide as that of the jobs that there are in the log."""
    mean = Mean.of(values)
    wider = math.sqrt(max(len(values) / max(log_jobs, 1.0), 1.0))
    return Mean.around(mean.mean, (mean.high - mean.mean) * wider)
