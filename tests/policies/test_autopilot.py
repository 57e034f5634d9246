"""Autopilot: a plan that follows failures and saves, by hand; and beside one who knows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cprsim
from cprsim.contract.ledger import Ledger
from cprsim.failures.presets import PRESETS
from cprsim.formulas.intervals import young_interval_s
from cprsim.machine.schedules import mtbf_seen_s, partial_costs_less
from cprsim.sim.engine import play
from cprsim.testing import Recording
from tests.formulas.forms import full_overhead, partial_overhead
from tests.survival.cases import LANL, needs_lanl

HALVES = {"parameter_servers": 8, "trainers": 8}


def test_a_run_by_hand(tmp_path: Path) -> None:
    # A save takes 8 s, as believed, so sqrt(2 * 8 * 100) = 40 s of training come before the first,
    # which ends at 48 s: one failure believed in 148 s, so the next is due after sqrt(16 * 148) =
    # 48.66 s of training. The failure at 50 s takes the job back from 42 to 40 s. It goes on at
    # 62 s, with one failure believed and one seen in 162 s: sqrt(16 * 162 / 2) = 36 s to the next
    # save, at 98 s.
    ledger, saves = played(tmp_path, prior="100 s")
    assert saves == [(40.0, 48.0), (98.0, 106.0)]
    assert (ledger.lost, ledger.wall) == (2.0, 130.0)


def test_a_run_that_may_lose_by_hand(tmp_path: Path) -> None:
    # 0.8 of an MTBF between saves is what a PLS of 0.1 allows 4 servers, each of which takes 8 s:
    # 10 s in an MTBF. Full recovery takes sqrt(2 * 8 * 4) = 8 s in it at the prior, more than 8 s
    # later, so its first save comes at 8 s and partial recovery from 16 s on: 16 s of training to
    # the next save, and 0.8 (4 + 40) = 35.2 s to the one after it, 10 of which are done when the
    # failure at 50 s takes 10 + 2 s and none of the progress. Its shard loses them. 0.8 (4 + 95.2)
    # / 2 = 39.68 s after the third save is the fourth.
    ledger, saves = played(tmp_path, prior="4 s", target_pls=0.1)
    assert saves[:2] == [(8.0, 16.0), (32.0, 40.0)]
    assert saves[2:] == [pytest.approx((87.2, 95.2)), pytest.approx((134.88, 142.88))]
    assert (ledger.lost, ledger.failures) == (0.0, 1)
    assert ledger.pls == pytest.approx(10 / 100 / 4)


def played(folder: Path, **keys: Any) -> tuple[Ledger, list[tuple[float, float]]]:
    """A job of 100 s that fails after 50 s: its ledger, and when its saves start and end, s."""
    (folder / "log.csv").write_text("time_s,node\n50,0\n")
    scenario = cprsim.Scenario(
        job={"useful_time": "100 s"},
        cluster={"parameter_servers": 4},
        costs={"save": "8 s", "load": "2 s", "reschedule": "10 s"},
        failures={"trace": str(folder / "log.csv")},
        policies={"it": {"system": "autopilot"} | keys},
    )
    seen = Recording()
    ledger = play(scenario, "it", seed=0, replication=0, observer=seen)
    return ledger, [(start_s, end_s) for cause, start_s, end_s in seen.spans if cause == "save"]


def test_the_belief_is_the_conjugate_one() -> None:
    # Gamma(a, rate b) and n events in t: mean (a + n) / (b + t); a = 3, b = 60, n = 2, t = 40.
    assert mtbf_seen_s(20.0, 3.0, 2.0, 40.0) == pytest.approx(100 / 5)
    assert mtbf_seen_s(20.0, 3.0, 0.0, 0.0) == 20.0


times = st.floats(1.0, 1e9)


@given(times, st.floats(0.1, 100.0), st.integers(0, 1000), times)
def test_one_failure_more_moves_it_little(
    prior_s: float, weight: float, failures: int, watched_s: float
) -> None:
    """So it can't oscillate: what moves it shrinks with all that was seen before."""
    before, after = (
        young_interval_s(10.0, mtbf_seen_s(prior_s, weight, n, watched_s))
        for n in (failures, failures + 1)
    )
    assert 1 - 1 / (2 * (weight + failures)) <= after / before * (1 + 1e-12)
    assert after < before


@given(times, st.floats(0.1, 100.0), st.lists(times, min_size=1, max_size=30))
def test_it_lies_between_belief_and_data(
    prior_s: float, weight: float, gaps_s: list[float]
) -> None:
    seen_s = sum(gaps_s) / len(gaps_s)
    between = mtbf_seen_s(prior_s, weight, len(gaps_s), sum(gaps_s))
    least, most = sorted((prior_s, seen_s))
    assert least * (1 - 1e-12) <= between <= most * (1 + 1e-12)


