"""Sensitivity of the recommendation to wrong inputs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd

from cprsim.advice.advice import Advice, Found
from cprsim.advice.candidates import frozen, with_value
from cprsim.advice.search import able, is_able
from cprsim.advice.trials import Trial, Trials
from cprsim.basics.distributions import scaled
from cprsim.basics.units import (
    SECONDS,
    format_bytes,
    format_duration,
    format_exact,
    format_percent,
)
from cprsim.contract import Policy
from cprsim.errors import CprsimError
from cprsim.failures.causes import Part
from cprsim.runs.selection.bounds import Bound
from cprsim.runs.selection.intervals import ROUNDING
from cprsim.runs.summaries import Mean
from cprsim.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: An input of the job is multiplied by each of these.
FACTORS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
#: Candidates that are played in other worlds: the best, and the next.
_FINALISTS = 6
#: The most replications of a world, and seconds that they may take on one core.
_MOST, _WORLD_S = 4096, 0.015
#: The first of its replications: others than those of searches and certificates.
_FIRST = 1 << 29
_UNKNOWN = Mean(math.nan, math.nan, math.nan)


class PerturbedScenario(NamedTuple):
    """A job of which one input is `factor` times what it was taken for, `value`.

    `least`: the best policy there that may be within the bounds; None for none. `loses`: what
    the choice takes more than that one, of the objective, a share of the useful time, on the same
    failures; not a number where the choice can't be played there, or first order leaves no hope for
    it. `keeps`: whether the choice meets the bounds there; None where that isn't sure.
    """

    factor: float
    value: str
    least: str | None
    loses: Mean
    keeps: bool | None

    def holds(self, within: float) -> bool | None:
        """Return whether the choice is as good as any there, or nearly; None: not sure."""
        if self.keeps is False or not self.loses.low <= within:
            return False
        return True if self.keeps and self.loses.high <= within else None


class Parameter(NamedTuple):
    """One input at each of `FACTORS` where it can be; the others as they are."""

    name: str
    worlds: tuple[PerturbedScenario, ...]

    def range(self, within: float) -> tuple[PerturbedScenario, PerturbedScenario]:
        """Return the ends of the range around the given value where it may still be best."""
        at = next(i for i, world in enumerate(self.worlds) if world.factor == 1)
        low, high = (
            [self.worlds[at], *takewhile(lambda world: world.holds(within) is not False, worlds)]
            for worlds in (reversed(self.worlds[:at]), self.worlds[at + 1 :])
        )
        return low[-1], high[-1]

    def beyond(self, within: float) -> Iterator[PerturbedScenario]:
        """Yield the nearest of those that were tried outside that range, on either side."""
        low, high = map(self.worlds.index, self.range(within))
        yield from self.worlds[max(low - 1, 0) : low]
        yield from self.worlds[high + 1 : high + 2]


class Doubled(NamedTuple):
    """An input of the answer, and what the choice takes more if it costs twice as much.

    `value`: the input then. `basis`: `"given"` in the scenario, `"derived"` from it, `"assumed"`
    from other machines, or `"unknown"`. `more`: of the objective, on the same random numbers.
    """

    name: str
    value: str
    basis: str
    more: Mean


@dataclass(frozen=True)
class Robustness:
    """The choice, with the settings that it has, where an input of the job is another.

    `systems`: of each policy that was played. `base`: what losses are shares of.
    """

    choice: str
    within: float
    levers: tuple[Parameter, ...]
    systems: Mapping[str, str] = field(default_factory=dict)
    base: str = "the useful time"
    assumptions: tuple[Doubled, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            lever.name: [
                world._asdict()
                | {"loses": world.loses.document(), "holds": world.holds(self.within)}
                for world in lever.worlds
            ]
            for lever in self.levers
        }

    @property
    def table(self) -> pd.DataFrame:
        """A row a circumstance and factor: `lever` and the fields of `PerturbedScenario`.

        `keeps` and `holds` are true where they may be; `sure`: whether that it holds, or not, is
        sure. Losses have 95 % intervals, `loses_low` to `loses_high`.
        """
        rows = []
        for lever in self.levers:
            for world in lever.worlds:
                holds = world.holds(self.within)
                row = {"lever": lever.name, "factor": world.factor, "value": world.value}
                row |= {"least": world.least or "", **world.loses.columns("loses")}
                row |= {"keeps": world.keeps is not False, "holds": holds is not False}
                rows.append(row | {"sure": holds is not None})
        return pd.DataFrame(rows)

    def figure(self, title: str = "", **on: "Axes") -> "Figure":
        """Draw the loss of the choice where one input is another, and the best policy there.

        Drawn on axes, if `ax` is given.
        """
        from cprsim.figures.cells import robust  # noqa: PLC0415  (matplotlib is slow to import)

        return robust(self.table, self.choice, self.within, self.systems, title, self.base, **on)


#: A scenario where something is so many times what it is, and what it is there; None if it can't.
_Change = Callable[[Scenario, float], tuple[Scenario, str] | None]


def robustness(advice: Advice) -> Robustness | None:
    """Play the best and the next ones where one input is another; None where none is best.

    They keep their settings, which were chosen for the input as given. Policies that lack memory in
    this job may fit where more servers share the tables: they take part with their first settings.
    Other settings of the best one's system do not. None for a fleet, whose jobs differ anyway.
    """
    best, scenario = advice.best, advice.scenario
    if best is None or advice.of_fleet:
        return None
    system = best.candidate.system
    others = [
        each
        for each in advice.found
        if each.feasible is not False and each.candidate.system != system
    ]
    finalists = [best, *others[: _FINALISTS - 1]]
    first = {e.name: e.policy for e in advice.refused if e.policy and e.system != system}
    policies = {each.name: frozen(each.candidate.policy, scenario) for each in finalists}
    levers = []
    for name, change in CIRCUMSTANCES.items():
        changed = [(f, _changed(scenario, change, f)) for f in FACTORS]
        worlds = [
            _world(advice, policies, first, *each, factor) for factor, each in changed if each
        ]
        if len(worlds) > 1:
            levers.append(Parameter(name, tuple(worlds)))
    return Robustness(
        best.name,
        advice.criteria.within,
        tuple(levers),
        {each.name: each.candidate.system for each in finalists}
        | {name: each.system for name, each in first.items()},
        advice.criteria.base,
        tuple(_assumptions(advice, best, policies[best.name])),
    )


def _played(
    advice: Advice,
    scenario: Scenario,
    policies: Mapping[str, Policy],
    first: Mapping[str, Policy] = MappingProxyType({}),
    most: int = _MOST,
) -> dict[str, Trial]:
    """Replications, up to `most`, of the policies that can be played in a scenario.

    `first`: policies whose first settings there are taken.
    """
    trials = Trials(scenario, advice.criteria, advice.seed)
    playable = {
        name: each
        for name, each in policies.items()
        if trials.plan(each) and not trials.is_hopeless(each)
    }
    settled = {name: able(each, trials)[0] for name, each in first.items()}
    playable |= {name: each for name, each in settled.items() if is_able(each, trials)}
    if not playable:
        return {}
    count = trials.fit([*playable.values()], _WORLD_S, most)
    played = trials.play([*playable.values()], range(_FIRST, _FIRST + count))
    return dict(zip(playable, played, strict=True))


def _assumptions(advice: Advice, best: Found, choice: Policy) -> Iterator[Doubled]:
    """The inputs that the choice is sensitive to, and its own costs, each twice as large."""
    own = _played(advice, advice.scenario, {"it": choice}).get("it")

    def more(scenario: Scenario, policy: Policy | None) -> Mean:
        """Return how much more a policy takes in a scenario than the choice does in its own."""
        other = None
        if policy is not None and own is not None:
            other = _played(advice, scenario, {"it": policy}, most=own.count).get("it")
        if own is None or other is None:
            return _UNKNOWN
        return Mean.of(other.objective - own.objective[: other.count])

    for name, factor in _DOUBLED.items():
        changed = _changed(advice.scenario, CIRCUMSTANCES[name], factor)
        if changed is not None:
            yield Doubled(name, changed[1], "given", more(changed[0], choice))
    for cost in best.plan.own_costs:
        twice, is_time = 2 * cost.value, cost.unit == "s"
        policy = with_value(choice, cost.key, format_exact(twice, SECONDS) if is_time else twice)
        text = format_duration(twice) if is_time else format_percent(twice)
        yield Doubled(cost.key, text, cost.basis, more(advice.scenario, policy))


def _world(
    advice: Advice,
    policies: Mapping[str, Policy],
    first: Mapping[str, Policy],
    scenario: Scenario,
    value: str,
    factor: float,
) -> PerturbedScenario:
    """The policies in a scenario, of which the first is the choice."""
    played, best = _played(advice, scenario, policies, first), next(iter(policies))
    keeps = {name: _keeps(each, advice.criteria.bounds) for name, each in played.items()}
    kept = {name: played[name].objective for name in played if keeps[name] is not False}
    least = min(kept, key=lambda name: kept[name].mean(), default=None)
    if best not in played:
        return PerturbedScenario(factor, value, least, _UNKNOWN, False)
    # More than the lowest of those that may be chosen; each end is the farthest.
    apart = [Mean.of(played[best].objective - other) for other in kept.values()]
    loses = Mean(*map(max, zip(*apart, strict=True))) if apart else _UNKNOWN
    if best in kept and loses.mean <= ROUNDING:  # of those that are alike, the choice
        least = best
    return PerturbedScenario(factor, value, least, loses, keeps[best])


def _keeps(played: Trial, bounds: Sequence[Bound]) -> bool | None:
    """Return whether a policy is within all bounds; None where that isn't sure."""
    ends = [(Mean.of(row), b.most_mean) for row, b in zip(played.bounded, bounds, strict=True)]
    if any(mean.low > most for mean, most in ends):
        return False
    return all(mean.high <= most for mean, most in ends) or None


