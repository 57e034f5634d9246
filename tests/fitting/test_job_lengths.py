"""For jobs of which length a law tells how far their numbers of failures differ."""

import math

import numpy as np
import pytest

import cprsim
from cprsim.basics import units
from cprsim.basics.distributions import Distribution
from cprsim.failures.logs.log import FailureLog
from cprsim.fitting.block import law_keys
from cprsim.fitting.job_lengths import GAPS, job_lengths, length_notes

HOUR = 3600.0


def law(**keys: object) -> Distribution:
    return Distribution.model_validate({"distribution": "exponential", "mean": "10 h"} | keys)


def test_counts_of_a_poisson_process_differ_by_the_root_of_their_mean() -> None:
    """Between what a job meets if failures are independent, and what a log of so many shows.

    A log of n failures is cut into jobs of its own mean gaps, so that of two counts that make up
    the log one is the other's complement: the variance is less by the share of the job in the log.
    """
    gaps_s = np.random.default_rng(3).exponential(10 * HOUR, 6000)
    found = job_lengths(gaps_s, law())
    assert found.gaps.tolist() == list(GAPS)
    for each in found.itertuples():
        wanted = math.sqrt(each.gaps * (1 - each.gaps / len(gaps_s)))
        assert each.law_sd == pytest.approx(wanted, abs=3 * each.by_chance / math.sqrt(100) + 0.02)
        assert each.length_s == pytest.approx(each.gaps * gaps_s.mean())
        assert each.agrees


@pytest.mark.slow
def test_wear_out_and_early_failures_are_told_from_the_law() -> None:
    """Of renewals the variance of a long count is cv² times its mean (D. R. Cox, 1962, 4.5)."""
    for shape in (0.5, 2.0):
        drawn = law(distribution="gamma", shape=shape)
        gaps_s = drawn.sample(np.random.default_rng(4), 6000)
        own, other = (job_lengths(gaps_s, each).iloc[-1] for each in (drawn, law()))
        assert own.agrees
        assert own.law_sd == pytest.approx(math.sqrt(60 / shape), rel=0.1)
        assert not other.agrees
        assert (other.log_sd > other.law_sd) == (shape < 1)


def in_spells(rng: np.random.Generator, count: int) -> np.ndarray:
    """Gaps that are exponential, ten times as long in every second month of a hundred gaps."""
    scale = np.where(np.arange(count) // 100 % 2, 10.0, 1.0)
    return rng.exponential(HOUR, count) * scale


def test_spells_are_found_that_no_law_of_single_gaps_has() -> None:
    gaps_s = in_spells(np.random.default_rng(5), 2000)
    log = FailureLog(
        np.cumsum(gaps_s), np.zeros(2000, np.int64), 0.0, float(gaps_s.sum()), of_nodes=False
    )
    fitted = cprsim.fit(log)
    assert fitted.job_lengths.agrees.tolist() == [False] * 3
    longest = fitted.job_lengths.iloc[-1]
    assert longest.log_sd > 3 * longest.law_sd
    assert any(note.startswith("Jobs of ") and "differ more" in note for note in fitted.notes)
    told = fitted.document()["job_lengths"]
    assert [each["gaps"] for each in told] == list(GAPS)
    assert told[0]["agrees"] is False


@pytest.mark.slow
def test_one_false_alarm_in_many_logs() -> None:
    """At three standard deviations; of 90 comparisons of a law with its own logs, 3 at most."""
    alarms = 0
    for seed in range(30):
        gaps_s = np.random.default_rng(seed).exponential(HOUR, 400)
        alarms += (~job_lengths(gaps_s, law()).agrees).sum()
    assert alarms <= 3


def test_a_log_tells_of_jobs_that_are_short_beside_it() -> None:
    gaps_s = np.random.default_rng(1).exponential(HOUR, 24)
    found = job_lengths(gaps_s, law())
    assert found.gaps.tolist() == [2, 6]
    assert job_lengths(gaps_s[:7], law()).empty
    assert length_notes(job_lengths(gaps_s[:7], law()), "gamma") == []
    (note,) = length_notes(found[:1], "gamma")
    assert note.startswith("Jobs of ")
    assert "(2 mean gaps) differ in their number of failures as under the gamma law" in note


@pytest.mark.parametrize(("seed", "told"), [(1, "7.8 % too many"), (4, "5 % too few"), (2, "")])
def test_a_mean_that_is_not_the_logs_is_told(seed: int, told: str) -> None:
    """By how many failures a job meets more or less; nothing where the two are near."""
    gaps_s = np.exp(np.random.default_rng(seed).normal(0, 1.35, 300)) * HOUR
    log = FailureLog(
        np.cumsum(gaps_s), np.zeros(300, np.int64), 0.0, float(gaps_s.sum()), of_nodes=False
    )
    fitted = cprsim.fit(log)
    notes = [note for note in fitted.notes if note.startswith("The mean of the ")]
    assert len(notes) == bool(told)
    assert all(f"a job would meet {told} failures" in note for note in notes)
    mean_s = fitted.view.sample.mtbf_s if told else fitted.law.expected_s
    assert units.parse_duration(law_keys(fitted)["mean"]) == pytest.approx(mean_s, rel=1e-5)
