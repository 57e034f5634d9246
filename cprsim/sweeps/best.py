"""Which policy is best at each point of a sweep, with which choices, and how sure that is.

What is varied under `policies.NAME` is up to whoever runs the job: a choice. All else is
circumstance. So points that differ in choices alone are one question, and its candidates are the
policies with the choices of their own. All of them met the same failures: replication i of a sweep
is drawn from the seed, i and the circumstances.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cprsim.errors import UsageError
from cprsim.results import MEASURES
from cprsim.sweeps.columns import text_of
from cprsim.sweeps.paired import Comparison, Verdict, compare

if TYPE_CHECKING:
    from cprsim.sweeps.stored import Played, StoredPoint, Sweep


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
    """A policy with its choices: the point where it was played, and what came of it."""

    point: int
    choices: dict[str, Any]
    played: "Played"

    @property
    def policy(self) -> str:
        """Its name in the scenario."""
        return self.played.policy

    @property
    def label(self) -> str:
        """`"full"`; `"full (2 h)"` where its interval is varied, `"cpr (target_pls 0.1)"` else."""
        own = {policy_and_rest(key)[1]: text_of(value) for key, value in self.choices.items()}
        texts = [
            text if key == "interval" else f"{key} {text}".strip() for key, text in own.items()
        ]
        return f"{self.policy} ({', '.join(texts)})" if texts else self.policy

    def first(self, count: int) -> "Candidate":
        """With so many of its replications."""
        cut = replace(self.played, measures=self.played.measures[:, :count])
        return replace(self, played=cut)

    def values(self, measure: str) -> NDArray[np.float64]:
        """One of `MEASURES` by replications."""
        row: NDArray[np.float64] = self.played.measures[MEASURES.index(measure)]
        return row

    def mean(self, measure: str) -> float:
        """Of one of `MEASURES`."""
        return float(self.values(measure).mean())


@dataclass(frozen=True)
class Answer:
    """What is best under some circumstances.

    Parameters
    ----------
    point
        Where the best was played; where there is none, the first point.
    values
        The circumstances that are varied, as given.
    candidates
        All that keep to the bounds, with as many replications as all of them have.
    comparison
        Of the candidates; None if there is none.
    failed
        How many points failed; the others are compared.
    error
        Why there is nothing to compare: the error of the first point, if all failed.
    """

    point: int
    values: dict[str, Any]
    candidates: tuple[Candidate, ...] = ()
    comparison: Comparison | None = None
    failed: int = 0
    error: str = ""

    @property
    def verdict(self) -> Verdict | Literal["none", "failed"]:
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


def answers(sweep: "Sweep", quality: Quality) -> Iterator[Answer]:
    """An answer for all circumstances of which every point is finished, in the points' order."""
    for group in _groups(sweep):
        if all(point.finished or point.error for point in group):
            yield _answer(sweep, group, quality)


def _groups(sweep: "Sweep") -> list[list["StoredPoint"]]:
    """Points that share their circumstances."""
    names = circumstances(sweep.definition["keys"])
    groups: dict[str, list[StoredPoint]] = defaultdict(list)
    for point in sweep.points:
        groups[json.dumps([point.values[name] for name in names], sort_keys=True)].append(point)
    return list(groups.values())


def _answer(sweep: "Sweep", group: Sequence["StoredPoint"], quality: Quality) -> Answer:
    first = group[0]
    values = {key: first.values[key] for key in circumstances(list(first.values))}
    failed = sum(not point.finished for point in group)
    if failed == len(group):
        return Answer(first.number, values, failed=failed, error=first.error or "")
    kept = tuple(
        each
        for each in _candidates(sweep, group)
        if quality.is_kept(each.mean("pls"), each.mean("updates_lost"))
    )
    if not kept:
        return Answer(first.number, values, failed=failed)
    comparison = compare(
        np.stack([each.values("overhead") for each in kept]),
        np.array([each.mean("updates_lost") for each in kept]),
    )
    return Answer(kept[comparison.best].point, values, kept, comparison, failed)


def _candidates(sweep: "Sweep", group: Sequence["StoredPoint"]) -> list[Candidate]:
    """Each policy with each of its choices, once, with the replications that all of them have."""
    found: dict[str, Candidate] = {}
    for point in group:
        for played in sweep.played(point.number) if point.finished else ():
            own = {
                key: value
                for key, value in point.values.items()
                if policy_and_rest(key)[0] == played.policy
            }
            each = Candidate(point.number, own, played)
            # With a half-width, other policies' choices may have asked for more replications.
            known = found.setdefault(each.label, each)
            if each.played.measures.shape[1] > known.played.measures.shape[1]:
                found[each.label] = each
    count = min(each.played.measures.shape[1] for each in found.values())
    return [each.first(count) for each in found.values()]
