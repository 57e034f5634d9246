"""The best settings of each policy: from where a rule or the scenario has them outward.

Every search asks for a few settings at a time, and all that is asked for is played together, on the
same failures, so that what chance does to one setting it does to its neighbours.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.aims import LOST, Aim
from cprsim.advice.candidates import Candidate, value_of, with_value
from cprsim.advice.round_numbers import round_durations
from cprsim.advice.trials import Trial, Trials
from cprsim.basics.units import SECONDS, format_duration, format_exact, parse_duration
from cprsim.contract import Choice, DurationSpan, Policy, Setting
from cprsim.errors import CprsimError
from cprsim.policies.cpr import Cpr
from cprsim.runs.summaries import half_width

#: Ratios by which a duration is searched outward, and at last.
_WIDE, _NARROW = 4.0, 1.04
#: Of what doesn't matter: what another value has to gain to be taken.
_WORTH = 0.05
#: Of what doesn't matter: what a setting may cost that loses less, or is a rounder number; the
#: other half is left to chance.
_EQUAL = 0.5
#: What is left to a bound at its edge, as a share of it, and how much shorter intervals are tried.
_EDGE, _SAFER = 0.2, 0.75
#: Settings lose about the same up to this ratio.
_ABOUT = 1.1
#: Settings that are as good are looked for outward by this ratio, so often.
_OUTWARD, _STEPS = 1.5, 12
#: The round number that takes the place of a setting is no farther from it than by this ratio.
_NEAR = 1.6
#: Standard errors by which another value has to be better.
_SURE = 1.5
#: The same within which a difference is open.
_OPEN = 2.0
_TURNS = 3  # through all settings of a policy, at most
#: Replications of a setting: as many as take so long, s, but not more than so many.
_SETTING_S, _MOST = 0.007, 4096
#: The first of them: certificates are of others, that no setting was chosen by.
FIRST = 1 << 30


class Score(NamedTuple):
    """How a setting did.

    `over`: by how much it is over a bound, as a ratio, 0 for none. `objective`: of each
    replication. `lost`: the mean of `LOST`. `slack`: what is left to the nearest bound, as a share
    of it.
    """

    over: float
    objective: NDArray[np.float64]
    lost: float = 0.0
    slack: float = 1.0


class Leading(NamedTuple):
    """What has the least so far of what keeps to the bounds: before anything is certain."""

    policy: Policy
    objective: float
    replications: int


_NEVER_PLAYED = Score(math.inf, np.zeros(1))
Scores = Callable[[Policy], Score]
_Place = TypeVar("_Place", int, float)
#: Asks for policies to be played; what is sent is what tells how they did. Ends with the best.
_Line = Generator[list[Policy], Scores, Policy]
#: By key, the ends of the durations that are as good, s.
_Ranges = dict[str, tuple[float, float]]
#: The same, which ends with the ranges of its settings, and with others that may be better, by the
#: value that they have instead.
Search = Generator[list[Policy], Scores, tuple[Policy, _Ranges, dict[str, Policy]]]


def search(
    candidates: Sequence[Candidate],
    trials: Trials,
    tell: Callable[[int, int, Leading | None], None],
) -> list[Candidate]:
    """Each candidate with the best of its settings; `tell`: how many are done, of how many.

    Others after it, where the search couldn't tell that they are no better.
    """
    searches = {i: _searched(each.policy, trials) for i, each in enumerate(candidates)}
    best: dict[int, tuple[Policy, _Ranges, dict[str, Policy]]] = {}
    asked: dict[int, list[Policy]] = {}
    known = _Known(trials)
    while searches:
        for i, one in list(searches.items()):
            try:
                asked[i] = one.send(known.score) if i in asked else next(one)
            except StopIteration as end:
                best[i] = end.value
                del searches[i]
                asked.pop(i, None)
        known.play([policy for policies in asked.values() for policy in policies])
        tell(len(best), len(candidates), known.leading)
    found = []
    for i, each in enumerate(candidates):
        policy, ranges, others = best[i]
        found.append(replace(each, policy=policy, ranges=ranges))
        found += [
            replace(each, name=_with_note(each.name, what), policy=other)
            for what, other in others.items()
        ]
    return found


def _with_note(name: str, what: str) -> str:
    """A name with one more note in its brackets."""
    return f"{name[:-1]}, {what})" if name.endswith(")") else f"{name} ({what})"


class _Known:
    """Scores of what was played."""

    def __init__(self, trials: Trials) -> None:
        self._trials, self._scores = trials, dict[str, Score]()
        self.leading: Leading | None = None

    def score(self, policy: Policy) -> Score:
        """That of a policy that was asked for."""
        return self._scores[policy.model_dump_json()]

    def play(self, policies: Sequence[Policy]) -> None:
        """Those of policies, each once."""
        new = {each.model_dump_json(): each for each in policies}
        new = {key: each for key, each in new.items() if key not in self._scores}
        self._scores |= dict.fromkeys(new, _NEVER_PLAYED)
        together = defaultdict[int, dict[str, Policy]](dict)
        for key, policy in new.items():
            if is_able(policy, self._trials):
                count = self._trials.fit([policy], _SETTING_S, _MOST)
                together[count][key] = policy
        for count, alike in together.items():
            played = self._trials.play(list(alike.values()), range(FIRST, FIRST + count))
            for key, each in zip(alike, played, strict=True):
                self._scores[key] = scored(each, self._trials.aim)
                self._lead(alike[key], self._scores[key], each)

    def _lead(self, policy: Policy, score: Score, played: Trial) -> None:
        mean = float(played.objective.mean())
        if not score.over and (self.leading is None or mean < self.leading.objective):
            self.leading = Leading(policy, mean, len(played.objective))


def scored(played: Trial, aim: Aim) -> Score:
    """Over a bound is what is not surely kept to."""
    over, slack = 0.0, 1.0
    for values, bound in zip(played.bounded, aim.bounds, strict=True):
        high = float(values.mean() + half_width(values))
        if bound.most_mean:
            slack = min(slack, 1 - float(values.mean()) / bound.most_mean)
        if high > bound.most_mean:
            over = max(over, high / bound.most_mean - 1 if bound.most_mean else math.inf)
    return Score(over, played.objective, float(played.measures[LOST].mean()), slack)


def _gains(one: Score, other: Score) -> NDArray[np.float64]:
    """What the one takes less, replication by replication."""
    count = min(len(one.objective), len(other.objective))
    return other.objective[:count] - one.objective[:count]


def _is_better(one: Score, other: Score, worth: float) -> bool:
    """Whether one surely gains what it is worth to change for, or is less over the bounds."""
    if one.over or other.over:
        return one.over < other.over
    gains = _gains(one, other)
    return bool(gains.mean() > max(worth, _SURE * gains.std() / math.sqrt(len(gains))))


def _may_be_better(one: Score, other: Score, within: float) -> bool:
    """Whether it may gain half of what matters, as far as chance goes."""
    if one.over:
        return False
    gains = _gains(one, other)
    return bool(gains.mean() + _OPEN * gains.std() / math.sqrt(len(gains)) > within / 2)


def _is_equal(one: Score, best: Score, within: float) -> bool:
    """Return whether a setting takes no more than `within` more than the best, and no bound."""
    return not one.over and float(-_gains(one, best).mean()) <= within


def at_target(policy: Policy, aim: Aim) -> Policy:
    """CPR at the portion of lost samples that is accepted, by its own rule; others as they are."""
    if isinstance(policy, Cpr) and aim.accepted:
        target = min(aim.accepted, 1.0)
        return policy.model_copy(update={"target_pls": target, "interval": None})
    return policy


def _searched(policy: Policy, trials: Trials) -> Search:
    """Setting by setting, until none of them gains anything."""
    aim = trials.aim
    best, settings = able(at_target(policy, aim), trials)
    own = [policy] if is_able(policy, trials) else []
    worth, ratio = _WORTH * aim.within, _WIDE
    settings = _of_use(best, settings, trials, worth)
    for _ in range(_TURNS):
        before = best
        for setting in settings:
            if isinstance(setting, Choice):
                best = yield from _choice(best, setting, worth)
            else:
                best = yield from _span(best, setting, worth, ratio)
        if best == before or len(settings) == 1:
            break
        ratio = math.sqrt(_WIDE)
    ranges: _Ranges = {}
    for setting in settings:
        if isinstance(setting, DurationSpan):
            best, ranges[setting.key] = yield from _settled(best, setting, aim.within)
    best = yield from _gentler(best, own, aim.within)
    others = yield from _open(best, settings, aim.within)
    others |= yield from _safer(best, settings)
    others |= yield from _lossless(best, settings, trials, worth)
    return best, ranges, others


def _settled(
    best: Policy, setting: DurationSpan, within: float
) -> Generator[list[Policy], Scores, tuple[Policy, tuple[float, float]]]:
    """Of the durations that are as good, the one that loses less, or is rounder; and their ends."""
    at_s = _start_s(best, setting)
    scores = yield [best]
    least = scores(best)
    if least.over:
        return best, (at_s, at_s)
    equal = {at_s: best}
    for by in (1 / _OUTWARD, _OUTWARD):
        for step in range(1, _STEPS + 1):
            seconds = min(max(at_s * by**step, setting.least_s), setting.most_s)
            other = None if seconds in equal else _at(best, setting, seconds)
            if other is None:
                break
            scores = yield [other]
            if not _is_equal(scores(other), least, within):
                break
            equal[seconds] = other
    near = [s for s, e in equal.items() if _is_equal(scores(e), least, _EQUAL * within)]
    loses = least.lost > 0
    if at_s >= setting.most_s and not loses:  # a limit, or no save at all: as round as any
        return best, (min(equal), max(equal))
    chosen_s = at_s
    if loses:  # the longest of those that lose about the least: saves can't follow faster for ever
        least_lost = min(scores(equal[s]).lost for s in near)
        chosen_s = max(s for s in near if scores(equal[s]).lost <= _ABOUT * least_lost)
    for seconds in round_durations(chosen_s if loses else at_s / _NEAR, chosen_s * _NEAR):
        rounder = _at(best, setting, seconds) if seconds <= setting.most_s else None
        if rounder is not None and seconds >= setting.least_s:
            scores = yield [rounder]
            if _is_equal(scores(rounder), least, _EQUAL * within):
                return rounder, (min(seconds, *equal), max(seconds, *equal))
    return equal[chosen_s], (min(equal), max(equal))


def _gentler(best: Policy, own: Sequence[Policy], within: float) -> _Line:
    """A policy of the user's own as it is, where tuning it loses learning and gains too little."""
    scores = yield [best, *own]
    for each in own:
        if scores(each).lost < scores(best).lost and _is_equal(scores(each), scores(best), within):
            return each
    return best


