"""Jobs of few rules, played on failures by hand: down for so long, and then all nodes are back."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from cprsim.basics.streams import COHORT
from cprsim.failures.cohorts import NodeCohort, SeverityRows
from cprsim.failures.hits import Hit
from cprsim.failures.model import FailureModel
from cprsim.failures.shared import CohortStreams, SharedDraws
from cprsim.failures.spec import Failures
from cprsim.failures.timeline import Cursor, Timeline
from cprsim.job.platform import Cluster
from cprsim.scenario import Scenario
from cprsim.sim.cursor import cursor_of


def job_of(
    failures: Mapping[str, Any], servers: int = 8, trainers: int = 4, **costs: str
) -> Scenario:
    """A job of 100 h that saves and loads in a minute, if no costs are given."""
    return Scenario(
        job={"useful_time": "100 h"},
        cluster={"parameter_servers": servers, "trainers": trainers},
        costs={"save": "1 min", "load": "1 min", **costs},
        failures=dict(failures),
        policies={"full": {"system": "full"}},
    )


def played(
    cursor: Cursor, downtime_s: float = 0.0, most: float = 30, until_s: float = math.inf
) -> list[tuple[float, Hit]]:
    """The first failures of a job that is down for so long after each."""
    seen: list[tuple[float, Hit]] = []
    while cursor.next_s < math.inf and cursor.next_s <= until_s and len(seen) < most:
        at_s, hit = cursor.next_s, cursor.strike()
        seen.append((at_s, hit))
        cursor.replace(hit, at_s + downtime_s)
        cursor.resume(at_s + downtime_s)
    return seen


def timelines(
    model: FailureModel, seed: int, replications: Iterable[int], shared: SharedDraws | None = None
) -> Iterator[Timeline]:
    """The failures of replications, those of a cohort drawn together."""
    cohort = cache(lambda number: model.process.cohort(seed, number, shared))
    for number, row in (divmod(each, COHORT) for each in replications):
        yield cohort(number).timeline(row)


class Bursts:
    """Bursts at given times."""

    most = 4

    def __init__(self, bursts: Sequence[tuple[float, set[int]]]) -> None:
        self.bursts = bursts

    def at_s(self, index: int) -> float:
        return self.bursts[index][0] if index < len(self.bursts) else math.inf

    def nodes(self, index: int) -> frozenset[int]:
        return frozenset(self.bursts[index][1] if index < len(self.bursts) else ())


def lives(
    life_s: float,
    bursts: Sequence[tuple[float, set[int]]],
    nodes: int = 4,
    severities: SeverityRows | None = None,
) -> Cursor:
    """All lives are of that length; nodes 0 and 1 are servers, the others trainers."""

    class Cohort(NodeCohort):
        def shocks(self, row: int) -> Any:
            return Bursts(bursts)

    law = {"distribution": "deterministic", "mean": f"{life_s} s", "per": "node", "ages": "new"}
    cluster = Cluster(parameter_servers=2, trainers=nodes - 2)
    cohort: Any = Cohort(Failures(**law), cluster, CohortStreams(0, 0), severities)
    cohort.bursts = Bursts(bursts) if bursts else None
    return cursor_of(cohort.timeline(0))
