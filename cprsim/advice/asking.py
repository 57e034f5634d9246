"""One question, from who is asked to the certificate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.advice import TOLD, Advice, Found, in_order
from cprsim.advice.aims import Aim
from cprsim.advice.candidates import Candidate, Refused, asked, chosen
from cprsim.advice.fleet_trials import FleetTrials
from cprsim.advice.search import Leading, able, at_target, search
from cprsim.advice.trials import NOWHERE, Trial, Trials
from cprsim.advice.warning import warnings
from cprsim.analytic.expected import expected
from cprsim.basics.units import rough_percent
from cprsim.contract import Plan, Policy
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import RunError, UsageError
from cprsim.estimates.decision import Decision
from cprsim.runs.engines import waits
from cprsim.runs.hopeless import first_part
from cprsim.runs.mean import Mean
from cprsim.runs.summaries import ratio_of_sums
from cprsim.selection.certificate import Certificate, PairedSample
from cprsim.selection.sequential import MOST, certify

#: Told of how far it is: what is done, how much of it, of how much; and what is known, if anything.
Tell = Callable[[str, int, int, Advice | Leading | None], None]
#: What a look may take about, on one core, s.
_LOOK_S = 3.0
#: Useful times that the first part of such a job takes, from which on nobody wants to know more.
_STEEP = 30.0
_STUCK = "gets nowhere under so many failures"
#: Failures in a job of which one run tells much.
_MANY = 1000.0
#: The same of the first, and what it has at most.
_FIRST_S, _MOST_FIRST = 0.5, 2048
#: What no replication has met happens in fewer than 3 / n of them, with 95 % (Hanley and
#: Lippman-Hand, JAMA 249, 1983).
_RULE_OF_THREE = 3.0
#: Of `TOLD`, shares of the useful time that lost computation adds to.
_IN_TIME = ("overhead", "overhead_retrained", "machine_overhead")


class Asking:
    """Of one job: candidates, their settings, and what was played of them."""

    _most = MOST

    def __init__(self, trials: Trials, tell: Tell, decision: Decision | None) -> None:
        self._trials, self._tell, self._decision = trials, tell, decision
        self._candidates: list[Candidate] = []
        self._refused: list[Refused] = []
        self._played: list[list[Trial]] = []
        self._left: Sequence[int] = ()
        self._advised: Advice | None = None

    def answer(self, systems: Sequence[str] | None) -> Advice:
        """The advice, once all is certain that can be."""
        aim, mtbf_s = self._trials.aim, self._trials.scenario.failure_model.mtbf_s
        self._gather(systems)
        if not self._candidates:
            raise UsageError(_nobody(self._refused))
        self._played = [[] for _ in self._candidates]
        certify(
            lambda places, replications: self._sample(places, replications, mtbf_s < math.inf),
            len(self._candidates),
            aim.bounds,
            confidence=aim.confidence,
            within=aim.within,
            first=self._first_look,
            most=self._most,
            go_on=self._may_go_on,
            tell=self._told,
        )
        assert self._advised is not None
        return self._advised

    def _gather(self, systems: Sequence[str] | None) -> None:
        """Who takes part, with which settings, and who can't."""
        trials = self._trials
        ask = asked(trials.scenario, systems)
        self._refused = list(ask.refused)
        for each in ask.given:
            self._enter(each)
        if waits("batch"):
            self._tell("compiling, once", 0, 1, None)
        done = len(ask.searched)
        self._tell("searching settings", 0, done, None)
        searched = [each for each in ask.searched if not self._is_hopeless(each)]
        for each in search(searched, trials, lambda *told: self._tell("searching settings", *told)):
            if not self._is_known(each):
                self._enter(each)

    def _is_hopeless(self, candidate: Candidate) -> bool:
        """Whether it is too dear, or too stuck, to be searched, which is said."""
        start, _ = able(at_target(candidate.policy, self._trials.aim), self._trials)
        plan = self._trials.plan(start)
        if plan is None:
            return False
        scenario, why = self._trials.scenario, None
        if candidate.origin is None and self._trials.is_hopeless(start):
            found = expected(plan, scenario.context).overhead
            why = (
                f"first order expects an overhead of {rough_percent(found)} at least: not simulated"
            )
        elif self._gets_nowhere(start):
            why = _STUCK
        if why is not None and candidate.origin is None:
            self._refused.append(Refused(candidate.name, candidate.system, why))
        return why is not None

    def _gets_nowhere(self, policy: Policy) -> bool:
        """Whether a run that meets a great many failures is given up."""
        scenario = self._trials.scenario
        if scenario.job.useful_time_s / scenario.failure_model.mtbf_s <= _MANY:
            return False
        try:
            job = scenario.with_policies({"it": policy})
            if first_part(job, "it", self._trials.seed) > _STEEP:
                return True
        except RunError:
            return True
        (trial,) = self._trials.play([policy], range(1))
        return bool(trial.measures["overhead"][0] >= NOWHERE - 1)

    def _enter(self, candidate: Candidate) -> None:
        why_not = self._trials.why_not(candidate.policy)
        if why_not is None and self._gets_nowhere(candidate.policy):
            why_not = _STUCK
        if why_not is None:
            self._candidates.append(candidate)
        else:
            self._refused.append(Refused(candidate.name, candidate.system, why_not))

    def _is_known(self, candidate: Candidate) -> bool:
        """Whether the search came to a policy that is asked already, or back to where it began."""
        scenario = self._trials.scenario
        return any(
            each.policy == candidate.policy
            or (
                candidate.origin is not None
                and each.origin == candidate.origin
                and chosen(each, scenario) == chosen(candidate, scenario)
            )
            for each in self._candidates
        )

    def _sample(self, places: Sequence[int], replications: range, can_fail: bool) -> PairedSample:
        self._left = places
        found = self._trials.play([self._policy(i) for i in places], replications)
        for i, each in zip(places, found, strict=True):
            self._played[i].append(each)
        return PairedSample(
            np.array([each.objective for each in found]),
            np.array([each.bounded for each in found]),
            np.array([each.failures for each in found]),
            can_fail,
            np.array([self._trials.loses_nothing(self._policy(i)) for i in places]),
            np.array([self._unmet(i) for i in places]),
        )

    def _unmet(self, place: int) -> float:
        """What a loss may take back that no replication met, as a share of the useful time."""
        return min(self._plan(place).unmet_s / self._trials.scenario.job.useful_time_s, 1.0)

    def _lacks(self, place: int) -> float:
        """What the mean may lack for a loss that none of its replications met, with 95 %."""
        unmet = self._unmet(place)
        lost = np.concatenate([each.causes["lost"] for each in self._played[place]])
        is_met = lost.max() - np.median(lost) > unmet / 2  # as every other one takes back
        return 0.0 if is_met else _RULE_OF_THREE / len(lost) * unmet

    def _plan(self, place: int) -> Plan:
        plan = self._trials.plan(self._policy(place))
        assert plan is not None
        return plan

    @property
    def _first_look(self) -> int:
        """Replications of the first look: means that are told are of as many at least."""
        policies = [each.policy for each in self._candidates]
        return self._trials.fit(policies, _FIRST_S, min(_MOST_FIRST, self._most))

    def _policy(self, place: int) -> Policy:
        return self._candidates[place].policy

    def _may_go_on(self, replications: int) -> bool:
        """Whether that many more don't take too long."""
        each_s = self._trials.seconds(self._policy(i) for i in self._left)
        return replications / 2 * each_s < _LOOK_S

    def _told(self, certificate: Certificate) -> None:
        done = certificate.replications
        self._advised = self._advice(certificate)
        self._tell("comparing", done, self._most, self._advised)

    def _advice(self, certificate: Certificate) -> Advice:
        trials = self._trials
        found = [self._found(i, certificate) for i in range(len(self._candidates))]
        certificate = _gentlest(certificate, found)
        best, rival = certificate.best, certificate.runner_up
        order = in_order(found)
        place = {i: number for number, i in enumerate(order)}
        advice = Advice(
            trials.scenario,
            trials.aim,
            trials.seed,
            tuple(found[i] for i in order),
            tuple(self._refused),
            _renumbered(certificate, place),
            self._decision,
            {} if best is None or rival is None else self._apart(best, rival.candidate),
            (),
        )
        return replace(advice, warnings=tuple(warnings(advice)))

    def _apart(self, best: int, other: int) -> dict[str, Mean]:
        """By cause, what another takes more than the best, on what both were played on."""
        both = list(zip(self._played[best], self._played[other], strict=False))
        apart = {
            cause: np.concatenate([more.causes[cause] - own.causes[cause] for own, more in both])
            for cause in OVERHEAD_CAUSES
        }
        apart["overhead"] = np.sum([*apart.values()], axis=0)
        return {name: Mean.of(values) for name, values in apart.items()}

    def _found(self, i: int, certificate: Certificate) -> Found:
        candidate, played, scenario = self._candidates[i], self._played[i], self._trials.scenario
        plan = self._plan(i)
        causes = {c: _mean([each.causes[c] for each in played]) for c in OVERHEAD_CAUSES}
        lacks = self._lacks(i)
        means = {
            name: _mean([each.measures[name] for each in played])
            for name in TOLD
            if name in played[0].measures
        }
        means |= {name: means[name].or_more(lacks) for name in _IN_TIME}
        feasible = certificate.kept[i]
        return Found(
            candidate,
            plan,
            chosen(candidate, scenario),
            means,
            causes,
            _mean([each.objective for each in played]).or_more(lacks),
            expected(plan, scenario.context).overhead,
            feasible,
            None if feasible else _why(played, self._trials.aim, feasible),
            sum(len(each.objective) for each in played),
            self._trials.loses_nothing(candidate.policy),
            _over(played, self._trials.aim),
            _in_sum(played),
            lacks,
        )