def is_able(policy: Policy, trials: Trials) -> bool:
    """Return whether a policy has a plan, saves often enough, and leaves any hope."""
    plan, useful_s = trials.plan(policy), trials.scenario.job.useful_time_s
    if plan is None or trials.aim.too_rare(plan, useful_s):
        return False
    return not trials.is_hopeless(policy)


def able(policy: Policy, trials: Trials) -> tuple[Policy, tuple[Setting, ...]]:
    """A policy that can be played, with its settings; else by its rule, or with other choices.

    One of which first order leaves no hope is as good as one that can't: so is a system that saves
    nothing by default where all its copies are often lost.
    """
    context, aim = trials.scenario.context, trials.aim
    try:
        settings = aim.limited(policy.settings(context))
        full = policy.settings(context)
    except (CprsimError, ValueError):  # it has no plan
        return policy, ()
    first = policy
    for limited, setting in zip(settings, full, strict=True):
        if (
            isinstance(limited, DurationSpan)
            and isinstance(setting, DurationSpan)
            and (setting.start_s > limited.start_s)
        ):
            first = _at(first, limited, limited.start_s) or first
    others = (
        with_value(first, setting.key, value)
        for setting in settings
        for value in (reversed(setting.values) if isinstance(setting, Choice) else ["optimal"])
    )
    for each in chain([first], others):
        if each is not None and is_able(each, trials):
            return each, aim.limited(each.settings(context))
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


