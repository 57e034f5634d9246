"""The best of a job by brute force: every system at every setting of a grid, and no search.

Policies that are worse than others on few timelines are left out. The rest meets more of them, as
many as an accurate mean needs. No rule and no start of a search counts here.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.candidates import asked, value_of, with_value
from cprsim.advice.search import at_target
from cprsim.advice.trials import Trials
from cprsim.basics.units import SECONDS, format_exact
from cprsim.contract import Choice, DurationSpan, Policy
from cprsim.contract.expected import expected
from cprsim.policies.priority import PrioritySaving
from cprsim.scenario import Scenario

#: Durations on the grid of a policy, by how many others of its settings each of them meets.
_POINTS: Final = ((2, 18), (math.inf, 9))
#: The same where two durations meet.
_POINTS_OF_TWO: Final = 7
#: The same of CPR's policies that choose rows, from this share of the job on, and of their
#: fractions one in so many: a plan of them takes a tenth of a second.
_OF_PRIORITY: Final = (4, 0.01, 2)
#: The shortest intervals, as a share of the job, and of the MTBF if that is less: what a failure
#: takes back is no longer, and so less than 0.05 points of the time are gained by shorter ones.
_LEAST, _LEAST_OF_MTBF = 3e-4, 1e-3
#: And those of rules, if they are shorter, where a run takes no more than so long, s.
_RULE_S: Final = 0.005
#: What takes so much more than the least, to first order, in useful times, is not played.
_HOPELESS: Final = 0.05
#: Replications of one stage: as many as take so long, s, fewest and most; and how many of the
#: settings go on to the next.
_STAGES: Final = ((0.15, 32, 256, 14), (0.25, 64, 4096, 4))
#: Replications of the last, the same, and policies and replications at once.
LAST_S, FEWEST, MOST = 0.6, 1024, 100_000
_AT_ONCE, _IN_A_ROW = 100, 16384
_PER_SYSTEM: Final = 1  # of a system that go on from the first stage, however they do
_FRESH: Final = 1 << 20  # the first replication that nothing was chosen by
_BETWEEN: Final = (0.8, 1.25)  # by which durations of these are played, too
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """Many replications of a policy: of the objective, shape (replications,), and of the bounds."""

    policy: Policy
    objective: Values
    bounded: Values

    @property
    def mean(self) -> float:
        """Mean of the objective."""
        return float(self.objective.mean())

    def less(self, other: "Truth") -> tuple[float, float]:
        """By how much it is less than another on the same timelines, and the standard error."""
        apart = other.objective - self.objective
        return float(apart.mean()), float(apart.std() / math.sqrt(len(apart)))

    def keeps(self, trials: Trials, standard_errors: float = 0.0) -> bool:
        """Return whether its means are within all bounds, or over them by no more than so much."""
        return all(
            values.mean() - standard_errors * values.std() / math.sqrt(values.size)
            <= bound.most + 1e-12
            for values, bound in zip(self.bounded, trials.criteria.bounds, strict=True)
        )


def best(trials: Trials, systems: Sequence[str] | None = None) -> list[Policy]:
    """The few that may be best, of all systems and settings, the given ones included."""
    none_lost = any(bound.most == 0 for bound in trials.criteria.bounds)
    able = [each for each in _grid(trials, systems) if trials.plan(each) is not None]
    left = _hopeful([each for each in able if trials.loses_nothing(each) or not none_lost], trials)
    start = 0
    for number, (most_s, fewest, most, stay) in enumerate(_STAGES):
        if not left:  # all of them surely break a bound
            break
        until = start + count(trials, left, most_s, fewest, most)
        found = played(trials, left, range(start, until))
        left = _ranked(found, trials)[:stay] if number else _first_cut(found, trials, stay)
        if number == 0:
            left = _with_between(left, trials)
        start = until
    return left


def truth(trials: Trials, policies: Sequence[Policy]) -> list[Truth]:
    """Play as many replications of each as time allows, on timelines that chose nothing."""
    until = _FRESH + count(trials, policies, LAST_S, FEWEST, MOST)
    return played(trials, policies, range(_FRESH, until))


def played(trials: Trials, policies: Sequence[Policy], replications: range) -> list[Truth]:
    """Some replications of each."""
    found: list[Truth] = []
    for at in range(0, len(policies), _AT_ONCE):
        some = policies[at : at + _AT_ONCE]
        parts = [
            trials.play(some, range(first, min(first + _IN_A_ROW, replications.stop)))
            for first in range(replications.start, replications.stop, _IN_A_ROW)
        ]
        for policy, part in zip(some, zip(*parts, strict=True), strict=True):
            objective = np.concatenate([each.objective for each in part])
            bounded = np.concatenate([each.bounded for each in part], axis=1)
            found.append(Truth(policy, objective, bounded))
    return found


def count(trials: Trials, policies: Iterable[Policy], most_s: float, fewest: int, most: int) -> int:
    """Replications of each that take so long, s, on one core of 2025; but not fewer or more."""
    return int(min(max(most_s / trials.seconds(policies), fewest), most))


def _grid(trials: Trials, systems: Sequence[str] | None) -> Iterator[Policy]:
    scenario = trials.scenario
    given, searched, _ = asked(scenario, systems)
    yield from (each.policy for each in given)
    for each in searched:
        policy = at_target(each.policy, trials.criteria)
        if trials.plan(policy) is not None and trials.seconds([policy]) <= _RULE_S:
            yield policy
        yield from _settings(policy, scenario)


def _hopeful(policies: Sequence[Policy], trials: Trials) -> list[Policy]:
    """Leave out policies that make no progress, as a run of them has no end."""
    context, shares = trials.scenario.context, []
    for each in policies:
        plan = trials.plan(each)
        assert plan is not None
        shares.append(expected(plan, context).overhead)
    most = min(shares) + _HOPELESS
    return [each for each, share in zip(policies, shares, strict=True) if share <= most]


def _settings(policy: Policy, scenario: Scenario) -> Iterator[Policy]:
    """Every combination of what may be chosen."""
    settings = policy.settings(scenario.context)
    shortest_s = min(
        _LEAST * scenario.job.useful_time_s, _LEAST_OF_MTBF * scenario.failure_model.mtbf_s
    )
    choices = [each for each in settings if isinstance(each, Choice)]
    spans = [each for each in settings if isinstance(each, DurationSpan)]
    others = math.prod(len(each.values) for each in choices)
    points = next(count for most, count in _POINTS if others <= most)
    least_s, step = shortest_s, 1
    if isinstance(policy, PrioritySaving):
        points, least, step = _OF_PRIORITY
        least_s = least * scenario.job.useful_time_s
    if len(spans) > 1:
        points = _POINTS_OF_TWO
    axes: list[list[Any]] = [list(each.values[::step]) for each in choices]
    axes += [_durations(each, points, least_s) for each in spans]
    keys = [each.key for each in (*choices, *spans)]
    for values in itertools.product(*axes):
        changed = _with_all(policy, dict(zip(keys, values, strict=True)))
        if changed is not None:
            yield changed


def _durations(span: DurationSpan, count: int, least_s: float) -> list[str]:
    return [_text(each) for each in np.geomspace(least_s, span.most_s, count)]


def _text(seconds: float) -> str:
    return format_exact(float(seconds), SECONDS)


def _with_all(policy: Policy, values: dict[str, Any]) -> Policy | None:
    changed: Policy | None = policy
    for key, value in values.items():
        changed = None if changed is None else with_value(changed, key, value)
    return changed


def _first_cut(found: Sequence[Truth], trials: Trials, stay: int) -> list[Policy]:
    """Return the best, and the best few of each system."""
    ranked = _ranked(found, trials)
    systems: dict[str, list[Policy]] = {}
    for each in ranked:
        systems.setdefault(each.system, []).append(each)
    kept = ranked[:stay]
    kept += [each for of in systems.values() for each in of[:_PER_SYSTEM] if each not in kept]
    return kept


def _ranked(found: Sequence[Truth], trials: Trials) -> list[Policy]:
    """Return the policies that may be within the bounds, the best first, each setting once."""
    able = sorted((each for each in found if each.keeps(trials, 2)), key=lambda each: each.mean)
    return list({each.policy.model_dump_json(): each.policy for each in able}.values())


def _with_between(policies: Sequence[Policy], trials: Trials) -> list[Policy]:
    """Add settings between the points of the grid that are next to the best of each system."""
    found = {each.model_dump_json(): each for each in policies}
    best = {each.system: each for each in reversed(policies)}
    for policy in best.values():
        if isinstance(policy, PrioritySaving) and policy is not policies[0]:
            continue
        for setting in policy.settings(trials.scenario.context):
            if not isinstance(setting, DurationSpan) or value_of(policy, setting.key) is None:
                continue
            for ratio in _BETWEEN:
                at_s = min(max(setting.start_s * ratio, setting.least_s), setting.most_s)
                near = with_value(policy, setting.key, _text(at_s))
                if near is not None and trials.plan(near) is not None:
                    found[near.model_dump_json()] = near
    return list(found.values())
