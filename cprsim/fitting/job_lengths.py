"""Lengths of jobs for which a fitted law has the spread of their numbers of failures."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.basics.distributions import Distribution
from cprsim.basics.units import format_duration, listed

#: Lengths of jobs that are looked at, in mean gaps between failures.
GAPS: Final = (2, 6, 60)
_SURE: Final = 3.0  # standard deviations of simulated logs
_LONG: Final = 4.0  # jobs that a log is long at least, to know how far they differ
_STARTS: Final = 4  # jobs that are looked at, per job that the log is long
_SEED: Final = 0
_FEWEST, _MOST = 39, 199  # simulated logs
_DRAWS: Final = 1_000_000  # gaps of all of them, about


def job_lengths(gaps_s: NDArray[np.float64], law: Distribution) -> pd.DataFrame:
    """Compare jobs that meet the failures of a log with jobs that meet those of its law.

    `gaps_s`: times between failures in the order in which they came, seconds, shape (n,). `law`: of
    single gaps; gaps that follow it do not depend on each other. A row for each of `GAPS` that the
    log is long enough for: the length in mean `gaps`, which is its mean number of failures, and in
    seconds (`length_s`). `log_sd`, `law_sd`: standard deviation of the number of failures of a job,
    in the log, and in the mean of logs that are as long and follow the law; `by_chance`: that of
    the latter from one such log to another; `agrees`: whether chance explains how far the two are
    apart.
    """
    mean_s, count = float(gaps_s.mean()), len(gaps_s)
    told = [gaps for gaps in GAPS if count >= _LONG * gaps]
    if not told:
        return pd.DataFrame()
    rng = np.random.default_rng(_SEED)
    logs = min(max(_DRAWS // count, _FEWEST), _MOST)
    # A job is so many mean gaps of each log long: the mean of the law is not judged.
    drawn = np.array([_spreads(law.sample(rng, count), told) for _ in range(logs)]).T
    found = pd.DataFrame(
        {
            "gaps": told,
            "length_s": [gaps * mean_s for gaps in told],
            "log_sd": _spreads(gaps_s, told),
            "law_sd": [each.mean() for each in drawn],
            "by_chance": [each.std(ddof=1) for each in drawn],
        }
    )
    return found.assign(agrees=(found.log_sd - found.law_sd).abs() <= _SURE * found.by_chance)


def _spreads(gaps_s: NDArray[np.float64], lengths: Sequence[int]) -> list[float]:
    """Standard deviations of the number of failures of jobs of each length, in mean gaps.

    The jobs start at even times.
    """
    at_s, found = np.cumsum(gaps_s), list[float]()
    last_s = float(at_s[-1])
    for gaps in lengths:
        length_s = gaps * last_s / len(at_s)
        starts = math.ceil(_STARTS * len(at_s) / gaps)
        begin_s = np.linspace(0.0, last_s - length_s, starts)
        ends = np.searchsorted(at_s, np.stack([begin_s, begin_s + length_s]), side="right")
        found.append(float(np.std(ends[1] - ends[0])))
    return found


def length_notes(lengths: pd.DataFrame, law: str) -> list[str]:
    """Return for which jobs the law holds, a sentence each."""
    said, alike = list[str](), list[str]()
    for each in lengths.to_dict("records"):
        job = f"{format_duration(each['length_s'])} ({each['gaps']} mean gaps)"
        if each["agrees"]:
            alike.append(job)
            continue
        how = "more" if each["log_sd"] > each["law_sd"] else "less"
        said.append(
            f"Jobs of {job} differ {how} than under the {law} law: {each['gaps']} ± "
            f"{each['log_sd']:.2g} failures, by the law ± {each['law_sd']:.2g}."
        )
    if alike:
        said.insert(
            0,
            f"Jobs of {listed(alike)} differ in their number of failures as under the {law} law, "
            "as far as chance goes.",
        )
    return said
