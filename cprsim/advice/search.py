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

from cprsim.advice.aims import Aim
from cprsim.advice.candidates import Candidate, value_of, with_value
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
#: What lost learning counts where it is as much as is accepted, of what doesn't matter: of settings
#: that are alike the one that loses less is taken, and never for more than that.
_LOST = 0.5
#: Of what is lost: what another value has to lose at most to be taken for that alone.
_LESS = 0.9
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
    """How a setting did: by how much it is over a bound, as a ratio, 0 for none; its objective.

    The objective of each replication, with what lost learning counts. `lost`: what that is, in the
    mean.
    """

    over: float
    objective: NDArray[np.float64]
    lost: float = 0.0


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
#: The same, which ends with others as well that may be better, by what they have else.
Search = Generator[list[Policy], Scores, tuple[Policy, dict[str, Policy]]]


def search(
    candidates: Sequence[Candidate],
    trials: Trials,
    tell: Callable[[int, int, Leading | None], None],
) -> list[Candidate]:
    """Each candidate with the best of its settings; `tell`: how many are done, of how many.

    Others after it, where the search couldn't tell that they are no better.
    """
    searches = {i: _searched(each.policy, trials) for i, each in enumerate(candidates)}
    best: dict[int, tuple[Policy, dict[str, Policy]]] = {}
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
        policy, others = best[i]
        found.append(replace(each, policy=policy))
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
            if self._trials.plan(policy) is not None and not self._trials.is_hopeless(policy):
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
    over = 0.0
    for values, bound in zip(played.bounded, aim.bounds, strict=True):
        high = float(values.mean() + half_width(values))
        if high > bound.most_mean:
            over = max(over, high / bound.most_mean - 1 if bound.most_mean else math.inf)
    if aim.objective == "retrained":  # which counts it already
        return Score(over, played.objective)
    lost = _LOST * aim.within * played.measures["updates_lost"] / (aim.accepted_pls or 1.0)
    return Score(over, played.objective + lost, float(lost.mean()))


def _is_better(one: Score, other: Score, worth: float) -> bool:
    """Whether one surely gains what it is worth to change for, or is less over the bounds.

    To lose less learning is worth it wherever that surely gains anything, with what it counts.
    """
    if one.over or other.over:
        return one.over < other.over
    count = min(len(one.objective), len(other.objective))
    gains = other.objective[:count] - one.objective[:count]
    least = 0.0 if one.lost < _LESS * other.lost else worth
    return bool(gains.mean() > max(least, _SURE * gains.std() / math.sqrt(count)))


def _may_be_better(one: Score, other: Score, within: float) -> bool:
    """Whether it may gain half of what matters, as far as chance goes."""
    if one.over:
        return False
    count = min(len(one.objective), len(other.objective))
    gains = other.objective[:count] - one.objective[:count]
    return bool(gains.mean() + _OPEN * gains.std() / math.sqrt(count) > within / 2)


def at_target(policy: Policy, aim: Aim) -> Policy:
    """CPR at the portion of lost samples that is accepted, by its own rule; others as they are."""
    if isinstance(policy, Cpr) and aim.accepted_pls:
        target = min(aim.accepted_pls, 1.0)
        return policy.model_copy(update={"target_pls": target, "interval": None})
    return policy


def _searched(policy: Policy, trials: Trials) -> Search:
    """Setting by setting, until none of them gains anything."""
    aim = trials.aim
    best, settings = able(at_target(policy, aim), trials)
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
    others = yield from _open(best, settings, aim.within)
    return best, others


def able(policy: Policy, trials: Trials) -> tuple[Policy, tuple[Setting, ...]]:
    """A policy that can be played, with its settings; else by its rule, or with other choices.

    One of which first order leaves no hope is as good as one that can't: so is a system that saves
    nothing by default where all its copies are often lost.
    """
    context = trials.scenario.context
    try:
        settings = policy.settings(context)
    except (CprsimError, ValueError):  # it has no plan
        return policy, ()
    others = (
        with_value(policy, setting.key, value)
        for setting in settings
        for value in (reversed(setting.values) if isinstance(setting, Choice) else ["optimal"])
    )
    for each in chain([policy], others):
        if each is not None and trials.plan(each) is not None and not trials.is_hopeless(each):
            return each, each.settings(context)
    return policy, ()


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
