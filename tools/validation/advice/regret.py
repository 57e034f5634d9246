"""Picks of `advise` compared with the best by brute force, and whether certificates are right.

Run `python -m tools.validation.advice.regret` to write the outcome of every question to `TABLE`;
two quiet cores take over an hour. With a number it takes only so many questions, from the first
on. Questions with an outcome in the table are left out: remove the table to repeat them all.
"""

import math
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import pandas as pd

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.candidates import value_of
from cprsim.advice.trials import Trials
from cprsim.basics.files import write_all
from cprsim.contract import Policy
from cprsim.runs.selection.certificate import WITHIN
from cprsim.runs.selection.intervals import ROUNDING
from tools.validation.advice.brute import Truth, best, count, played, truth
from tools.validation.advice.jobs import JOBS, Question, question

TABLE: Final = Path(__file__).with_name("regret.csv")
#: Of brute force, and the first of the advisor's: no timeline is met by both.
_SEED: Final = 1_000_003
#: Beyond so many standard errors a difference counts.
SURE: Final = 2.0
#: Candidates of the advice that are worse than the pick, by more than this share and three standard
#: errors after a few replications (as many as take so long, s, fewest and most), need no more; of
#: the others the best few are played on.
_FAR, _FIRST, _RIVALS = 0.001, (0.1, 256, 4096), 4


_AS_TEXT: Final[Any] = {"float_format": "%.6g", "na_rep": "nan"}


@dataclass(frozen=True)
class Outcome:
    """One question. What is to be least is in percent of the useful time, as are regrets.

    `wrong`: how the certificate is, empty where it holds. `broken`: whether the pick is over a
    bound; `regret_se`: the standard error of the regret; `candidates`: of the advice.
    """

    number: int
    objective: str
    bound: str
    candidates: int
    verdict: str
    picked: str
    picked_at: float
    best: str
    best_at: float
    regret: float
    regret_se: float
    broken: bool
    wrong: str
    better: str
    replications: int
    seconds: float


def ask(number: int) -> Outcome:
    """Compare the advice on one question with brute force."""
    asked = question(number)
    began = time.perf_counter()
    advice = advise(
        asked.scenario,
        asked.objective,
        systems=asked.systems,
        seed=number,
        max_interval=None,  # the grid of brute force knows no limit
        **asked.bounds,  # type: ignore[arg-type]
    )
    seconds = time.perf_counter() - began
    trials = Trials(asked.scenario, advice.criteria, _SEED + number)
    return _compared(asked, advice, trials, seconds)


def _compared(asked: Question, advice: Advice, trials: Trials, seconds: float) -> Outcome:
    pick = None if advice.best is None else advice.best.candidate.policy
    rivals = _rivals(advice, trials)
    brute = best(trials, asked.systems)
    policies = ([] if pick is None else [pick]) + rivals + brute
    found = {each.policy.model_dump_json(): each for each in truth(trials, _each_once(policies))}
    of = [found[each.model_dump_json()] for each in policies]
    picked = of[0] if pick is not None else None
    its, others = (
        of[1 if pick is not None else 0 :][: len(rivals)],
        of[len(policies) - len(brute) :],
    )
    able = [each for each in (*others, *its) if each.keeps(trials)]
    least = min(able, key=lambda each: each.mean, default=None)
    wrong, better = _verdict_of(advice, picked, its, trials)
    regret, error = _regret(picked, least)
    return Outcome(
        asked.number,
        asked.objective,
        ", ".join(f"{each.measure} {each.most:g}" for each in advice.criteria.bounds),
        len(advice.found),
        advice.verdict,
        _told(picked, trials),
        math.nan if picked is None else 100 * picked.mean,
        _told(least, trials),
        math.nan if least is None else 100 * least.mean,
        100 * regret,
        100 * error,
        picked is not None and not picked.keeps(trials, SURE),
        wrong,
        better,
        len(of[0].objective) if of else 0,
        seconds,
    )


def _regret(picked: Truth | None, least: Truth | None) -> tuple[float, float]:
    """Return the cost of the pick over the best; 0 where no policy is within the bounds."""
    if picked is None:
        return (0.0, 0.0) if least is None else (math.inf, 0.0)
    if least is None:
        return 0.0, 0.0
    return least.less(picked)


def _verdict_of(
    advice: Advice, picked: Truth | None, its: Iterable[Truth], trials: Trials
) -> tuple[str, str]:
    """Return how a certificate is wrong, if it is, and the policy that shows it."""
    if picked is None or advice.verdict == "undecided":
        return "", ""
    if not picked.keeps(trials, SURE):
        return "breaks a bound", ""
    within = WITHIN if advice.verdict == "tied" else 0.0
    for each in its:
        less, error = each.less(picked)
        if each.keeps(trials) and less > within + SURE * error + ROUNDING:
            return f"{advice.verdict}, but another is better", _told(each, trials)
    return "", ""


def _rivals(advice: Advice, trials: Trials) -> list[Policy]:
    """Candidates of the advice that may be as good as its pick."""
    if advice.best is None:
        return []
    policies = _each_once([each.candidate.policy for each in (advice.best, *advice.found)])
    policies = [each for each in policies if trials.plan(each) is not None]
    picked, *others = played(trials, policies, range(count(trials, policies, *_FIRST)))
    kept = []
    for each in others:
        less, error = each.less(picked)
        if less > -3 * error - _FAR and each.keeps(trials, 3):
            kept.append((less, each.policy))
    return [policy for _, policy in sorted(kept, key=lambda each: -each[0])[:_RIVALS]]


def _each_once(policies: Iterable[Policy]) -> list[Policy]:
    return list({each.model_dump_json(): each for each in policies}.values())


def _told(each: Truth | None, trials: Trials) -> str:
    """A policy by its system and what may be chosen of it."""
    if each is None:
        return "none"
    settings = each.policy.settings(trials.scenario.context)
    values = ((setting.key, value_of(each.policy, setting.key)) for setting in settings)
    return " ".join([each.policy.system, *(f"{key}={value}" for key, value in values)])


def table(found: Iterable[Outcome]) -> pd.DataFrame:
    """A row a question."""
    return pd.DataFrame([asdict(each) for each in found])


def read() -> pd.DataFrame:
    """Return the outcomes in `TABLE`, in the order of the questions."""
    kept: Any = pd.read_csv(TABLE, keep_default_na=False, na_values=["nan"])
    return kept


def write(count: int = JOBS, workers: int = 2) -> None:
    """Ask the first questions that the table has no answer to, and add each answer as it comes."""
    kept = [read()] if TABLE.exists() else []
    known = {int(each) for rows in kept for each in rows["number"]}
    left = [number for number in range(count) if number not in known]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for each in as_completed([pool.submit(ask, number) for number in left]):
            if each.exception() is not None:
                pool.shutdown(cancel_futures=True)  # so that this failure ends the program
            kept.append(table([each.result()]))
            text = pd.concat(kept).sort_values("number").to_csv(index=False, **_AS_TEXT)
            write_all(TABLE.parent, {TABLE.name: text.encode()})


if __name__ == "__main__":
    write(*map(int, sys.argv[1:]))
