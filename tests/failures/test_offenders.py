"""Machines that fail again and again, against forms of their own and in both engines."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import cprsim
from cprsim.failures.processes import mean_pace
from cprsim.failures.spec import Offenders

DAYS, LIFE_D, NODES = 200.0, 40.0, 30
#: A cluster in which a failure costs next to nothing, so that wall clock and useful time agree.
FREE: dict[str, Any] = {
    "job": {"useful_time": "200 d"},
    "cluster": {"parameter_servers": 20, "trainers": 10},
    "costs": {"save": "0 s", "load": "0 s", "reschedule": "0 s", "detect": "0 s"},
    "failures": {"distribution": "exponential", "mean": "40 d", "per": "node"},
    "policies": {"partial": {"system": "partial", "interval": "10 d"}},
}
ENGINES = ("sim", "batch")
MIXED = {"severity": {"process": 0.5, "node": 0.5}}
CASES: dict[str, dict[str, Any]] = {
    "cured at once": {"share": 0.3, "times": 6.0},
    "cured at last": {"share": 0.3, "times": 6.0, "cured": 0.4},
    "never cured": {"share": 0.3, "times": 6.0, "cured": 0.0},
    "misdiagnosed": {"share": 0.3, "times": 6.0, "cured": 0.7, "misdiagnosed": 0.5},
    "retired": {"share": 0.3, "times": 6.0, "cured": 0.0, "retired_after": 3},
    "all of it": {
        "share": 0.2,
        "times": 9.0,
        "cured": 0.5,
        "misdiagnosed": 0.2,
        "retired_after": 2,
    },
}


def scenario(those: Mapping[str, Any] | None, **sections: Any) -> cprsim.Scenario:
    """The cluster with those offenders, and other keys of its sections."""
    told = {name: {**keys, **sections.get(name, {})} for name, keys in FREE.items()}
    if those is not None:
        told["failures"]["offenders"] = dict(those)
    return cprsim.Scenario(**told)


def of(**keys: Any) -> Offenders:
    return Offenders.model_validate(keys)


def by_hand(case: Mapping[str, Any], rng: np.random.Generator) -> int:
    """Failures of one run, a place after the other, with draws of its own."""
    failures = 0
    for _ in range(NODES):
        bad, repairs, now = rng.random() < case["share"], 0, 0.0
        while True:
            now += rng.exponential(LIFE_D) / (case["times"] if bad else 1.0)
            if now > DAYS:
                break
            failures += 1
            if rng.random() < case.get("misdiagnosed", 0.0):
                continue
            repairs += 1
            if repairs == case.get("retired_after"):
                bad, repairs = rng.random() < case["share"], 0
            elif bad:
                bad = rng.random() >= case.get("cured", 1.0)
    return failures


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_failures_come_as_often_as_by_hand_and_as_the_chain_says(case: dict[str, Any]) -> None:
    runs = 96
    drawn = np.array([by_hand(case, np.random.default_rng((1, i))) for i in range(runs)])
    played = cprsim.run(scenario(case), replications=runs, engine="sim").replications["failures"]
    error = math.hypot(drawn.std(ddof=1), played.std(ddof=1)) / math.sqrt(runs)
    assert abs(drawn.mean() - played.mean()) < 3 * error
    wanted = mean_pace(of(**case), DAYS / LIFE_D) * NODES * DAYS / LIFE_D
    assert abs(played.mean() - wanted) < 3 * played.std(ddof=1) / math.sqrt(runs)


def test_the_pace_without_retirement_decays_with_the_cures() -> None:
    lives = 2.5
    for cured, missed in ((1.0, 0.0), (0.4, 0.0), (0.4, 0.5)):
        rate = 6 * cured * (1 - missed) * lives
        wanted = 1 + 0.3 * 5 * -math.expm1(-rate) / rate
        found = mean_pace(of(share=0.3, times=6.0, cured=cured, misdiagnosed=missed), lives)
        assert found == pytest.approx(wanted, rel=1e-12)


def test_in_the_long_run_machines_retired_at_once_are_renewed() -> None:
    """A new machine for every failure: lives of the mean of both kinds, by renewal theory."""
    found = mean_pace(of(share=0.3, times=6.0, retired_after=1), 1e7)
    assert found == pytest.approx(1 / (0.7 + 0.3 / 6), rel=1e-6)
    assert mean_pace(of(share=0.3, times=6.0, cured=0.0), 3.0) == pytest.approx(0.7 + 0.3 * 6)


@pytest.mark.parametrize("engine", ["sim", "batch"])
@pytest.mark.parametrize(
    "none",
    [{"share": 0.0, "times": 6.0}, {"share": 1.0, "times": 1.0, "cured": 0.0}],
    ids=["nobody", "as good as others"],
)
def test_offenders_that_are_none_change_nothing(engine: str, none: dict[str, Any]) -> None:
    plain = cprsim.run(scenario(None), replications=4, engine=engine).replications
    assert cprsim.run(scenario(none), replications=4, engine=engine).replications.equals(plain)


def test_both_engines_agree_in_every_case() -> None:
    for case in CASES.values():
        for sections in ({}, {"failures": MIXED, "costs": {"restart": "1 min"}}):
            alike = scenario(case, **sections)
            runs = [cprsim.run(alike, replications=3, engine=each).replications for each in ENGINES]
            assert runs[0].equals(runs[1])


def test_a_restart_in_place_repairs_nothing() -> None:
    """Where only processes fail, no machine is cured, whatever repairs would do."""
    processes = {
        "failures": {"severity": {"process": 1.0}},
        "costs": {"restart": "0 s"},
    }
    found = [
        cprsim.run(scenario(case, **processes), replications=8, engine="sim").replications
        for case in (CASES["cured at once"], CASES["never cured"], CASES["retired"])
    ]
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_the_mean_that_policies_plan_with_is_that_of_the_job() -> None:
    """One over the rate of all nodes over the useful time."""
    for case in CASES.values():
        pace = mean_pace(of(**case), DAYS / LIFE_D)
        assert scenario(case).failure_model.mtbf_s == pytest.approx(
            LIFE_D * 86400 / NODES / pace, rel=1e-12
        )


def test_masked_failures_have_not_happened_to_a_machine() -> None:
    """Bad servers of AIReSim: as many failures more as if nobody failed in a downtime (rule 41)."""
    downtimes = {"costs": {"load": "12 h"}, "failures": {"during_recovery": False}}
    case = {"share": 0.5, "times": 6.0, "cured": 0.5}
    more = []
    for those in (case, None):
        job = scenario(those, **downtimes)
        more.append(cprsim.run(job, replications=96, engine="sim").replications["failures"])
    added = more[0] - more[1]
    wanted = mean_pace(of(**case), DAYS / LIFE_D) - 1
    error = added.std(ddof=1) / math.sqrt(len(added))
    assert abs(added.mean() - wanted * NODES * DAYS / LIFE_D) < 3 * error