def _changed(scenario: Scenario, change: _Change, factor: float) -> tuple[Scenario, str] | None:
    try:
        changed = change(scenario, factor)
        if changed is not None:
            changed[0].failure_model.check()
    except (CprsimError, ValueError):
        return None
    return changed


def _with(scenario: Scenario, section: str, **values: Any) -> Scenario:
    """The scenario with other values in one of its tables."""
    changed = getattr(scenario, section).model_copy(update=values)
    return scenario.model_copy(update={section: changed})


def _mtbf(scenario: Scenario, factor: float) -> tuple[Scenario, str] | None:
    failures = scenario.failures
    changes = scaled(failures.mean_s, failures.durations_s, factor)
    if not changes:  # a number of failures, or a log
        return None
    found = _with(scenario, "failures", **changes)
    return found, format_duration(found.failure_model.mtbf_s)


def _save_bandwidth(scenario: Scenario, factor: float) -> tuple[Scenario, str] | None:
    costs, storage = scenario.costs, scenario.storage
    if costs.save_s is not None:
        save_s = costs.save_s / factor
        return _with(scenario, "costs", save_s=save_s), f"a save in {format_duration(save_s)}"
    if storage is None or storage.write is None:
        return None
    write = storage.write * factor
    return _with(scenario, "storage", write=write), f"{format_bytes(write)}/s"