@given(times, times, st.floats(1e-3, 10.0), times, times)
def test_partial_recovery_is_chosen_by_e7(
    save_s: float, mtbf_s: float, mtbfs: float, partial_s: float, full_s: float
) -> None:
    young_s = young_interval_s(save_s, mtbf_s)
    full = full_overhead(young_s, save_s, full_s, mtbf_s)
    partial = partial_overhead(mtbfs * mtbf_s, save_s, partial_s, mtbf_s)
    assume(abs(partial - full) > 1e-9 * (partial + full))
    chosen = partial_costs_less(save_s, young_s, mtbfs, full_s - partial_s)
    assert chosen == (partial < full)


# --- Beside Young's interval with the true MTBF --------------------------------------------------


#: Of useful time: what not to have known the MTBF may cost, after ten failures.
MOST = 0.01
#: Jobs of so many MTBFs: what the longer one takes beyond the shorter is what follows ten failures.
SHORT, LONG = 10, 60


#: Who knows the MTBF and saves as often as (E3) has it; and the keys of who must guess it.
YOUNG: dict[str, Any] = {"system": "full"}
#: The same where samples may be lost: (E6) and (E7).
LOSING = {"target_pls": 0.05}
E6: dict[str, Any] = {"system": "cpr-vanilla", "pls_interval": "E6"} | LOSING


def beside_who_knows(
    failures: dict[str, Any],
    cluster: dict[str, int],
    knowing: dict[str, Any] = YOUNG,
    **guessing: Any,
) -> dict[str, float]:
    """Overhead beyond that of who knows the true MTBF, after ten failures, by the guess.

    A tenth, or ten times, of the MTBF was believed at first. On the same failures; the upper ends
    of 95 % intervals of the mean.
    """
    policies = knowing, {"system": "autopilot"} | guessing
    short, long = (apart_s(failures, cluster, mtbfs, *policies) for mtbfs in (SHORT, LONG))
    later = (long.mean() * LONG - short.mean() * SHORT) / (LONG - SHORT)
    errors = np.hypot(long.sem() * LONG, short.sem() * SHORT) / (LONG - SHORT)
    return dict(later + 1.96 * errors)


def apart_s(
    failures: dict[str, Any],
    cluster: dict[str, int],
    mtbfs: int,
    knowing: dict[str, Any],
    guessing: dict[str, Any],
) -> pd.DataFrame:
    """A row a replication, a column a guess: how much more overhead, of useful time."""
    known = {"knowing": knowing}

    def job(useful: str, cost: str, policies: dict[str, Any]) -> cprsim.Scenario:
        costs = dict.fromkeys(("save", "load", "reschedule"), cost)
        return cprsim.Scenario(
            job={"useful_time": useful},
            cluster=cluster,
            costs=costs,
            failures=failures,
            policies=policies,
        )

    mtbf_s = job("1 d", "1 s", known).context.mtbf_s
    guesses = {
        f"{factor:g} x": guessing | {"prior": f"{factor * mtbf_s} s"} for factor in (0.1, 1.0, 10.0)
    }
    scenario = job(f"{mtbfs * mtbf_s} s", f"{mtbf_s / 300} s", known | guesses)
    result = cprsim.run(scenario, replications=256, seed=1)
    overhead = result.replications.pivot_table(
        index="replication", columns="policy", values="overhead", observed=True
    )
    return overhead[list(guesses)].sub(overhead["knowing"], axis=0)


@pytest.mark.parametrize("preset", PRESETS)
def test_who_must_guess_loses_little_under_shipped_laws(preset: str) -> None:
    law: dict[str, Any] = {"preset": preset}
    if PRESETS[preset].keys["per"] == "job":
        law["mean"] = "20 h"
    assert max(beside_who_knows(law, HALVES).values()) < MOST


@pytest.mark.parametrize(
    "law",
    [
        {"distribution": "weibull", "mean": "20 h", "shape": 0.4},
        {"distribution": "weibull", "mean": "20 h", "shape": 3.0},
        {"distribution": "lognormal", "mean": "20 h", "cv": 5.0},
        {"distribution": "deterministic", "mean": "20 h"},
    ],
    ids=lambda law: " ".join(map(str, law.values())),
)
def test_who_must_guess_loses_little_under_other_laws(law: dict[str, Any]) -> None:
    assert max(beside_who_knows(law, HALVES).values()) < MOST


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.7, 1.0])
def test_who_must_guess_and_may_lose_samples_loses_little(shape: float) -> None:
    law = {"distribution": "weibull", "mean": "20 h", "shape": shape}
    assert max(beside_who_knows(law, HALVES, E6, **LOSING).values()) < MOST


@pytest.mark.slow
@needs_lanl
@pytest.mark.parametrize(
    ("system", "nodes"),
    [
        pytest.param(20, 512, marks=pytest.mark.nightly),
        pytest.param(18, 1024, marks=pytest.mark.nightly),
        (8, 164),
        (6, 32),
    ],
)
def test_who_must_guess_loses_little_on_logs(system: int, nodes: int) -> None:
    log = {"trace": str(LANL), "reader": "lanl", "system": system}
    cluster = {"parameter_servers": nodes // 2, "trainers": nodes - nodes // 2}
    assert max(beside_who_knows(log, cluster).values()) < MOST
