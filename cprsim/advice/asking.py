"""One question, from who is asked to the certificate."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.advice import TOLD, Advice, Found
from cprsim.advice.aims import LOST, Aim
from cprsim.advice.candidates import Candidate, Refused, asked, chosen
from cprsim.advice.search import Leading, able, at_target, search
from cprsim.advice.trials import NODE_S, Trial, Trials
from cprsim.advice.warning import warnings
from cprsim.basics.units import rough_percent
from cprsim.contract import Plan
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.estimates.decision import Decision
from cprsim.formulas.expected import expected
from cprsim.runs.engines import waits
from cprsim.runs.mean import Mean
from cprsim.runs.summaries import ratio_of_sums
from cprsim.runs.unmet import IN_TIME, allowance
from cprsim.selection.bounds import RESTARTS, Bound
from cprsim.selection.certificate import Certificate, PairedSample, Rival, Standing
from cprsim.selection.sequential import certify

#: Told of how far it is: what is done, how much of it, of how much; and what is known, if anything.
Tell = Callable[[str, int, int, Advice | Leading | None], None]
_STUCK = "makes no progress under so many failures"
#: What a look may take about, on one core, s.
_LOOK_S = 3.0
#: The same of the first, and how many replications it has at most.
_FIRST_S, _MOST_FIRST = 0.5, 2048


@dataclass
class _Entrant:
    """A candidate that takes part, and what was played of it.

    `lossless`: no failure takes any learning for good. `unmet`: what a loss may take back that no
    replication met, as a share of the useful time.
    """

    candidate: Candidate
    plan: Plan
    lossless: bool
    unmet: float
    played: Trial | None = None

    @property
    def count(self) -> int:
        """Replications so far."""
        return 0 if self.played is None else self.played.count

    @property
    def trial(self) -> Trial:
        """All replications so far."""
        assert self.played is not None
        return self.played


class Asking:
    """Candidates of one job, or of the jobs of a fleet; their settings, and their trials."""

    def __init__(self, trials: Trials, tell: Tell, decision: Decision | None) -> None:
        self._trials, self._tell, self._decision = trials, tell, decision
        self._entrants: list[_Entrant] = []
        self._refused: list[Refused] = []
        self._left: Sequence[int] = ()

    def answer(self, systems: Sequence[str] | None) -> Advice:
        """The advice, once all is certain that can be.

        Where the question says nothing of lost learning, of the policies that lose none, with a
        second answer that may lose as much as the bounds allow.
        """
        aim, useful_s = self._trials.aim, self._trials.scenario.job.useful_time_s
        self._gather(systems)
        if not self._entrants:
            told = "; ".join(f"{each.name} {each.why}" for each in self._refused)
            raise UsageError(f"no policy can be compared: {told}")
        rare = [aim.too_rare(e.plan, useful_s) or self._overlooks(e) for e in self._entrants]
        barred = [
            why or (None if each.lossless else "loses learning")
            for why, each in zip(rare, self._entrants, strict=True)
        ]
        if not aim.assumed or None not in barred:
            return self._certified(aim, rare, aim.bounds)
        none = replace(aim, bounds=(Bound(LOST, 0.0), *aim.asked))
        # That no learning is lost isn't open: all others are barred.
        lossless = self._certified(none, barred, aim.asked)
        if barred == rare:
            return lossless
        return replace(lossless, allowing=self._certified(aim, rare, aim.bounds))

    def _overlooks(self, entrant: _Entrant) -> str | None:
        """Why a policy that leaves silent faults in the model can't be chosen, if others don't."""
        overlooks = self._trials.scenario.context.overlooks_faults
        if not overlooks(entrant.plan) or all(overlooks(each.plan) for each in self._entrants):
            return None
        return "ends with silent faults in the model"

    def _certified(
        self, aim: Aim, barred: Sequence[str | None], judged: tuple[Bound, ...]
    ) -> Advice:
        """The answer under an aim; `barred`: why a candidate can't be chosen, or None.

        `judged`: the bounds that are open.
        """
        advised: list[Advice] = []

        def told(certificate: Certificate) -> None:
            advised.append(self._advice(certificate, aim, barred))
            self._told(advised[-1], certificate.replications)

        trials = self._trials
        policies = [each.candidate.policy for each in self._entrants]
        certify(
            lambda places, count: self._sample(places, count, replace(aim, bounds=judged)),
            len(policies),
            judged,
            confidence=aim.confidence,
            within=aim.within,
            first=trials.fit(policies, _FIRST_S, min(_MOST_FIRST, trials.most)),
            most=trials.most,
            go_on=self._may_go_on,
            tell=told,
            known=[False if why else None for why in barred],
        )
        return advised[-1]

    def _told(self, advice: Advice, replications: int) -> None:
        self._tell("comparing", replications, self._trials.most, advice)

    def _may_go_on(self, replications: int) -> bool:
        """Whether that many more don't take too long."""
        left = (self._entrants[place].candidate.policy for place in self._left)
        return replications / 2 * self._trials.seconds(left) < _LOOK_S

    def _gather(self, systems: Sequence[str] | None) -> None:
        """Who takes part, with which settings, and who can't."""
        trials = self._trials
        ask = asked(trials.scenario, systems)
        self._refused = list(ask.refused)
        if trials.of_fleet:  # by rules: no one interval fits all its jobs
            new = [each for each in ask.searched if each.origin is None]
            by_rule = [replace(e, policy=at_target(e.policy, trials.aim), tuned=False) for e in new]
            for number, each in enumerate((*ask.given, *by_rule)):
                self._tell("planning jobs", number, len(ask.given) + len(new), None)
                self._enter(each)
            return
        for each in ask.given:
            self._enter(each)
        if waits("batch"):
            self._tell("compiling, once", 0, 1, None)
        self._tell("searching settings", 0, len(ask.searched), None)
        searched = [each for each in ask.searched if not self._is_hopeless(each)]
        for each in search(searched, trials, lambda *told: self._tell("searching settings", *told)):
            if not self._is_known(each):
                self._enter(each)

    def _is_hopeless(self, candidate: Candidate) -> bool:
        """Whether it is too dear, or too stuck, to be searched, which is said."""
        trials, why = self._trials, None
        start, _ = able(at_target(candidate.policy, trials.aim), trials)
        plan = trials.plan(start)
        if plan is None:
            return False
        if candidate.origin is None and trials.is_hopeless(start):
            found = expected(plan, trials.scenario.context).overhead
            why = (
                f"the formula expects an overhead of {rough_percent(found)} or more: not simulated"
            )
        elif trials.gets_nowhere(start):
            why = _STUCK
        if why is not None and candidate.origin is None:
            self._refused.append(Refused(candidate.name, candidate.system, why))
        return why is not None

    def _enter(self, candidate: Candidate) -> None:
        trials, policy = self._trials, candidate.policy
        why_not = trials.why_not(policy)
        if why_not is None and trials.gets_nowhere(policy):
            why_not = _STUCK
        plan = trials.plan(policy)
        if why_not is not None or plan is None:
            self._refused.append(Refused(candidate.name, candidate.system, why_not or ""))
            return
        unmet = min(plan.unmet_s / trials.scenario.job.useful_time_s, 1.0)
        self._entrants.append(_Entrant(candidate, plan, trials.loses_nothing(policy), unmet))

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
            for each in (entrant.candidate for entrant in self._entrants)
        )

    def _sample(self, places: Sequence[int], count: int, aim: Aim) -> PairedSample:
        """So many replications of some candidates, of which those are played that weren't yet."""
        self._left = places
        entrants = [self._entrants[place] for place in places]
        for start in {each.count for each in entrants if each.count < count}:
            new = [each for each in entrants if each.count == start]
            policies = [each.candidate.policy for each in new]
            played = self._trials.play(policies, range(start, count))
            for each, more in zip(new, played, strict=True):
                each.played = more if each.played is None else each.played.followed_by(more)
        bounded = [self._bounded(each, aim)[:, :count] for each in entrants]
        return PairedSample(
            np.array([each.trial.objective[:count] for each in entrants]),
            np.array(bounded),
            np.array([each.trial.failures[:count] for each in entrants]),
            self._trials.scenario.failure_model.mtbf_s < math.inf,
            np.array([each.lossless for each in entrants]),
            np.array([each.unmet for each in entrants]),
        )

    def _bounded(self, entrant: _Entrant, aim: Aim) -> NDArray[np.float64]:
        """What is bounded of each replication, shape (bounds, replications)."""
        system = entrant.candidate.system
        return aim.bounded(self._trials.scenario, system, entrant.trial.measures)

    def _advice(self, certificate: Certificate, aim: Aim, barred: Sequence[str | None]) -> Advice:
        trials = self._trials
        found = [
            self._found(entrant, kept, aim, why)
            for entrant, kept, why in zip(self._entrants, certificate.kept, barred, strict=True)
        ]
        certificate = _gentlest(certificate, found)
        # The least first, those that break a bound after the others.
        order = sorted(
            range(len(found)), key=lambda i: (found[i].feasible is False, found[i].objective.mean)
        )
        kept = tuple(certificate.kept[i] for i in order)
        advice = Advice(
            trials.scenario,
            aim,
            trials.seed,
            tuple(found[i] for i in order),
            tuple(self._refused),
            replace(certificate.renumbered({i: n for n, i in enumerate(order)}), kept=kept),
            self._decision,
            dict(self._apart(certificate)),
            (),
        )
        return replace(advice, warnings=tuple(warnings(advice)))

    def _apart(self, certificate: Certificate) -> Iterator[tuple[str, Mean]]:
        """By cause, what the second takes more than the best, on what both were played on."""
        best, rival = certificate.best, certificate.runner_up
        if best is None or rival is None:
            return
        own, more = (self._entrants[place].trial for place in (best, rival.candidate))
        both = slice(min(own.count, more.count))
        apart = {c: more.causes[c][both] - own.causes[c][both] for c in OVERHEAD_CAUSES}
        apart["overhead"] = np.sum([*apart.values()], axis=0)
        for cause, values in apart.items():
            yield cause, Mean.of(values)

    def _found(
        self, entrant: _Entrant, feasible: bool | None, aim: Aim, barred: str | None
    ) -> Found:
        played, context = entrant.trial, self._trials.scenario.context
        lacks = allowance(played.causes["lost"], entrant.unmet)
        means = {name: Mean.of(played.measures[name]) for name in TOLD if name in played.measures}
        means |= {name: means[name].or_more(lacks) for name in IN_TIME}
        bounded = self._bounded(entrant, aim)
        return Found(
            entrant.candidate,
            entrant.plan,
            chosen(entrant.candidate, self._trials.scenario),
            means,
            {cause: Mean.of(played.causes[cause]) for cause in OVERHEAD_CAUSES},
            Mean.of(played.objective).or_more(lacks),
            expected(entrant.plan, context).overhead,
            feasible,
            None if feasible else barred or _why(bounded, aim, feasible),
            played.count,
            entrant.lossless,
            _over(bounded, aim),
            _in_sum(played),
            lacks,
        )


