"""The best policy at each point of a sweep, with its choices, and how sure that is.

What is varied under `policies.NAME` is up to whoever runs the job: a choice. All else is
circumstance. So points that differ in choices alone are one question, and its candidates are the
policies with the choices of their own. All of them met the same failures: replication i of a sweep
is drawn from the seed, i and the circumstances.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.runs.measures import MEASURES
from cprsim.runs.selection.bounds import Quality
from cprsim.runs.selection.certificate import Certificate, Verdict, judge
from cprsim.runs.selection.samples import PairedSample
from cprsim.runs.selection.words import sentence
from cprsim.runs.summaries import half_width
from cprsim.sweeps.store import StoredPoint
from cprsim.sweeps.tasks import PointPlan
from cprsim.sweeps.values import brief

#: What came of each policy at a point, by its number.
PlayedAt = Callable[[int], Sequence["Played"]]
#: Those of `MEASURES` that are shown of the best.
TOLD = ("overhead", "pls", "updates_lost", "learning_lost")
_NEEDED = (*TOLD, "failures", "machine_overhead")
_NO_CANDIDATES: Final = Certificate(None, (), (), (), replications=0, met=0, why=None)


@dataclass(frozen=True)
class Played:
    """A policy's plan at a point, and its `MEASURES` by replications.

    `corrupt`: the share of them that end with a silent fault in what was trained.
    """

    plan: PointPlan
    measures: NDArray[np.float64]
    corrupt: float = 0.0


@dataclass(frozen=True)
class SweepCandidate:
    """A policy with its choices, and the number of the point where it was played.

    `corrupt`: as in `Played`.
    """

    plan: PointPlan
    point: int
    choices: dict[str, Any]
    corrupt: float

    @property
    def label(self) -> str:
        """`"full"`; `"full (2 h)"` where its interval is varied, `"cpr (target_pls 0.1)"` else."""
        return _label(self.plan.policy, self.choices)


@dataclass(frozen=True)
class SweepVerdict:
    """The best candidate under some circumstances, and how sure that is.

    Parameters
    ----------
    point
        Where the best was played; where there is none, the first point.
    values
        The circumstances that are varied, as given.
    candidates
        All that were compared, that with the fewest lost updates first; none if all failed.
    certificate
        Of the candidates.
    statistics
        Of the best: means of `TOLD` with their 95 % intervals, `_low` and `_high`.
    machine_overhead
        Mean of each candidate, with the time of machines that are ready.
    failed
        How many points failed; the others are compared.
    left_out
        Policies with their choices that failed at a point where others didn't.
    error
        Why there is nothing to compare: the first error, if all failed.
    """

    point: int
    values: dict[str, Any]
    candidates: tuple[SweepCandidate, ...] = ()
    certificate: Certificate = _NO_CANDIDATES
    statistics: dict[str, float] = field(default_factory=dict)
    machine_overhead: tuple[float, ...] = ()
    failed: int = 0
    left_out: tuple[str, ...] = ()
    error: str = ""

    @property
    def verdict(self) -> Verdict | Literal["failed"]:
        """Standing of the best; `failed` without candidates."""
        return self.certificate.verdict if self.candidates else "failed"

    @property
    def best(self) -> SweepCandidate | None:
        """Return the candidate with the least mean overhead, of those within the bounds."""
        best = self.certificate.best
        return None if best is None else self.candidates[best]

    @property
    def tied(self) -> list[SweepCandidate]:
        """Candidates than which the best isn't surely better."""
        return [self.candidates[i] for i in self.certificate.tied]

    @property
    def labels(self) -> list[str]:
        """Names of the candidates, for people."""
        return [each.label for each in self.candidates]

    @property
    def told(self) -> str:
        """The verdict as a sentence."""
        return sentence(self.certificate, self.labels) if self.candidates else self.error


def policy_and_rest(key: str) -> tuple[str, str]:
    """Return NAME and KEY of a choice `policies.NAME.KEY`; no name for a circumstance."""
    section, *rest = (part.strip() for part in key.split("."))
    return (rest[0], ".".join(rest[1:])) if section == "policies" and rest else ("", "")


def circumstances(keys: Sequence[str]) -> list[str]:
    """Return those of the varied keys that are no choices."""
    return [key for key in keys if not policy_and_rest(key)[0]]


def sweep_verdicts(
    keys: Sequence[str], points: Sequence[StoredPoint], played: PlayedAt, quality: Quality
) -> Iterator[SweepVerdict]:
    """Yield a verdict for all circumstances of which every point is finished, in points' order.

    `keys`: what is varied.
    """
    names = circumstances(keys)
    groups: dict[str, list[StoredPoint]] = defaultdict(list)
    for point in points:
        groups[json.dumps([point.values[name] for name in names], sort_keys=True)].append(point)
    for group in groups.values():
        if not any(point.to_do for point in group):
            yield _verdict(played, group, quality)