class AskingFleet(Asking):
    """The same of the jobs of a fleet."""

    _most = 1024

    def _gets_nowhere(self, _: Policy) -> bool:
        """Jobs that get nowhere are left out one by one."""
        return False

    def __init__(self, trials: FleetTrials, tell: Tell, decision: Decision | None) -> None:
        super().__init__(trials, tell, decision)
        self._jobs = trials

    def _gather(self, systems: Sequence[str] | None) -> None:
        """Who takes part, by its rules, and who can't."""
        ask = asked(self._jobs.scenario, systems)
        self._refused = list(ask.refused)
        new = [each for each in ask.searched if each.origin is None]
        for number, each in enumerate((*ask.given, *new)):
            self._tell("planning jobs", number, len(ask.given) + len(new), None)
            policy = each.policy if each.origin else at_target(each.policy, self._jobs.aim)
            candidate = replace(each, policy=policy, tuned=False)
            self._enter(candidate)
            why_not = None
            if self._candidates and self._candidates[-1] is candidate:
                why_not = self._jobs.faults(policy, range(self._most))
            if why_not is not None:
                self._candidates.pop()
                self._refused.append(Refused(candidate.name, candidate.system, why_not))


def _over(played: Sequence[Trial], aim: Aim) -> float:
    """By how much the mean is over the bound that is broken most."""
    means = np.concatenate([each.bounded for each in played], axis=1).mean(axis=1)
    apart = (float(mean) - bound.most_mean for mean, bound in zip(means, aim.bounds, strict=True))
    return max(apart, default=-math.inf)