def _over(bounded: NDArray[np.float64], aim: Aim) -> float:
    """By how much the mean is over the bound that is broken most."""
    means = bounded.mean(axis=1)
    apart = (float(mean) - bound.most_mean for mean, bound in zip(means, aim.bounds, strict=True))
    return max(apart, default=-math.inf)


def _in_sum(played: Trial) -> Mean | None:
    """Machine time of all jobs together over the useful, - 1: as in `FleetResult.summary`."""
    weight = played.measures.get(NODE_S)
    if weight is None:
        return None
    return Mean.around(*ratio_of_sums(played.measures["machine_overhead"] * weight, weight))


def _why(bounded: NDArray[np.float64], aim: Aim, feasible: bool | None) -> str:
    """Which bounds it breaks, or may."""
    said = []
    for row, bound in zip(bounded, aim.bounds, strict=True):
        mean = Mean.of(row)
        # Intervals of a certificate, which hold all together, are wider than these.
        if mean.high > bound.most_mean or (feasible is None and mean.mean > 0):
            verb = "is over" if feasible is False else "may be over"
            shown = f"{mean.mean:.3g} ({mean.low:.3g} to {mean.high:.3g})"
            measure, most = bound.measure.removesuffix("_p95"), f"{bound.most:g}"
            if bound.most_mean == bound.most:
                said.append(f"{measure} {shown} {verb} {most}")
            else:
                over = (
                    f"over {most} restarts"
                    if bound.measure == RESTARTS
                    else f"{measure} over {most}"
                )
                said.append(f"share of runs with {over}: {shown}, {verb} 0.05")
    return "; ".join(said)


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
        lost, machines = (each.measures[name].mean for name in (LOST, "machine_overhead"))
        return (lost, each.plan.memory_overhead, not each.candidate.given, machines)

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
