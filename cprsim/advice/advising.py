"""`cprsim.advise`: gather candidates, search their settings, and certify the best."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cprsim.advice.advice import SHOWN, Advice, Found
from cprsim.advice.candidates import Candidate, Refused, asked, chosen
from cprsim.advice.criteria import LOST, MAX_INTERVAL, Criteria, Share, criteria_of
from cprsim.advice.decision import Decision, Quality, decide
from cprsim.advice.search import Incumbent, able, at_target, search
from cprsim.advice.trials import NODE_S, FleetTrials, Trial, Trials
from cprsim.advice.warning import warnings
from cprsim.basics.units import rough_percent
from cprsim.contract import Plan
from cprsim.contract.expected import expected
from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import ScenarioError, UsageError
from cprsim.runs.engines import waits
from cprsim.runs.fleet import Fleet, load_job
from cprsim.runs.memory import model_fault
from cprsim.runs.runner import check_whole
from cprsim.runs.selection.bounds import RESTARTS, Bound
from cprsim.runs.selection.certificate import Certificate, certify
from cprsim.runs.selection.samples import PairedSample
from cprsim.runs.summaries import IN_TIME, Mean, allowance, ratio_of_sums
from cprsim.scenario import Scenario

#: Called with progress: the step, how much of it is done, of how much; the answer so far, if any.
Tell = Callable[[str, int, int, Advice | Incumbent | None], None]
_STUCK = "makes no progress under so many failures"
#: Seconds that a look may take, about, on one core; the same of the first, and its most
#: replications.
_LOOK_S, _FIRST_S, _MOST_FIRST = 3.0, 0.5, 2048


def advise(
    scenario: Scenario | Fleet | str | Path,
    objective: str = "time",
    *,
    max_pls: Share = None,
    max_updates_lost: Share = None,
    max_learning_lost: Share = None,
    max_learning_lost_p95: Share = None,
    max_auc_drop: float | None = None,
    max_restarts: int | None = None,
    max_memory: Share = None,
    max_spares: int | None = None,
    deployable: bool = False,
    max_interval: str | float | None = MAX_INTERVAL,
    systems: Sequence[str] | None = None,
    sure: float = 0.95,
    within: float = 0.001,
    target_pls: float | None = None,
    quality: Quality = "pls",
    seed: int = 0,
    tell: Tell | None = None,
) -> Advice:
    """Find the best policy for a job among all systems and their settings, and how sure that is.

    Candidates are the scenario's policies as they are, each of them with its best settings, and
    every other system with its best settings. All meet the same failures; settings are searched on
    other failures than the certificate's.

    Without a limit on lost learning there are two answers: the best policy that loses none, and, as
    `Advice.allowing`, the best that loses no more than a mean learning lost of 1 %.

    Parameters
    ----------
    scenario
        The job, its file, or the name of a shipped scenario; it needs no policies. Or a fleet:
        systems are tried with their own rules and defaults, as no setting fits all its
        jobs, and the objective is its mean over them.
    objective
        What to minimise: `"time"`, the overhead; `"machine-time"`, with machines kept ready;
        `"cost"`, by the scenario's prices; `"retrained"`, time with every lost update trained
        again.
    max_pls, max_updates_lost, max_learning_lost, max_auc_drop
        Upper limits on means, shares from 0 to 1 or percentages such as `"2%"`.
    max_learning_lost_p95
        Upper limit on the 95th percentile over runs of the learning lost.
    max_restarts
        Restarts that the launcher allows: 95 % of all runs may need no more, one a failure.
    max_memory
        Extra memory allowed, as a share of that of the rows.
    max_spares
        Number of spare machines allowed.
    deployable
        Whether only policies are considered that common trainers carry out: loops with checkpoints,
        blocking or in the background (PyTorch's DCP), and loops with this project's hooks, TorchRec
        among them, which can keep healthy shards. Others need a trainer of one's own.
    max_interval
        The longest time between saves of everything, `"1 d"` or seconds; None or `"never"` for no
        limit. Without a limit the optimum is often never to save, as no model knows bad data, bugs,
        eviction and the publishing of models. Not for fleets.
    systems
        Names of the systems to compare; all by default.
    sure, within
        The certificate: its confidence, and the difference, as a share of the useful time (for
        `"cost"` of what that costs), that doesn't matter.
    target_pls, quality
        The share of learning that may be lost, and how it is counted, as of `decide`.
    seed
        Seed of all random streams.
    tell
        Called with the progress.

    Returns
    -------
    Advice
        All candidates, the best of them, and how sure that is.

    Raises
    ------
    UsageError
        For arguments that make no sense, and if no system can be tried.
    ScenarioError
        If the scenario lacks a cost that everybody needs, or the model exceeds the cluster's
        memory under any policy.

    Examples
    --------
    >>> advice = cprsim.advise("quickstart", systems=["full", "partial"], max_pls="10%")
    >>> advice.verdict, advice.best.name
    ('best', 'partial')
    """
    check_whole("seed", seed, 0)
    if isinstance(scenario, str | Path):
        scenario = load_job(scenario)
    fleet = scenario if isinstance(scenario, Fleet) else None
    if fleet and max_interval != MAX_INTERVAL:
        raise UsageError("max_interval: is not for a fleet, whose jobs save by rules; leave it out")
    job = scenario.example if isinstance(scenario, Fleet) else scenario
    too_large = model_fault(job.cost_model)
    if too_large is not None:
        raise ScenarioError(
            f"cluster: the model {too_large}, so no policy fits; use more machines, or larger ones"
        )
    criteria = criteria_of(
        job,
        objective,
        max_pls=max_pls,
        max_updates_lost=max_updates_lost,
        max_learning_lost=max_learning_lost,
        max_learning_lost_p95=max_learning_lost_p95,
        max_auc_drop=max_auc_drop,
        max_restarts=max_restarts,
        max_memory=max_memory,
        max_spares=max_spares,
        deployable=deployable,
        max_interval=None if fleet else max_interval,
        sure=sure,
        within=within,
        target_pls=target_pls,
        quality=quality,
    )
    decision = None
    with suppress(UsageError, ScenarioError):  # it has none
        decision = decide(job, target_pls, quality)
    trials = FleetTrials(fleet, criteria, seed) if fleet else Trials(job, criteria, seed)
    return _Advisor(trials, tell or (lambda *_: None), decision).answer(systems)


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


class _Advisor:
    """Candidates of one job, or of the jobs of a fleet; their settings, and their trials."""

    def __init__(self, trials: Trials, tell: Tell, decision: Decision | None) -> None:
        self._trials, self._tell, self._decision = trials, tell, decision
        self._entrants: list[_Entrant] = []
        self._refused: list[Refused] = []

    def answer(self, systems: Sequence[str] | None) -> Advice:
        """Return the advice, once all is certain that can be.

        Where the question says nothing of lost learning, of the policies that lose none, with a
        second answer that may lose as much as the bounds allow.
        """
        criteria, useful_s = self._trials.criteria, self._trials.scenario.job.useful_time_s
        self._gather(systems)
        if not self._entrants:
            why = "; ".join(f"{each.name} {each.why}" for each in self._refused)
            raise UsageError(f"no policy can be compared: {why}")
        rare = [criteria.too_rare(e.plan, useful_s) or self._overlooks(e) for e in self._entrants]
        barred = [
            why or (None if each.lossless else "loses learning")
            for why, each in zip(rare, self._entrants, strict=True)
        ]
        if not criteria.assumed or None not in barred:
            return self._certified(criteria, rare, criteria.bounds)
        none = replace(criteria, bounds=(Bound(LOST, 0.0), *criteria.asked))
        # That no learning is lost isn't open: all others are barred.
        lossless = self._certified(none, barred, criteria.asked)
        if barred == rare:
            return lossless
        return replace(lossless, allowing=self._certified(criteria, rare, criteria.bounds))

    def _overlooks(self, entrant: _Entrant) -> str | None:
        """Why a policy that leaves silent faults in the model can't be chosen, if others don't."""
        overlooks = self._trials.scenario.context.overlooks_faults
        if not overlooks(entrant.plan) or all(overlooks(each.plan) for each in self._entrants):
            return None
        return "ends with silent faults in the model"

    def _certified(
        self, criteria: Criteria, barred: Sequence[str | None], judged: tuple[Bound, ...]
    ) -> Advice:
        """The answer by these criteria; `barred`: why a candidate can't be chosen, or None.

        `judged`: the bounds that are open.
        """
        trials, left = self._trials, list[_Entrant]()

        def play(places: Sequence[int], count: int) -> PairedSample:
            left[:] = [self._entrants[place] for place in places]
            return self._sample(left, count, replace(criteria, bounds=judged))

        policies = [each.candidate.policy for each in self._entrants]
        for certificate in certify(
            play,
            len(policies),
            judged,
            confidence=criteria.confidence,
            within=criteria.within,
            first=trials.fit(policies, _FIRST_S, min(_MOST_FIRST, trials.most)),
            most=trials.most,
            known=[False if why else None for why in barred],
        ):
            advice = self._advice(certificate, criteria, barred)
            self._tell("comparing", certificate.replications, trials.most, advice)
            more = min(2 * certificate.replications, trials.most)
            if more / 2 * trials.seconds(each.candidate.policy for each in left) >= _LOOK_S:
                break
        return advice

    def _gather(self, systems: Sequence[str] | None) -> None:
        """Collect who takes part, with which settings, and who can't."""
        trials = self._trials
        given, searched, self._refused = asked(trials.scenario, systems)
        if trials.of_fleet:  # by rules: no one interval fits all its jobs
            given += [
                replace(e, policy=at_target(e.policy, trials.criteria), tuned=False)
                for e in searched
                if e.origin is None
            ]
            for number, each in enumerate(given):
                self._tell("planning jobs", number, len(given), None)
                self._enter(each)
            return
        for each in given:
            self._enter(each)
        if waits("batch"):
            self._tell("compiling, once", 0, 1, None)
        self._tell("searching settings", 0, len(searched), None)
        searched = [each for each in searched if not self._is_hopeless(each)]
        for each in search(searched, trials, lambda *so: self._tell("searching settings", *so)):
            if not self._is_known(each):
                self._enter(each)

    def _is_hopeless(self, candidate: Candidate) -> bool:
        """Return whether it is too dear, or too stuck, to be searched, and note why."""
        trials, why = self._trials, None
        start, _ = able(at_target(candidate.policy, trials.criteria), trials)
        plan = trials.plan(start)
        if plan is None:
            return False
        if candidate.origin is None and trials.is_hopeless(start):
            found = rough_percent(expected(plan, trials.scenario.context).overhead)
            why = f"the formula expects an overhead of {found} or more: not simulated"
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
            other = policy if plan is None else None
            self._refused.append(Refused(candidate.name, candidate.system, why_not or "", other))
            return
        unmet = min(plan.unmet_s / trials.scenario.job.useful_time_s, 1.0)
        self._entrants.append(_Entrant(candidate, plan, trials.loses_nothing(policy), unmet))

    def _is_known(self, candidate: Candidate) -> bool:
        """Return whether the search found a policy that takes part, or the one it began with."""
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

    def _sample(self, entrants: Sequence[_Entrant], count: int, criteria: Criteria) -> PairedSample:
        """So many replications of some candidates, of which those are played that weren't yet."""
        for start in {each.count for each in entrants if each.count < count}:
            new = [each for each in entrants if each.count == start]
            policies = [each.candidate.policy for each in new]
            played = self._trials.play(policies, range(start, count))
            for each, more in zip(new, played, strict=True):
                each.played = more if each.played is None else each.played.followed_by(more)
        return PairedSample(
            np.array([each.trial.objective[:count] for each in entrants]),
            np.array([self._bounded(each, criteria)[:, :count] for each in entrants]),
            np.array([each.trial.measures["failures"][:count] for each in entrants]),
            self._trials.scenario.failure_model.mtbf_s < math.inf,
            np.array([each.lossless for each in entrants]),
            np.array([each.unmet for each in entrants]),
        )

    def _bounded(self, entrant: _Entrant, criteria: Criteria) -> NDArray[np.float64]:
        """Return the bounded measures of each replication, shape (bounds, replications)."""
        system = entrant.candidate.system
        return criteria.bounded(self._trials.scenario, system, entrant.trial.measures)

    def _advice(
        self, certificate: Certificate, criteria: Criteria, barred: Sequence[str | None]
    ) -> Advice:
        trials = self._trials
        found = [
            self._found(entrant, kept, criteria, why)
            for entrant, kept, why in zip(self._entrants, certificate.kept, barred, strict=True)
        ]
        certificate = _gentlest(certificate, found)
        # The lowest first, those that break a bound after the others.
        order = sorted(
            range(len(found)), key=lambda i: (found[i].feasible is False, found[i].objective.mean)
        )
        kept = tuple(certificate.kept[i] for i in order)
        advice = Advice(
            trials.scenario,
            criteria,
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
        self, entrant: _Entrant, feasible: bool | None, criteria: Criteria, barred: str | None
    ) -> Found:
        played, scenario = entrant.trial, self._trials.scenario
        lacks = allowance(played.causes["lost"], entrant.unmet)
        means = {name: Mean.of(played.measures[name]) for name in SHOWN if name in played.measures}
        means |= {name: means[name].or_more(lacks) for name in IN_TIME}
        bounded = list(zip(self._bounded(entrant, criteria), criteria.bounds, strict=True))
        weight, in_sum = played.measures.get(NODE_S), None
        if weight is not None:  # as in `FleetResult.summary`
            machine_s = played.measures["machine_overhead"] * weight
            in_sum = Mean.around(*ratio_of_sums(machine_s, weight))
        why = "; ".join(filter(None, (_why(Mean.of(row), b, feasible) for row, b in bounded)))
        return Found(
            entrant.candidate,
            entrant.plan,
            chosen(entrant.candidate, scenario),
            means,
            {cause: Mean.of(played.causes[cause]) for cause in OVERHEAD_CAUSES},
            Mean.of(played.objective).or_more(lacks),
            expected(entrant.plan, scenario.context).overhead,
            feasible,
            None if feasible else barred or why,
            played.count,
            entrant.lossless,
            max((float(row.mean()) - b.most_mean for row, b in bounded), default=-math.inf),
            in_sum,
            lacks,
        )


def _why(mean: Mean, bound: Bound, feasible: bool | None) -> str:
    """Return how a candidate breaks a bound, or may; empty where it doesn't."""
    # Intervals of a certificate, which hold all together, are wider than these.
    if not (mean.high > bound.most_mean or (feasible is None and mean.mean > 0)):
        return ""
    verb = "is over" if feasible is False else "may be over"
    shown = f"{mean.mean:.3g} ({mean.low:.3g} to {mean.high:.3g})"
    measure, most = bound.measure.removesuffix("_p95"), f"{bound.most:g}"
    if bound.most_mean == bound.most:
        return f"{measure} {shown} {verb} {most}"
    over = f"over {most} restarts" if bound.measure == RESTARTS else f"{measure} over {most}"
    return f"share of runs with {over}: {shown}, {verb} 0.05"


def _gentlest(certificate: Certificate, found: Sequence[Found]) -> Certificate:
    """Choose, of the candidates that are equal to the best, the one that loses and takes least."""
    best = certificate.best
    equal = {
        each.candidate: each
        for each in certificate.rivals
        if each.high < certificate.within and certificate.kept[each.candidate]
    }
    if best is None or certificate.why is not None or not equal:
        return certificate

    def key(place: int) -> tuple[Any, ...]:
        each = found[place]
        lost, machines = (each.measures[name].mean for name in (LOST, "machine_overhead"))
        return (lost, each.plan.memory_overhead, not each.candidate.given, machines)

    chosen = min((best, *equal), key=key)
    if chosen == best:
        return certificate
    gentler = certificate.against(equal[chosen])
    # Intervals against another candidate are wider: not to say less than is known.
    return gentler if len(gentler.tied) <= max(len(certificate.tied), 1) else certificate