def _in_sum(played: Sequence[Trial]) -> Mean | None:
    """Machine time of all jobs together over the useful, - 1: as in `FleetResult.summary`."""
    if played[0].node_s is None:
        return None
    overhead = np.concatenate([each.measures["machine_overhead"] for each in played])
    weight = np.concatenate([each.node_s for each in played if each.node_s is not None])
    return Mean.around(*ratio_of_sums(overhead * weight, weight))


def _nobody(refused: Sequence[Refused]) -> str:
    told = "; ".join(f"{each.name} {each.why}" for each in refused)
    return f"nobody can be asked: {told}"


def _why(played: Sequence[Trial], aim: Aim, feasible: bool | None) -> str:
    """Which bounds it breaks, or may."""
    said = []
    for row, bound in enumerate(aim.bounds):
        mean = _mean([each.bounded[row] for each in played])
        # Intervals of a certificate, which hold all together, are wider than these.
        if mean.high > bound.most_mean or (feasible is None and mean.mean > 0):
            verb = "is over" if feasible is False else "may be over"
            shown = f"{mean.mean:.3g} ({mean.low:.3g} to {mean.high:.3g})"
            if bound.most_mean == bound.most:
                said.append(f"{bound.measure} {shown} {verb} {bound.most:g}")
            else:
                measure = bound.measure.removesuffix("_p95")
                said.append(
                    f"share of runs with {measure} over {bound.most:g}: {shown}, {verb} 0.05"
                )
    return "; ".join(said)


def _mean(parts: Sequence[NDArray[np.float64]]) -> Mean:
    return Mean.of(np.concatenate(parts))


def _gentlest(certificate: Certificate, found: Sequence[Found]) -> Certificate:
    """With the one that loses and takes least as the best, of those that take the same time."""
    best = certificate.best
    same = [each for each in certificate.same if certificate.kept[each]]
    if best is None or not same:
        return certificate

    def taken(place: int) -> tuple[float, ...]:
        each = found[place]
        names = ("updates_lost", "machine_overhead")
        return (*(each.measures[name].mean for name in names), each.plan.memory_overhead)

    chosen = min((best, *same), key=taken)
    renamed = {chosen: best, best: chosen}
    return replace(
        certificate,
        best=chosen,
        rivals=tuple(
            replace(each, candidate=renamed.get(each.candidate, each.candidate))
            for each in certificate.rivals
        ),
    )


def _renumbered(certificate: Certificate, place: dict[int, int]) -> Certificate:
    """With the numbers that candidates have in the answer."""
    best = certificate.best
    return replace(
        certificate,
        best=None if best is None else place[best],
        rivals=tuple(replace(e, candidate=place[e.candidate]) for e in certificate.rivals),
        doubts=tuple(replace(e, candidate=place[e.candidate]) for e in certificate.doubts),
        kept=tuple(certificate.kept[i] for i in sorted(place, key=place.__getitem__)),
    )
