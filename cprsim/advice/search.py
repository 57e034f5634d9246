"""The best settings of each policy: from where a rule or the scenario has them outward.

Every search asks for a few settings at a time, and they are all played together, on the
same failures, so that what chance does to one setting it does to its neighbours.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.candidates import Candidate, value_of, with_value
from cprsim.advice.criteria import LOST, Criteria
from cprsim.advice.round_numbers import round_durations
from cprsim.advice.trials import Trial, Trials
from cprsim.basics.units import SECONDS, format_duration, format_exact, parse_duration
from cprsim.contract import Choice, DurationSpan, Policy, Setting
from cprsim.errors import CprsimError
from cprsim.policies.cpr import Cpr
from cprsim.runs.summaries import half_width

#: Ratios by which a duration is searched outward, and at last.
_WIDE, _NARROW = 4.0, 1.04
#: Shares of `within`: what another value has to gain to be taken; and what a setting may cost that
#: loses less, or is a rounder number (the other half is left to chance).
_WORTH, _EQUAL = 0.05, 0.5
#: What is left to a bound at its edge, as a share of it, and how much shorter intervals are tried.
_EDGE, _SAFER = 0.2, 0.75
#: Settings lose about the same up to this ratio.
_ABOUT = 1.1
#: Settings that are as good are looked for outward by this ratio, so often.
_OUTWARD, _STEPS = 1.5, 12
#: The round number that takes the place of a setting is no farther from it than by this ratio.
_NEAR = 1.6
#: Standard errors by which another value has to be better, and within which a difference is open.
_SURE, _OPEN = 1.5, 2.0
_TURNS = 3  # through all settings of a policy, at most
#: Replications of a setting: as many as take so long, s, but not more than so many.
_SETTING_S, _MOST = 0.007, 4096
#: The first of them: certificates are of others, that no setting was chosen by.
FIRST = 1 << 30


class Score(NamedTuple):
    """The results of a setting.

    `over`: by how much it is over a bound, as a ratio, 0 for none. `objective`: of each
    replication. `lost`: the mean of `LOST`. `slack`: what is left to the nearest bound, as a share
    of it.
    """

    over: float
    objective: NDArray[np.float64]
    lost: float = 0.0
    slack: float = 1.0

    @classmethod
    def of(cls, played: Trial, criteria: Criteria) -> "Score":
        """Score replications; over a bound are values that do not surely meet it."""
        over, slack = 0.0, 1.0
        for values, bound in zip(played.bounded, criteria.bounds, strict=True):
            high = float(values.mean() + half_width(values))
            if bound.most_mean:
                slack = min(slack, 1 - float(values.mean()) / bound.most_mean)
            if high > bound.most_mean:
                over = max(over, high / bound.most_mean - 1 if bound.most_mean else math.inf)
        return cls(over, played.objective, float(played.measures[LOST].mean()), slack)

    @property
    def mean(self) -> float:
        """The mean of the objective."""
        return float(self.objective.mean())

    def gain(self, other: "Score") -> tuple[float, float]:
        """Return how much less this takes than another in the mean, and its standard error."""
        count = min(len(self.objective), len(other.objective))
        gains = other.objective[:count] - self.objective[:count]
        return float(gains.mean()), float(gains.std()) / math.sqrt(count)

    def is_better(self, other: "Score", worth: float) -> bool:
        """Return whether it surely gains what it is worth to change for, or is less over bounds."""
        if self.over or other.over:
            return self.over < other.over
        gain, error = self.gain(other)
        return gain > max(worth, _SURE * error)

    def is_equal(self, best: "Score", within: float) -> bool:
        """Return whether it takes no more than `within` more than the best, and no bound."""
        return not self.over and -self.gain(best)[0] <= within


class Incumbent(NamedTuple):
    """The policy that is best so far within the bounds: before anything is certain."""

    policy: Policy
    objective: float
    replications: int


_Ends = TypeVar("_Ends")
#: Yields policies to be played, resumes when they are; ends with its result.
_Steps = Generator[list[Policy], None, _Ends]
_NEVER_PLAYED = Score(math.inf, np.zeros(1))


def search(
    candidates: Sequence[Candidate],
    trials: Trials,
    tell: Callable[[int, int, Incumbent | None], None],
) -> list[Candidate]:
    """Return each candidate with the best of its settings; `tell`: how many are done, of how many.

    Others after it, where the search couldn't rule out that they are better.
    """
    scores, leading = dict[str, Score](), None
    searches = {i: _Search(each, trials, scores).run() for i, each in enumerate(candidates)}
    found: dict[int, list[Candidate]] = {}
    while searches:
        wanted: dict[str, Policy] = {}
        for i, one in list(searches.items()):
            try:
                wanted |= {each.model_dump_json(): each for each in next(one)}
            except StopIteration as end:
                found[i] = end.value
                del searches[i]
        new = {key: each for key, each in wanted.items() if key not in scores}
        scores |= dict.fromkeys(new, _NEVER_PLAYED)
        for key, score in _played(new, trials):
            scores[key] = score
            if not score.over and (leading is None or score.mean < leading.objective):
                leading = Incumbent(new[key], score.mean, len(score.objective))
        tell(len(found), len(candidates), leading)
    return [each for i in sorted(found) for each in found[i]]


def _played(policies: Mapping[str, Policy], trials: Trials) -> Iterator[tuple[str, Score]]:
    """Scores of the policies that can be played; those with as many replications together."""
    together = defaultdict[int, dict[str, Policy]](dict)
    for key, policy in policies.items():
        if is_able(policy, trials):
            together[trials.fit([policy], _SETTING_S, _MOST)][key] = policy
    for count, alike in together.items():
        played = trials.play(list(alike.values()), range(FIRST, FIRST + count))
        for key, each in zip(alike, played, strict=True):
            yield key, Score.of(each, trials.criteria)


def at_target(policy: Policy, criteria: Criteria) -> Policy:
    """CPR at the portion of lost samples that is accepted, by its own rule; others as they are."""
    if isinstance(policy, Cpr) and criteria.accepted:
        target = min(criteria.accepted, 1.0)
        return policy.model_copy(update={"target_pls": target, "interval": None})
    return policy


def is_able(policy: Policy, trials: Trials) -> bool:
    """Return whether a policy has a plan, saves often enough, and leaves any hope."""
    plan, useful_s = trials.plan(policy), trials.scenario.job.useful_time_s
    if plan is None or trials.criteria.too_rare(plan, useful_s):
        return False
    return not trials.is_hopeless(policy)


def able(policy: Policy, trials: Trials) -> tuple[Policy, tuple[Setting, ...]]:
    """A policy that can be played, with its settings; else by its rule, or with other choices.

    One of which first order leaves no hope is as good as one that can't: so is a system that saves
    nothing by default where all its copies are often lost.
    """
    context, criteria = trials.scenario.context, trials.criteria
    try:
        full = policy.settings(context)
    except (CprsimError, ValueError):  # it has no plan
        return policy, ()
    settings, first = criteria.limited(full), policy
    for setting, unlimited in zip(settings, full, strict=True):
        if isinstance(setting, DurationSpan) and isinstance(unlimited, DurationSpan):
            longer = unlimited.start_s > setting.start_s
            first = (_at(first, setting, setting.start_s) if longer else None) or first
    others = (
        with_value(first, setting.key, value)
        for setting in settings
        for value in (reversed(setting.values) if isinstance(setting, Choice) else ["optimal"])
    )
    for each in (first, *others):
        if each is not None and is_able(each, trials):
            return each, criteria.limited(each.settings(context))
    return first, ()


def _of_use(
    policy: Policy, settings: Sequence[Setting], trials: Trials, worth: float
) -> tuple[Setting, ...]:
    """Without intervals so short that shorter ones gain less than what they are worth.

    Where no learning is lost, a failure takes back half an interval in the mean, and no more.
    """
    if not trials.loses_nothing(policy):
        return tuple(settings)
    least_s = 2 * worth * trials.scenario.failure_model.mtbf_s
    return tuple(each if isinstance(each, Choice) else each.at_least(least_s) for each in settings)


class _Search:
    """The search of the settings of one candidate.

    Its steps yield the policies whose scores they are going to read, and go on once all are played.
    """

    def __init__(self, candidate: Candidate, trials: Trials, scores: Mapping[str, Score]) -> None:
        self._candidate, self._trials, self._scores = candidate, trials, scores
        self._within = trials.criteria.within
        self._worth = _WORTH * self._within
        best, settings = able(at_target(candidate.policy, trials.criteria), trials)
        self._first, self._settings = best, _of_use(best, settings, trials, self._worth)
        self._spans = [each for each in self._settings if isinstance(each, DurationSpan)]
        self._choices = [each for each in self._settings if isinstance(each, Choice)]

    def _score(self, policy: Policy) -> Score:
        """The score of a policy that was yielded."""
        return self._scores[policy.model_dump_json()]

    def run(self) -> _Steps[list[Candidate]]:
        """Setting by setting, until none of them gains anything; and what may be better yet."""
        best, ratio = self._first, _WIDE
        for _ in range(_TURNS):
            before = best
            for setting in self._settings:
                if isinstance(setting, Choice):
                    best = yield from self._choice(best, setting)
                else:
                    best = yield from self._span(best, setting, ratio)
            if best == before or len(self._settings) == 1:
                break
            ratio = math.sqrt(_WIDE)
        ranges = {}
        for span in self._spans:
            best, ranges[span.key] = yield from self._settled(best, span)
        # The policy as it was given, where tuning it loses learning and gains too little.
        own = self._candidate.policy
        yield [best, own]
        score, tuned = self._score(own), self._score(best)
        if score.lost < tuned.lost and score.is_equal(tuned, self._within):
            best = own
        others = yield from self._others(best)
        name = self._candidate.name
        with_note = f"{name[:-1]}, " if name.endswith(")") else f"{name} ("
        return [
            replace(self._candidate, policy=best, ranges=ranges),
            *(
                replace(self._candidate, name=f"{with_note}{key})", policy=each)
                for key, each in others.items()
            ),
        ]

    def _choice(self, best: Policy, setting: Choice) -> _Steps[Policy]:
        """To a neighbour, as long as it is better."""
        while True:
            near = [with_value(best, setting.key, value) for value in _beside(best, setting)]
            better, _ = yield from self._better(best, near)
            if better is best:
                return best
            best = better

    def _span(self, policy: Policy, setting: DurationSpan, ratio: float) -> _Steps[Policy]:
        """Outward from the start, then in smaller steps until they gain next to nothing."""
        at_s = _start_s(policy, setting)
        best = _at(policy, setting, at_s) or policy
        while ratio > _NARROW:
            around = {
                min(max(at_s * by, setting.least_s), setting.most_s) for by in (1 / ratio, ratio)
            }
            near = {s: _at(best, setting, s) for s in sorted(around - {at_s})}
            better, is_flat = yield from self._better(best, near.values())
            if is_flat:
                break
            if better is best:
                ratio = math.sqrt(ratio)
            else:
                at_s = next(s for s, each in near.items() if each is better)
            best = better
        return best

    def _better(self, best: Policy, near: Iterable[Policy | None]) -> _Steps[tuple[Policy, bool]]:
        """The best of a policy and its neighbours, and whether all do alike."""
        able_ones = [each for each in near if each is not None]
        yield [best, *able_ones]
        own, scores = self._score(best), [self._score(each) for each in able_ones]
        least = min(
            range(len(scores)), key=lambda i: (scores[i].over, scores[i].mean), default=None
        )
        if least is not None and scores[least].is_better(own, self._worth):
            return able_ones[least], False
        most = max((each.mean for each in scores), default=own.mean)
        return best, not any(each.over for each in scores) and most - own.mean < self._worth

    def _settled(
        self, best: Policy, setting: DurationSpan
    ) -> _Steps[tuple[Policy, tuple[float, float]]]:
        """Return the duration that loses less, or is rounder, of those as good; and their ends."""
        at_s = _start_s(best, setting)
        yield [best]
        least = self._score(best)
        if least.over:
            return best, (at_s, at_s)
        equal = {at_s: best}
        for by in (1 / _OUTWARD, _OUTWARD):
            for step in range(1, _STEPS + 1):
                seconds = min(max(at_s * by**step, setting.least_s), setting.most_s)
                other = None if seconds in equal else _at(best, setting, seconds)
                if other is None:
                    break
                yield [other]
                if not self._score(other).is_equal(least, self._within):
                    break
                equal[seconds] = other
        half = _EQUAL * self._within
        loses = least.lost > 0
        if at_s >= setting.most_s and not loses:  # a limit, or no save at all: as round as any
            return best, (min(equal), max(equal))
        chosen_s = at_s
        if loses:  # the longest of those that lose about the least: saves need time to follow
            near = [s for s, each in equal.items() if self._score(each).is_equal(least, half)]
            lost = {s: self._score(equal[s]).lost for s in near}
            chosen_s = max(s for s in near if lost[s] <= _ABOUT * min(lost.values()))
        for seconds in round_durations(chosen_s if loses else at_s / _NEAR, chosen_s * _NEAR):
            rounder = _at(best, setting, seconds) if seconds <= setting.most_s else None
            if rounder is not None and seconds >= setting.least_s:
                yield [rounder]
                if self._score(rounder).is_equal(least, half):
                    return rounder, (min(seconds, *equal), max(seconds, *equal))
        return equal[chosen_s], (min(equal), max(equal))

    def _others(self, best: Policy) -> _Steps[dict[str, Policy]]:
        """Return policies that the search can't rule out to be better than the best."""
        # Neighbouring choices that may gain half of what matters: what is rare makes such
        # differences, as where two copies are lost at once.
        near = _changed(best, {each: _beside(best, each) for each in self._choices})
        yield [*near.values()]
        own, found = self._score(best), dict[str, Policy]()
        for key, each in near.items():
            score = self._score(each)
            gain, error = score.gain(own)
            if not score.over and gain + _OPEN * error > self._within / 2:
                found[key] = each
        # Shorter intervals than at the edge of a bound, which no certificate may be sure of.
        if own.slack < _EDGE:
            for span in self._spans:
                shorter_s = max(_SAFER * _start_s(best, span), span.least_s)
                changed = _at(best, span, shorter_s)
                if changed is not None:
                    found[f"{span.key} {format_duration(shorter_s)}"] = changed
        # A choice that loses nothing, with its own intervals, where the best of all loses: a
        # loss of 0 has no neighbours that lose less, by which a search could find it.
        trials, criteria = self._trials, self._trials.criteria
        wanted = criteria.assumed or any(bound.most == 0 for bound in criteria.bounds)
        if wanted and not trials.loses_nothing(best):
            chosen = _changed(best, {each: each.values for each in self._choices})
            for name, safe in chosen.items():
                if is_able(safe, trials) and trials.loses_nothing(safe):
                    for span in self._spans:
                        safe = yield from self._span(safe, span, _WIDE)  # noqa: PLW2901
                        safe, _ = yield from self._settled(safe, span)  # noqa: PLW2901
                    return found | {name: safe}
        return found