def _verdict(played: PlayedAt, group: Sequence[StoredPoint], quality: Quality) -> SweepVerdict:
    first = group[0]
    values = {key: first.values[key] for key in circumstances(list(first.values))}
    failed = sum(not point.finished for point in group)
    left_out = {
        _named(policy, own): _label(policy, own)
        for point in group
        if point.finished
        for policy in point.errors
        for own in [_choices(point, policy)]
    }
    found = _candidates(played, group, left_out)
    if not found:
        errors = (error for point in group for error in (point.error, *point.errors.values()))
        return SweepVerdict(first.number, values, failed=failed, error=next(filter(None, errors)))
    candidates, measures = _compared(found)
    certificate = _certificate(first, candidates, measures, quality)
    best = certificate.best
    return SweepVerdict(
        first.number if best is None else candidates[best].point,
        values,
        candidates,
        certificate,
        {} if best is None else _statistics(measures[best, : len(TOLD)]),
        tuple(measures[:, _NEEDED.index("machine_overhead")].mean(axis=1).tolist()),
        failed,
        tuple(left_out.values()),
    )


def _label(policy: str, choices: Mapping[str, Any]) -> str:
    own = {policy_and_rest(key)[1]: brief(value) for key, value in choices.items()}
    texts = [text if key == "interval" else f"{key} {text}".strip() for key, text in own.items()]
    return f"{policy} ({', '.join(texts)})" if texts else policy


def _named(policy: str, choices: Mapping[str, Any]) -> tuple[str, str]:
    return policy, json.dumps(choices, sort_keys=True)


def _choices(point: StoredPoint, policy: str) -> dict[str, Any]:
    """Return what is varied of a policy, at a point."""
    return {key: value for key, value in point.values.items() if policy_and_rest(key)[0] == policy}


def _certificate(
    point: StoredPoint,
    candidates: Sequence[SweepCandidate],
    measures: NDArray[np.float64],
    quality: Quality,
) -> Certificate:
    """Judge candidates by `_NEEDED` of all of them."""
    bounds = quality.bounds
    bounded = [_NEEDED.index(bound.measure) for bound in bounds]
    overhead, failures = (measures[:, _NEEDED.index(name)] for name in ("overhead", "failures"))
    sample = PairedSample(
        overhead,
        measures[:, bounded],
        failures,
        # Not where the sweep itself varies how many failures there are, and it is none.
        can_fail=point.values.get("failures.exactly") != 0,
        lossless=np.array([each.plan.lossless for each in candidates]),
        unmet=np.array([each.plan.unmet_s / point.useful_time_s for each in candidates]).clip(
            max=1
        ),
    )
    return judge(sample, bounds)


def _candidates(
    played: PlayedAt, group: Sequence[StoredPoint], left_out: Container[tuple[str, str]]
) -> list[tuple[SweepCandidate, NDArray[np.float64]]]:
    """Return each policy with each of its choices, once, and `_NEEDED` of its replications."""
    rows = [list(MEASURES).index(measure) for measure in _NEEDED]
    found: dict[tuple[str, str], tuple[SweepCandidate, NDArray[np.float64]]] = {}
    for point in group:
        for each in played(point.number) if point.finished else ():
            own = _choices(point, each.plan.policy)
            name = _named(each.plan.policy, own)
            known = found.get(name)
            # With a half-width, other policies' choices may have needed more replications.
            if known is None or each.measures.shape[1] > known[1].shape[1]:
                candidate = SweepCandidate(each.plan, point.number, own, each.corrupt)
                found[name] = (candidate, each.measures[rows])
    return [each for name, each in found.items() if name not in left_out]


def _compared(
    found: Sequence[tuple[SweepCandidate, NDArray[np.float64]]],
) -> tuple[tuple[SweepCandidate, ...], NDArray[np.float64]]:
    """Return candidates, and what all have: shape (candidates, len(_NEEDED), replications).

    That with the fewest lost updates is the first.
    """
    candidates, every = zip(*found, strict=True)
    count = min(measures.shape[1] for measures in every)
    measures = np.stack([each[:, :count] for each in every])
    order = measures[:, _NEEDED.index("updates_lost")].mean(axis=1).argsort(kind="stable")
    return tuple(candidates[i] for i in order), measures[order]


def _statistics(measures: NDArray[np.float64]) -> dict[str, float]:
    means, halves = measures.mean(axis=1), half_width(measures)
    columns = {"": means, "_low": means - halves, "_high": means + halves}
    return {
        f"{measure}{end}": float(column[i])
        for i, measure in enumerate(TOLD)
        for end, column in columns.items()
    }
