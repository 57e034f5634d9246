"""Many runs with saves and loads that fail, beside what closed forms say of their means."""

import math
from typing import Any

import numpy as np
import pytest

from cprsim.contract.expected import expected
from cprsim.formulas.attempts import mean_attempts, skipped_age_s
from cprsim.formulas.pls import mean_pls
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from tests.formulas.forms import attempts_variance, retried_segment_s
from tests.sim.means import assert_mean, measured
from tools.validation.formulas import partial_makespan_s

RUNS = 1000
USEFUL_S, INTERVAL_S, SAVE_S, LOAD_S, DOWN_S, MTBF_S = 1000.0, 50.0, 5.0, 10.0, 3.0, 100.0
SAVES = 20
VOID, FAILED = 0.2, 0.3


def scenario(
    failures: dict[str, Any], final_save: bool = True, storage: dict[str, float] | None = None
) -> Scenario:
    return Scenario(
        job={"useful_time": f"{USEFUL_S} s", "final_save": final_save},
        cluster={"parameter_servers": 4},
        costs={"save": f"{SAVE_S} s", "load": f"{LOAD_S} s", "reschedule": f"{DOWN_S} s"},
        storage={"save_fails": VOID, "load_fails": FAILED} if storage is None else storage,
        failures=failures,
        policies={
            f"{system}, {after}": {
                "system": system,
                "interval": f"{INTERVAL_S} s",
                "after_void": after,
            }
            for system in ("full", "partial")
            for after in ("retry", "skip")
        },
    )


def struck(**more: Any) -> dict[str, Any]:
    return {"distribution": "exponential", "mean": f"{MTBF_S} s"} | more


def test_saves_that_are_tried_again_take_a_geometric_number_of_tries() -> None:
    saves_s = measured(scenario({"exactly": 0}), "save", RUNS, "full, retry")
    mean_s = SAVES * SAVE_S * mean_attempts(VOID)
    variance_s2 = SAVES * SAVE_S**2 * attempts_variance(VOID)

    assert abs(saves_s.mean() - mean_s) <= 3 * math.sqrt(variance_s2 / RUNS)
    assert saves_s.var() == pytest.approx(variance_s2, rel=4 * math.sqrt(2 / RUNS))


@pytest.mark.parametrize("during", [True, False])
def test_full_recovery_takes_what_its_segments_take(during: bool) -> None:
    walls = measured(scenario(struck(during_recovery=during)), "wall", RUNS, "full, retry")
    segment_s = retried_segment_s(
        INTERVAL_S, SAVE_S, MTBF_S, LOAD_S, DOWN_S, VOID, FAILED, during_recovery=during
    )
    assert_mean(walls, SAVES * segment_s)


def test_partial_recovery_takes_mean_saves_and_mean_loads() -> None:
    it, policy = scenario(struck(during_recovery=False)), "partial, retry"
    save_s, recovery_s = SAVE_S * mean_attempts(VOID), DOWN_S + LOAD_S * mean_attempts(FAILED)

    exact_s = partial_makespan_s(USEFUL_S, INTERVAL_S, save_s, MTBF_S, recovery_s)
    assert_mean(measured(it, "wall", RUNS, policy), exact_s)
    # A failure in any try finds the whole interval unsaved.
    assert_mean(measured(it, "pls", RUNS, policy), mean_pls(INTERVAL_S, save_s, MTBF_S, 4))


def test_saves_that_are_left_out_leave_checkpoints_older() -> None:
    it = scenario(struck(during_recovery=False), final_save=False)
    older = [INTERVAL_S * sum(VOID**i for i in range(1, k + 1)) for k in range(SAVES)]
    assert sum(older) / SAVES == pytest.approx(skipped_age_s(INTERVAL_S, USEFUL_S, VOID))
    # What is lost of one shard of four: while it trains, and while it saves but for the last time.
    training = sum(INTERVAL_S * (INTERVAL_S / 2 + more_s) for more_s in older)
    saving = sum(SAVE_S * (INTERVAL_S + more_s) for more_s in older[:-1])

    pls = measured(it, "pls", RUNS, "partial, skip")
    assert_mean(pls, (training + saving) / MTBF_S / USEFUL_S / 4)
    saves_s = measured(it, "save", RUNS, "partial, skip")
    np.testing.assert_allclose(saves_s, SAVE_S * (SAVES - 1), rtol=1e-12)


def test_estimates_have_saves_and_loads_that_fail() -> None:
    once, often = (scenario(struck(), storage=each) for each in ({"save_fails": 0.0}, None))
    for system in ("full", "partial"):
        retry, skip = f"{system}, retry", f"{system}, skip"
        before = expected(once.plan(retry), once.context)
        again = expected(often.plan(retry), often.context)
        left_out = expected(often.plan(skip), often.context)

        assert again.save == pytest.approx(before.save / (1 - VOID))
        assert left_out.save == before.save
        for each in (again, left_out):
            assert each.load == pytest.approx(before.load / (1 - FAILED))
        assert (again.lost, again.pls) == (before.lost, before.pls)
        more_s = skipped_age_s(INTERVAL_S, USEFUL_S, VOID)
        full = system == "full"
        assert left_out.lost == pytest.approx(before.lost + (more_s / MTBF_S if full else 0))
        lost = 0.0 if full else more_s / MTBF_S / 4
        assert left_out.pls == pytest.approx(before.pls + lost)
        assert left_out.updates_lost == pytest.approx(before.updates_lost + lost)


@pytest.mark.slow
@pytest.mark.parametrize(("mtbf", "more_pls"), [("28 h", 0.026), ("4 h", 0.095)])
def test_one_save_in_twenty_left_out(mtbf: str, more_pls: float) -> None:
    """What it costs CPR's first job: full 5 % more overhead, CPR as much more of what it loses."""
    means = {}
    for chance in (0.0, 0.05):
        it = Scenario(
            job={"useful_time": "56 h"},
            cluster={"parameter_servers": 8},
            costs={"save": "5.62 min", "load": "2 min", "reschedule": "3.39 min"},
            storage={"save_fails": chance},
            failures={"distribution": "exponential", "mean": mtbf},
            policies={
                "full": {"system": "full", "after_void": "skip"},
                "cpr": {"system": "cpr-vanilla", "after_void": "skip", "pls_interval": "E6"},
            },
        )
        found = simulate(it, ["full", "cpr"], range(2000), 0).mean(axis=0)
        useful_s = it.job.useful_time_s
        means[chance] = [
            found[0][COLUMNS.index("wall")] / useful_s - 1,
            found[1][COLUMNS.index("pls")],
        ]
    (overhead, pls), (worse, more) = means[0.0], means[0.05]

    assert worse / overhead - 1 == pytest.approx(0.05, abs=0.01)
    assert more / pls - 1 == pytest.approx(more_pls, abs=0.015)