def _open(
    best: Policy, settings: Sequence[Setting], within: float
) -> Generator[list[Policy], Scores, dict[str, Policy]]:
    """Neighbouring choices that so few replications can't tell to be no better, by what they are.

    What is rare makes such differences, as where two copies are lost at once.
    """
    near = {
        f"{setting.key} {value}": changed
        for setting in settings
        if isinstance(setting, Choice)
        for value in _beside(best, setting).values()
        if (changed := with_value(best, setting.key, value)) is not None
    }
    scores = yield [best, *near.values()]
    return {
        what: each
        for what, each in near.items()
        if _may_be_better(scores(each), scores(best), within)
    }


def _safer(
    best: Policy, settings: Sequence[Setting]
) -> Generator[list[Policy], Scores, dict[str, Policy]]:
    """Shorter intervals than those at the edge of a bound, which no certificate may be sure of."""
    scores = yield [best]
    if scores(best).slack >= _EDGE:
        return {}
    found = {}
    for setting in settings:
        if isinstance(setting, DurationSpan):
            shorter_s = max(_SAFER * _start_s(best, setting), setting.least_s)
            changed = _at(best, setting, shorter_s)
            if changed is not None:
                found[f"{setting.key} {format_duration(shorter_s)}"] = changed
    return found


def _beside(policy: Policy, setting: Choice) -> dict[int, Any]:
    """The values before and after the one it has, by their places; the first for another."""
    values, current = setting.values, value_of(policy, setting.key)
    at = values.index(current) if current in values else -1
    return {i: values[i] for i in (at - 1, at + 1) if 0 <= i < len(values)}