def _rescheduling(scenario: Scenario, factor: float) -> tuple[Scenario, str] | None:
    if not scenario.context.reschedule_s:
        return None
    found = _with(scenario, "costs", reschedule=_times(scenario.costs.reschedule, factor))
    found = _of_causes(found, "repair", factor)
    return found, format_duration(found.context.reschedule_s)


def _times(delay: Any, factor: float) -> Any:
    """A delay, which may be a law, or None, so many times as long."""
    if delay is None or isinstance(delay, float):
        return None if delay is None else delay * factor
    return delay.scaled(factor)


def _detection(scenario: Scenario, factor: float) -> tuple[Scenario, str] | None:
    if not scenario.context.detect_s:
        return None
    found = _with(scenario, "costs", detect_s=scenario.costs.detect_s * factor)
    found = _of_causes(found, "detect", factor)
    return found, format_duration(found.context.detect_s)


def _of_causes(scenario: Scenario, part: Part, factor: float) -> Scenario:
    """The scenario with that part of the failures of each cause so many times as long."""
    causes = scenario.failures.causes
    if causes is None:
        return scenario
    scaled = (e.model_copy(update={part: _times(getattr(e, part), factor)}) for e in causes)
    return _with(scenario, "failures", causes=tuple(scaled))


def _servers(scenario: Scenario, factor: float) -> tuple[Scenario, str] | None:
    cluster = scenario.cluster
    servers = round(cluster.parameter_servers * factor)
    alike = (factor != 1) == (servers == cluster.parameter_servers)
    if servers < 1 or cluster.updates is not None or alike:
        return None
    return _with(scenario, "cluster", parameter_servers=servers), f"{servers:,}"


#: What may be another than it was taken for.
CIRCUMSTANCES: Final[dict[str, _Change]] = {
    "MTBF": _mtbf,
    "save bandwidth": _save_bandwidth,
    "rescheduling": _rescheduling,
    "detection": _detection,
    "parameter servers": _servers,
}
#: Of these the factor at which each costs twice as much.
_DOUBLED: Final = {"MTBF": 0.5, "save bandwidth": 0.5, "rescheduling": 2.0, "detection": 2.0}
