"""One question, from who is asked to the certificate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.advice import TOLD, Advice, Found, in_order
from cprsim.advice.aims import LOST, Aim
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
from cprsim.runs.unmet import IN_TIME, allowance
from cprsim.selection.bounds import RESTARTS, Bound
from cprsim.selection.certificate import Certificate, PairedSample, Rival, Standing
from cprsim.selection.sequential import MOST, certify

#: Told of how far it is: what is done, how much of it, of how much; and what is known, if anything.
Tell = Callable[[str, int, int, Advice | Leading | None], None]
#: What a look may take about, on one core, s.
_LOOK_S = 3.0
#: Useful times that the first part of such a job takes, from which on nobody wants to know more.
_STEEP = 30.0
_STUCK = "makes no progress under so many failures"
#: Failures in a job of which one run tells much.
_MANY = 1000.0
#: The same of the first, and what it has at most.
_FIRST_S, _MOST_FIRST = 0.5, 2048


class Asking:
    """Of one job: candidates, their settings, and what was played of them."""

    _most = MOST

    def __init__(self, trials: Trials, tell: Tell, decision: Decision | None) -> None:
        self._trials, self._tell, self._decision = trials, tell, decision
        self._aim = self._judged = trials.aim
        self._candidates: list[Candidate] = []
        self._refused: list[Refused] = []
        self._played: list[dict[int, Trial]] = []
        self._left: Sequence[int] = ()
        self._barred: list[str | None] = []
        self._advised: Advice | None = None

    def answer(self, systems: Sequence[str] | None) -> Advice:
        """The advice, once all is certain that can be.

        Where the question says nothing of lost learning, of the policies that lose none, with a
        second answer that may lose as much as the bounds allow.
        """
        aim, useful_s = self._trials.aim, self._trials.scenario.job.useful_time_s
        self._gather(systems)
        if not self._candidates:
            raise UsageError(_nobody(self._refused))
        self._played = [{} for _ in self._candidates]
        places = range(len(self._candidates))
        rare = [aim.too_rare(self._plan(i), useful_s) or self._overlooks(i) for i in places]
        losing = [
            None if self._trials.loses_nothing(self._policy(i)) else "loses learning"
            for i in places
        ]
        barred = [why or other for why, other in zip(rare, losing, strict=True)]
        if not aim.assumed or None not in barred:
            return self._certified(aim, rare)
        none = replace(aim, bounds=(Bound(LOST, 0.0), *aim.asked))
        # That no learning is lost isn't open: all others are barred.
        lossless = self._certified(none, barred, aim.asked)
        if barred == rare:
            return lossless
        return replace(lossless, allowing=self._certified(aim, rare))

    def _overlooks(self, place: int) -> str | None:
        """Why a policy that leaves silent faults in the model can't be chosen, if others don't."""
        overlooks = self._trials.scenario.context.overlooks_faults
        if not overlooks(self._plan(place)):
            return None
        finding = any(not overlooks(self._plan(i)) for i in range(len(self._candidates)))
        return "ends with silent faults in the model" if finding else None

    def _certified(
        self, aim: Aim, barred: list[str | None], bounds: tuple[Bound, ...] | None = None
    ) -> Advice:
        """The answer under an aim; `barred`: why a candidate can't be chosen, or None.

        `bounds`: those that are to be judged, by default all of the aim.
        """
        self._aim, self._barred = aim, barred
        self._judged = aim if bounds is None else replace(aim, bounds=bounds)
        can_fail = self._trials.scenario.failure_model.mtbf_s < math.inf
        certify(
            lambda places, replications: self._sample(places, replications, can_fail),
            len(self._candidates),
            self._judged.bounds,
            confidence=aim.confidence,
            within=aim.within,
            first=self._first_look,
            most=self._most,
            go_on=self._may_go_on,
            tell=self._told,
            known=[False if why else None for why in barred],
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
                f"the formula expects an overhead of {rough_percent(found)} or more: not simulated"
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
        new = [i for i in places if replications.start not in self._played[i]]
        if new:
            played = self._trials.play([self._policy(i) for i in new], replications)
            for i, each in zip(new, played, strict=True):
                self._played[i][replications.start] = each
        found = [self._played[i][replications.start] for i in places]
        return PairedSample(
            np.array([each.objective for each in found]),
            np.array(
                [
                    self._bounded(i, each, self._judged)
                    for i, each in zip(places, found, strict=True)
                ]
            ),
            np.array([each.failures for each in found]),
            can_fail,
            np.array([self._trials.loses_nothing(self._policy(i)) for i in places]),
            np.array([self._unmet(i) for i in places]),
        )

    def _bounded(self, place: int, played: Trial, aim: Aim) -> NDArray[np.float64]:
        """What is bounded of each replication, shape (bounds, replications)."""
        system = self._candidates[place].system
        return aim.bounded(self._trials.scenario, system, played.measures)

    def _blocks(self, place: int) -> list[Trial]:
        """What was played of a candidate, in order."""
        return [each for _, each in sorted(self._played[place].items())]

    def _unmet(self, place: int) -> float:
        """What a loss may take back that no replication met, as a share of the useful time."""
        return min(self._plan(place).unmet_s / self._trials.scenario.job.useful_time_s, 1.0)

    def _lacks(self, place: int) -> float:
        """What the mean may lack for a loss that none of its replications met, with 95 %."""
        lost = np.concatenate([each.causes["lost"] for each in self._blocks(place)])
        return allowance(lost, self._unmet(place))

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
        kept = tuple(certificate.kept[i] for i in order)
        advice = Advice(
            trials.scenario,
            self._aim,
            trials.seed,
            tuple(found[i] for i in order),
            tuple(self._refused),
            replace(certificate.renumbered(place), kept=kept),
            self._decision,
            {} if best is None or rival is None else self._apart(best, rival.candidate),
            (),
        )
        return replace(advice, warnings=tuple(warnings(advice)))

    def _apart(self, best: int, other: int) -> dict[str, Mean]:
        """By cause, what another takes more than the best, on what both were played on."""
        both = list(zip(self._blocks(best), self._blocks(other), strict=False))
        apart = {
            cause: np.concatenate([more.causes[cause] - own.causes[cause] for own, more in both])
            for cause in OVERHEAD_CAUSES
        }
        apart["overhead"] = np.sum([*apart.values()], axis=0)
        return {name: Mean.of(values) for name, values in apart.items()}

    def _found(self, i: int, certificate: Certificate) -> Found:
        candidate, played, scenario = self._candidates[i], self._blocks(i), self._trials.scenario
        plan = self._plan(i)
        causes = {c: _mean([each.causes[c] for each in played]) for c in OVERHEAD_CAUSES}
        lacks = self._lacks(i)
        means = {
            name: _mean([each.measures[name] for each in played])
            for name in TOLD
            if name in played[0].measures
        }
        means |= {name: means[name].or_more(lacks) for name in IN_TIME}
        feasible = certificate.kept[i]
        bounded = np.concatenate([self._bounded(i, each, self._aim) for each in played], axis=1)
        why = None if feasible else self._barred[i] or _why(bounded, self._aim, feasible)
        return Found(
            candidate,
            plan,
            chosen(candidate, scenario),
            means,
            causes,
            _mean([each.objective for each in played]).or_more(lacks),
            expected(plan, scenario.context).overhead,
            feasible,
            why,
            sum(len(each.objective) for each in played),
            self._trials.loses_nothing(candidate.policy),
            _over(bounded, self._aim),
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


def _over(bounded: NDArray[np.float64], aim: Aim) -> float:
    """By how much the mean is over the bound that is broken most."""
    means = bounded.mean(axis=1)
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
    return f"no policy can be compared: {told}"


def _why(bounded: NDArray[np.float64], aim: Aim, feasible: bool | None) -> str:
    """Which bounds it breaks, or may."""
    said = []
    for row, bound in zip(bounded, aim.bounds, strict=True):
        mean = Mean.of(row)
        # Intervals of a certificate, which hold all together, are wider than these.
        if mean.high > bound.most_mean or (feasible is None and mean.mean > 0):
            verb = "is over" if feasible is False else "may be over"
            shown = f"{mean.mean:.3g} ({mean.low:.3g} to {mean.high:.3g})"
            if bound.measure == RESTARTS:
                said.append(
                    f"share of runs with over {bound.most:g} restarts: {shown}, {verb} 0.05"
                )
            elif bound.most_mean == bound.most:
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
    """With the candidate as the best that loses and takes least, of those that are equal."""
    best = certificate.best
    equal = {
        each.candidate: each
        for each in certificate.rivals
        if each.high < certificate.within and certificate.kept[each.candidate]
    }
    if best is None or certificate.why is not None or not equal:
        return certificate

    def taken(place: int) -> tuple[float, ...]:
        each = found[place]
        own = each.candidate.origin is not None and not each.candidate.tuned
        lost, machines = (each.measures[name].mean for name in (LOST, "machine_overhead"))
        return (lost, each.plan.memory_overhead, not own, machines)

    chosen = min((best, *equal), key=taken)
    if chosen == best:
        return certificate
    gentler = _with_best(certificate, equal[chosen])
    # Intervals beside another candidate are wider: not to say less than is known.
    return gentler if len(gentler.tied) <= max(len(certificate.tied), 1) else certificate


def _with_best(certificate: Certificate, chosen: Rival) -> Certificate:
    """The same certificate beside another candidate, by differences of its intervals."""
    assert certificate.best is not None
    ends = (-chosen.margin, -chosen.high, -chosen.low)
    rivals = [Rival(certificate.best, *ends, "same" if chosen.standing == "same" else "tied")]
    for each in certificate.rivals:
        if each is not chosen:
            low, high = each.low - chosen.high, each.high - chosen.low
            standing: Standing = "worse" if low > 0 else "tied"
            if chosen.standing == "same":
                standing = each.standing
            rivals.append(Rival(each.candidate, each.margin - chosen.margin, low, high, standing))
    rivals.sort(key=lambda each: each.margin)
    return replace(certificate, best=chosen.candidate, rivals=tuple(rivals))