def _choice(policy: Policy, setting: Choice, worth: float) -> _Line:
    """To a neighbour, as long as it is better."""
    at, best = -1, policy
    while True:
        beside = _beside(best, setting).items()
        near = {i: with_value(best, setting.key, value) for i, value in beside}
        at, better, _ = yield from _better(at, best, near, worth)
        if better is best:
            return best
        best = better


def _span(policy: Policy, setting: DurationSpan, worth: float, ratio: float) -> _Line:
    """Outward from the start, then in steps that get smaller until they gain next to nothing."""
    at_s = _start_s(policy, setting)
    best = _at(policy, setting, at_s) or policy
    while ratio > _NARROW:
        near = {s: _at(best, setting, s) for s in _around(at_s, ratio, setting)}
        at_s, better, is_flat = yield from _better(at_s, best, near, worth)
        if is_flat:
            break
        if better is best:
            ratio = math.sqrt(ratio)
        best = better
    return best


def _better(
    at: _Place, best: Policy, near: Mapping[_Place, Policy | None], worth: float
) -> Generator[list[Policy], Scores, tuple[_Place, Policy, bool]]:
    """The best of a policy and its neighbours, where that is, and whether all do alike."""
    able: dict[_Place, Policy] = {place: each for place, each in near.items() if each is not None}
    scores = yield [best, *able.values()]
    told = {place: scores(each) for place, each in able.items()}
    least = min(
        told, key=lambda place: (told[place].over, told[place].objective.mean()), default=at
    )
    own = scores(best)
    if able and _is_better(told[least], own, worth):
        return least, able[least], False
    apart = [each.objective.mean() - own.objective.mean() for each in told.values()]
    is_flat = not any(each.over for each in told.values()) and max(apart, default=0.0) < worth
    return at, best, is_flat


def _lossless(
    best: Policy, settings: Sequence[Setting], trials: Trials, worth: float
) -> Generator[list[Policy], Scores, dict[str, Policy]]:
    """A choice that loses nothing, with intervals of its own, where the best of all loses.

    Of questions that may be answered by what loses nothing: a loss of 0 has no neighbours that lose
    less, by which a search could come to it.
    """
    asked = trials.aim.assumed or any(bound.most == 0 for bound in trials.aim.bounds)
    if not asked or trials.loses_nothing(best):
        return {}
    chosen = {
        f"{setting.key} {value}": with_value(best, setting.key, value)
        for setting in settings
        if isinstance(setting, Choice)
        for value in setting.values
    }
    able_ones = (
        (name, each)
        for name, each in chosen.items()
        if each is not None and is_able(each, trials) and trials.loses_nothing(each)
    )
    first = next(able_ones, None)
    if first is None:
        return {}
    name, found = first
    for span in settings:
        if isinstance(span, DurationSpan):
            found = yield from _span(found, span, worth, _WIDE)
            found, _ = yield from _settled(found, span, trials.aim.within)
    return {name: found}


def _around(at_s: float, ratio: float, setting: DurationSpan) -> Iterator[float]:
    found = {min(max(at_s * by, setting.least_s), setting.most_s) for by in (1 / ratio, ratio)}
    yield from sorted(found - {at_s})


def _start_s(policy: Policy, setting: DurationSpan) -> float:
    """Where it stands, if it does."""
    value = value_of(policy, setting.key)
    try:
        at_s = parse_duration(value)
    except ValueError:
        at_s = setting.start_s
    return min(max(at_s, setting.least_s), setting.most_s)


def _at(policy: Policy, setting: DurationSpan, seconds: float) -> Policy | None:
    """With a duration in three digits, as it is told; but the whole job, no save, exactly."""
    if seconds >= setting.most_s:
        return with_value(policy, setting.key, format_exact(setting.most_s, SECONDS))
    return with_value(policy, setting.key, format_duration(seconds))
