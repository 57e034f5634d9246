"""Which policy is best at each point of a sweep, with which choices, and how sure that is.

What is varied under `policies.NAME` is up to whoever runs the job: a choice. All else is
circumstance. So points that differ in choices alone are one question, and its candidates are the
policies with the choices of their own. All of them met the same failures: replication i of a sweep
is drawn from the seed, i and the circumstances.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.runs.measures import MEASURES
from cprsim.runs.summaries import half_width
from cprsim.sweeps.columns import text_of
from cprsim.sweeps.paired import Certainty, Comparison, compare
from cprsim.sweeps.played import Played, StoredPoint

#: What came of each policy at a point of that number.
PlayedAt = Callable[[int], Sequence[Played]]
#: Of `MEASURES`, those that are told of the best.
TOLD = ("overhead", "pls", "updates_lost")


@dataclass(frozen=True)
class Quality:
    """What a candidate may lose of the learning, in the mean; None for whatever it is.

    Raises
    ------
    UsageError
        If a bound is no share.
    """

    max_pls: float | None = None
    max_updates_lost: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_pls", "max_updates_lost"):
            bound = getattr(self, name)
            if bound is not None and not 0 <= bound <= 1:
                raise UsageError(f"{name} {bound:g} is not a share from 0 to 1, e.g. 0.1 for 10 %")

    def __bool__(self) -> bool:
        return self.max_pls is not None or self.max_updates_lost is not None

    def __str__(self) -> str:
        bounds = {"PLS": self.max_pls, "updates lost": self.max_updates_lost}
        return ", ".join(
            f"{name} <= {bound:g}" for name, bound in bounds.items() if bound is not None
        )

    def is_kept(self, pls: float, updates_lost: float) -> bool:
        """Whether means keep to the bounds."""
        return all(
            bound is None or value <= bound
            for bound, value in ((self.max_pls, pls), (self.max_updates_lost, updates_lost))
        )


@dataclass(frozen=True)
class Candidate:
    """A policy with its choices, the point where it was played, and its plan."""

    point: int
    policy: str
    choices: dict[str, Any]
    system: str
    recovery: str
    interval_s: float

    @property
    def label(self) -> str:
        """`"full"`; `"full (2 h)"` where its interval is varied, `"cpr (target_pls 0.1)"` else."""
        own = {policy_and_rest(key)[1]: text_of(value) for key, value in self.choices.items()}
        texts = [
            text if key == "interval" else f"{key} {text}".strip() for key, text in own.items()
        ]
        return f"{self.policy} ({', '.join(texts)})" if texts else self.policy


@dataclass(frozen=True)
class SweepVerdict:
    """Which candidate is best under some circumstances, and how sure that is.

    Parameters
    ----------
    point
        Where the best was played; where there is none, the first point.
    values
        The circumstances that are varied, as given.
    candidates
        All that keep to the bounds.
    comparison
        Of the candidates; None if there is none.
    replications
        That all of them have, and that were compared.
    statistics
        Of the best: means of `TOLD` with their 95 % intervals, `_low` and `_high`.
    failed
        How many points failed; the others are compared.
    error
        Why there is nothing to compare: the error of the first point, if all failed.
    """

    point: int
    values: dict[str, Any]
    candidates: tuple[Candidate, ...] = ()
    comparison: Comparison | None = None
    replications: int = 0
    statistics: dict[str, float] = field(default_factory=dict)
    failed: int = 0
    error: str = ""

    @property
    def verdict(self) -> Certainty | Literal["none", "failed"]:
        """How sure it is; `"none"`: no candidate keeps to the bounds."""
        if self.comparison is not None:
            return self.comparison.verdict
        return "failed" if self.error else "none"

    @property
    def best(self) -> Candidate | None:
        """The candidate with the least mean overhead."""
        return None if self.comparison is None else self.candidates[self.comparison.best]

    @property
    def runner_up(self) -> Candidate | None:
        """The next best that isn't the same."""
        if self.comparison is None or self.comparison.runner_up is None:
            return None
        return self.candidates[self.comparison.runner_up]

    @property
    def tied(self) -> list[Candidate]:
        """Those than which the best isn't surely better."""
        return [self.candidates[i] for i in self.comparison.tied] if self.comparison else []

    @property
    def same(self) -> list[Candidate]:
        """Those that differ from the best in no replication."""
        return [self.candidates[i] for i in self.comparison.same] if self.comparison else []

    @property
    def rivals(self) -> list[str]:
        """Other policies among the tied: empty where the policy is clear, if not its choices."""
        own = self.best.policy if self.best else ""
        return list(dict.fromkeys(each.policy for each in self.tied if each.policy != own))


