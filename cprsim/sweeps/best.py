"""The best policy at each point of a sweep, with its choices, and how sure that is.

What is varied under `policies.NAME` is up to whoever runs the job: a choice. All else is
circumstance. So points that differ in choices alone are one question, and its candidates are the
policies with the choices of their own. All of them met the same failures: replication i of a sweep
is drawn from the seed, i and the circumstances.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.runs.selection.bounds import Quality
from cprsim.runs.selection.certificate import Certificate, Verdict, judge
from cprsim.runs.selection.samples import PairedSample
from cprsim.runs.selection.words import sentence
from cprsim.runs.summaries import Mean, finite
from cprsim.scenario.mapping import parts_of
from cprsim.sweeps.points import Point
from cprsim.sweeps.tasks import PointPlan
from cprsim.sweeps.values import brief, si_column

#: What came of each policy at a point, by its number.
PlayedAt = Callable[[int], Sequence["Played"]]
#: Measures that are shown of the best.
TOLD = ("overhead", "pls", "updates_lost", "learning_lost")
_NEEDED = (*TOLD, "failures", "machine_overhead")
#: Entries of a plan, and the columns of a table of verdicts.
_PLAN = ("policy", "system", "recovery", "interval_s")
_COLUMNS = (
    *_PLAN,
    "replications",
    *(f"{measure}{end}" for measure in TOLD for end in ("", "_low", "_high")),
    *("runner_up", "margin", "margin_low", "margin_high"),
    *("verdict", "why", "told", "tied_with", "same_as", "rivals"),
    *("candidates", "failed", "left_out", "error"),
)
_NO_CANDIDATES: Final = Certificate(None, (), (), (), replications=0, met=0, why=None)


@dataclass(frozen=True)
class Played:
    """A policy with its choices, as it was played at a point.

    `plan`: its plan there. `point`: the number of the point. `choices`: what is varied of the
    policy, with its values. `measures`: by name, shape (replications,). `corrupt`: the share of
    replications that end with a silent fault in what was trained.
    """

    plan: PointPlan
    point: int
    choices: dict[str, Any]
    measures: Mapping[str, NDArray[np.float64]]
    corrupt: float = 0.0

    @property
    def replications(self) -> int:
        """Number of replications."""
        return len(self.measures["overhead"])

    @property
    def label(self) -> str:
        """`"full"`; `"full (2 h)"` where its interval is varied, `"cpr (target_pls 0.1)"` else."""
        return _label(self.plan.policy, self.choices)


@dataclass(frozen=True)
class SweepVerdict:
    """The best candidate under some circumstances, and how sure that is.

    `point`: where the best was played; where there is none, the first point. `values`: the
    circumstances that are varied, as given. `candidates`: all that were compared, that with the
    fewest lost updates first; none if all failed. `certificate`: of the candidates. `statistics`:
    of the best, means of `TOLD` with their 95 % intervals, `_low` and `_high`. `machine_overhead`:
    mean of each candidate, with the time of machines that are ready. `failed`: how many points
    failed; the others are compared. `left_out`: policies with their choices that failed at a point
    where others didn't. `error`: why there is nothing to compare, the first error if all failed.
    """

    point: int
    values: dict[str, Any]
    candidates: tuple[Played, ...] = ()
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
    def best(self) -> Played | None:
        """Return the candidate with the least mean overhead, of those within the bounds."""
        best = self.certificate.best
        return None if best is None else self.candidates[best]

    @property
    def labels(self) -> list[str]:
        """Names of the candidates, for people."""
        return [each.label for each in self.candidates]

    @property
    def told(self) -> str:
        """The verdict as a sentence."""
        return sentence(self.certificate, self.labels) if self.candidates else self.error

    def row(self) -> dict[str, Any]:
        """Return the columns of a table, those that it has."""
        certificate, best, labels = self.certificate, self.best, self.labels
        tied, rival = [self.candidates[i] for i in certificate.tied], certificate.runner_up
        rivals = dict.fromkeys(each.plan.policy for each in tied)
        row: dict[str, Any] = {
            "point": self.point,
            "verdict": self.verdict,
            "why": certificate.why,
            "told": self.told,
            "tied_with": tuple(each.label for each in tied),
            "same_as": tuple(labels[i] for i in certificate.same),
            # Empty where the policy is clear, if not its choices.
            "rivals": tuple(each for each in rivals if best and each != best.plan.policy),
            "candidates": sum(each is not False for each in certificate.kept),
            "failed": self.failed,
            "left_out": self.left_out,
            "error": self.error,
        }
        if best is not None:
            row |= {name: getattr(best.plan, name) for name in _PLAN} | self.statistics
            row["replications"] = certificate.replications
        if rival is not None:
            row["runner_up"], row["margin"] = labels[rival.candidate], rival.margin
            # Infinite where too few failures were met.
            row["margin_low"] = rival.low if math.isfinite(rival.low) else math.nan
            row["margin_high"] = rival.high if math.isfinite(rival.high) else math.nan
        return row


def policy_and_rest(key: str) -> tuple[str, str]:
    """Return NAME and KEY of a choice `policies.NAME.KEY`; no name for a circumstance."""
    section, *rest = parts_of(key)
    return (rest[0], ".".join(rest[1:])) if section == "policies" and rest else ("", "")


def circumstances(keys: Sequence[str]) -> list[str]:
    """Return those of the varied keys that are no choices."""
    return [key for key in keys if not policy_and_rest(key)[0]]


def choices(point: Point, policy: str) -> dict[str, Any]:
    """Return what is varied of a policy, at a point."""
    return {key: value for key, value in point.values.items() if policy_and_rest(key)[0] == policy}


def sweep_verdicts(
    keys: Sequence[str], points: Sequence[Point], played: PlayedAt, quality: Quality
) -> Iterator[SweepVerdict]:
    """Yield a verdict for all circumstances of which every point is finished, in points' order.

    `keys`: what is varied.
    """
    names = circumstances(keys)
    groups: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        groups[_text({name: point.values[name] for name in names})].append(point)
    for group in groups.values():
        if not any(point.to_do for point in group):
            values = {name: group[0].values[name] for name in names}
            yield _verdict(played, values, group, quality)


def _verdict(
    played: PlayedAt, values: dict[str, Any], group: Sequence[Point], quality: Quality
) -> SweepVerdict:
    found: dict[tuple[str, str], Played] = {}
    left_out: dict[tuple[str, str], str] = {}
    for point in (each for each in group if each.finished):
        for policy in point.errors:
            own = choices(point, policy)
            left_out[policy, _text(own)] = _label(policy, own)
        for each in played(point.number):
            name = each.plan.policy, _text(each.choices)
            # With a half-width, other policies' choices may have needed more replications.
            if name not in found or each.replications > found[name].replications:
                found[name] = each
    every = [each for name, each in found.items() if name not in left_out]
    first, failed = group[0], sum(not point.finished for point in group)
    if not every:
        errors = (error for point in group for error in (point.error, *point.errors.values()))
        return SweepVerdict(first.number, values, failed=failed, error=next(filter(None, errors)))
    count = min(each.replications for each in every)
    candidates = tuple(sorted(every, key=lambda each: each.measures["updates_lost"][:count].mean()))
    of = {name: np.stack([each.measures[name][:count] for each in candidates]) for name in _NEEDED}
    unmet = np.array([each.plan.unmet_s / first.useful_time_s for each in candidates])
    sample = PairedSample(
        of["overhead"],
        np.stack([*of.values()], axis=1)[
            :, [_NEEDED.index(each.measure) for each in quality.bounds]
        ],
        of["failures"],
        # Not where the sweep itself varies how many failures there are, and it is none.
        can_fail=first.values.get("failures.exactly") != 0,
        lossless=np.array([each.plan.lossless for each in candidates]),
        unmet=unmet.clip(max=1),
    )
    certificate = judge(sample, quality.bounds)
    number, statistics = first.number, dict[str, float]()
    if certificate.best is not None:
        number = candidates[certificate.best].point
        for measure in TOLD:
            statistics |= Mean.of(of[measure][certificate.best]).columns(measure)
    machines = tuple(of["machine_overhead"].mean(axis=1).tolist())
    return SweepVerdict(
        number,
        values,
        candidates,
        certificate=certificate,
        statistics=statistics,
        machine_overhead=machines,
        failed=failed,
        left_out=tuple(left_out.values()),
    )


def _label(policy: str, own: Mapping[str, Any]) -> str:
    said = {policy_and_rest(key)[1]: brief(value) for key, value in own.items()}
    texts = [text if key == "interval" else f"{key} {text}".strip() for key, text in said.items()]
    return f"{policy} ({', '.join(texts)})" if texts else policy


def _text(values: Mapping[str, Any]) -> str:
    """Return the same text for the same values."""
    return json.dumps(values, sort_keys=True)


def tabulated(verdicts: Sequence[SweepVerdict], points: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return a row a verdict; `points`: the values of all points of the sweep."""
    table = pd.DataFrame([each.row() for each in verdicts], columns=["point", *_COLUMNS])
    table = table.astype({"point": "int64", "replications": "Int64"})
    asked = circumstances(list(points[0]))
    for key in points[0]:
        name, column = si_column(key, [values[key] for values in points])
        cells = pd.Series(column[table["point"].to_numpy()])
        if key in asked:
            place = "policy"
        else:
            place, cells = "system", cells.where(table["policy"] == policy_and_rest(key)[0])
        table.insert(table.columns.tolist().index(place), name, cells)
    return table


def entries(verdicts: Sequence[SweepVerdict]) -> list[dict[str, Any]]:
    """Return a list for JSON; numbers that are not finite are null."""
    return [_entry(each, each.row()) for each in verdicts]


def _entry(verdict: SweepVerdict, row: dict[str, Any]) -> dict[str, Any]:
    found = {
        "point": verdict.point,
        "values": verdict.values,
        **{name: row[name] for name in ("verdict", "why", "told", "candidates", "failed")},
        "left_out": list(verdict.left_out),
        "error": verdict.error or None,
    }
    if verdict.best is None:
        return found
    return found | {
        "policy": row["policy"],
        "choices": verdict.best.choices,
        "corrupt": verdict.best.corrupt,
        **{name: row[name] for name in ("system", "recovery", "replications")},
        "interval_s": finite(row["interval_s"]),
        **{name: _interval(row, name) for name in TOLD},
        "runner_up": row.get("runner_up"),
        "margin": _interval(row, "margin"),
        **{name: list(row[name]) for name in ("tied_with", "same_as", "rivals")},
    }


def _interval(row: dict[str, Any], name: str) -> dict[str, Any]:
    ends = (row.get(f"{name}{end}", math.nan) for end in ("", "_low", "_high"))
    return Mean(*ends).document()