def _changed(policy: Policy, values: Mapping[Choice, Iterable[Any]]) -> dict[str, Policy]:
    """The policy with each of these values of a choice that it can have, by what they are."""
    return {
        f"{setting.key} {value}": changed
        for setting, some in values.items()
        for value in some
        if (changed := with_value(policy, setting.key, value)) is not None
    }


def _beside(policy: Policy, setting: Choice) -> list[Any]:
    """The values before and after the one it has; the first for another."""
    values, current = setting.values, value_of(policy, setting.key)
    at = values.index(current) if current in values else -1
    return [values[i] for i in (at - 1, at + 1) if 0 <= i < len(values)]


def _start_s(policy: Policy, setting: DurationSpan) -> float:
    """The duration that a policy has, s; where a rule sets it, that of the setting."""
    try:
        at_s = parse_duration(value_of(policy, setting.key))
    except ValueError:
        at_s = setting.start_s
    return min(max(at_s, setting.least_s), setting.most_s)


def _at(policy: Policy, setting: DurationSpan, seconds: float) -> Policy | None:
    """Set a duration in three digits, as printed; but the whole job, no save, exactly."""
    if seconds >= setting.most_s:
        return with_value(policy, setting.key, format_exact(setting.most_s, SECONDS))
    return with_value(policy, setting.key, format_duration(seconds))