def policy_and_rest(key: str) -> tuple[str, str]:
    """Of a choice, `policies.NAME.KEY`; the name is empty for a circumstance."""
    section, *rest = (part.strip() for part in key.split("."))
    return (rest[0], ".".join(rest[1:])) if section == "policies" and rest else ("", "")


def circumstances(keys: Sequence[str]) -> list[str]:
    """Those of the varied keys that are no choices."""
    return [key for key in keys if not policy_and_rest(key)[0]]


def sweep_verdicts(
    keys: Sequence[str], points: Sequence[StoredPoint], played: PlayedAt, quality: Quality
) -> Iterator[SweepVerdict]:
    """A verdict for all circumstances of which every point is finished, in the points' order.

    `keys`: what is varied. `played`: what came of each policy at a point, by its number.
    """
    for group in _groups(keys, points):
        if all(point.finished or point.error for point in group):
            yield _verdict(played, group, quality)


def _groups(keys: Sequence[str], points: Sequence[StoredPoint]) -> list[list[StoredPoint]]:
    """Points that share their circumstances."""
    names = circumstances(keys)
    groups: dict[str, list[StoredPoint]] = defaultdict(list)
    for point in points:
        groups[json.dumps([point.values[name] for name in names], sort_keys=True)].append(point)
    return list(groups.values())


def _verdict(played: PlayedAt, group: Sequence[StoredPoint], quality: Quality) -> SweepVerdict:
    first = group[0]
    values = {key: first.values[key] for key in circumstances(list(first.values))}
    failed = sum(not point.finished for point in group)
    if failed == len(group):
        return SweepVerdict(first.number, values, failed=failed, error=first.error or "")
    candidates, measures = _candidates(played, group)
    _, pls, lost = measures.mean(axis=2).T
    kept = [i for i in range(len(candidates)) if quality.is_kept(float(pls[i]), float(lost[i]))]
    if not kept:
        return SweepVerdict(first.number, values, failed=failed)
    comparison = compare(measures[kept, 0], lost[kept])
    best = kept[comparison.best]
    return SweepVerdict(
        candidates[best].point,
        values,
        tuple(candidates[i] for i in kept),
        comparison,
        measures.shape[2],
        _statistics(measures[best]),
        failed,
    )


def _candidates(
    played: PlayedAt, group: Sequence[StoredPoint]
) -> tuple[list[Candidate], NDArray[np.float64]]:
    """Each policy with each of its choices, once, and `TOLD` of the replications that all have.

    Their shape is (candidates, len(TOLD), replications).
    """
    rows = [list(MEASURES).index(measure) for measure in TOLD]
    found: dict[str, tuple[Candidate, NDArray[np.float64]]] = {}
    for point in group:
        for each in played(point.number) if point.finished else ():
            own = {
                key: value
                for key, value in point.values.items()
                if policy_and_rest(key)[0] == each.policy
            }
            plan = (each.system, each.recovery, each.interval_s)
            candidate = Candidate(point.number, each.policy, own, *plan)
            known = found.get(candidate.label)
            # With a half-width, other policies' choices may have asked for more replications.
            if known is None or each.measures.shape[1] > known[1].shape[1]:
                found[candidate.label] = (candidate, each.measures[rows])
    count = min(measures.shape[1] for _, measures in found.values())
    measures = np.stack([measures[:, :count] for _, measures in found.values()])
    return [each for each, _ in found.values()], measures


def _statistics(measures: NDArray[np.float64]) -> dict[str, float]:
    means, halves = measures.mean(axis=1), half_width(measures)
    columns = {"": means, "_low": means - halves, "_high": means + halves}
    return {
        f"{measure}{end}": float(column[i])
        for i, measure in enumerate(TOLD)
        for end, column in columns.items()
    }
