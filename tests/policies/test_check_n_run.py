"""Check-N-Run: the suite of all policies, sizes and faults worked by hand, limits."""

from typing import Any, ClassVar

import numpy as np
import pytest

from cprsim.contract import Clock, Save, Saved, Stored
from cprsim.contract.controller import saves_of
from cprsim.contract.expected import expected
from cprsim.scenario import Scenario
from cprsim.sim.engine import play, simulate
from cprsim.testing import PolicyConformance
from tests.policies.by_hand import DIFFERENCES, JOB, job_of


class TestCheckNRun(PolicyConformance):
    policy: ClassVar = {"system": "check-n-run", "interval": "40 min", "tracking": 0.01}


# --- Worked by hand ------------------------------------------------------------------------------

# A save of everything 8 s, a load 16 s. At 8 of 32 bits a baseline takes 2 s and half of it 1 s.
CHAIN = {
    "system": "check-n-run",
    "variant": "consecutive",
    "interval": "100 s",
    "snapshot": "2 s",
    "bits": 8,
    "modified": 0.5,
    "growth": 0.0,
}


def scenario(policy: dict[str, Any], failures: dict[str, Any], **tables: Any) -> Scenario:
    return job_of(policy, **DIFFERENCES | {"failures": failures} | tables)


# --- Sizes ---------------------------------------------------------------------------------------

TABLES = [
    {"rows": 1_000_000, "dim": 16, "optimizer_slots": 1},
    {"rows": 1000, "dim": 16, "optimizer_slots": 1},
]
MODEL = {"tables": TABLES, "tracked_tables": 1, "dense": "10 MB"}


def test_small_tables_and_the_dense_part_are_written_whole():
    # 64 B a vector: 4 of 32 bits and 8 B of range are a quarter. 128 MB are tracked, 128 kB not.
    policy = {"system": "check-n-run", "variant": "consecutive", "modified": 0.3, "interval": "1 s"}
    plan = scenario(policy, {"exactly": 0}, model=MODEL).plan("p")
    whole, baseline = 138.128e6, 0.25 * 128.128e6 + 10e6
    controller = plan.start()
    saves, stored = [], None
    for second in (1, 2, 3):
        save = controller.ask(Clock(second, second))
        assert isinstance(save, Save)
        controller.tell(Saved(Clock(second, second), save, stored=False))
        stored = Stored(Clock(second, second), save)
        controller.tell(stored)
        saves.append(save)
    assert saves[0].writes == saves[0].reads == pytest.approx(baseline / whole, rel=1e-12)
    difference = 0.25 * (0.3 * 128e6 + 0.128e6) + 10e6
    assert saves[1].writes == saves[2].writes == pytest.approx(difference / whole, rel=1e-12)
    chain = baseline + 2 * 0.25 * 0.3 * 128e6
    assert saves[2].reads == pytest.approx(chain / whole, rel=1e-12)


@pytest.mark.parametrize(
    ("bits", "dtype", "dim", "quantised"),
    [
        (4, "float32", 64, 4 / 32 + 8 / 256),
        (8, "float16", 64, 8 / 16 + 8 / 128),
        (16, "float16", 64, 1.0),
        (32, "float32", 64, 1.0),
        (16, "float32", 2, 1.0),  # no more than what it stands for
    ],
)
def test_quantised_vectors_carry_their_range(bits, dtype, dim, quantised):
    model = {"tables": [{"rows": 1000, "dim": dim, "dtype": dtype}]}
    policy = {"system": "check-n-run", "bits": bits, "modified": 0.5, "interval": "2000 s"}
    plan = scenario(policy, {"exactly": 0}, model=model).plan("p")
    assert plan.schedules[0].save.writes == pytest.approx(quantised, rel=1e-12)


def test_memory_is_a_copy_and_a_bit_a_row():
    plan = scenario({"system": "check-n-run", "modified": 0.5}, {"exactly": 0}, model=MODEL)
    assert plan.plan("p").memory_overhead == 1 + 1 / 8 / 128
    assert scenario(CHAIN, {"exactly": 0}).plan("p").memory_overhead == 1


@pytest.mark.parametrize("variant", ["one-shot", "consecutive", "intermittent"])
def test_sizes_are_those_of_baselines_and_differences(variant):
    # Rows by Zipf, 25 intervals, so 24 saves: a baseline and 23 differences.
    model = {"tables": [{"rows": 100_000, "dim": 16, "skew": {"zipf": 0.9}}]}
    keys = {"system": "check-n-run", "variant": variant, "bits": 32, "interval": "40 s"}
    job = {"useful_time": "1000 s", "samples": 2_500_000}
    one = scenario(keys, {"exactly": 0}, model=model, job=job)
    shares = one.context.rows.modified_share(100_000.0 * np.arange(1, 26)).tolist()
    run = play(one, "p", 0, 0)
    assert run.saves == 24
    assert run.stored == pytest.approx(sum(sizes_of(variant, shares, 24)), rel=1e-9)


def sizes_of(variant, modified, saves):
    """Over a baseline's; `modified`: share of the rows that 1, 2, ... intervals modify."""
    sizes, since = [1.0], []
    while len(sizes) < saves:
        if variant == "consecutive":
            since.append(modified[0])
        elif variant == "intermittent" and since and 1 + sum(since) <= (len(since) + 1) * since[-1]:
            since = []
        else:
            since.append(modified[len(since)])
        sizes.append(since[-1] if since else 1.0)
    return sizes


def test_shares_between_and_beyond_those_computed_one_by_one():
    # 5,000 intervals: up to 1,000 exact, beyond by interpolation.
    model = {"tables": [{"rows": 100_000, "dim": 16, "skew": {"zipf": 0.9}}]}
    job = {"useful_time": "5000 s", "samples": 5_000_000}
    policy = {"system": "check-n-run", "interval": "1 s", "variant": "one-shot"}
    one = scenario(policy, {"exactly": 0}, model=model, job=job)
    law, rows = one.plan("p").sequence, one.context.rows
    for intervals, tolerance in ((1, 1e-12), (999, 1e-12), (2.5, 5e-3), (3210, 1e-5)):
        exact = rows.modified_share(np.array([1000.0 * intervals]))[0]
        _, save = saves_of(law, [0.0, intervals])
        assert (save.reads - law.whole) / law.rows == pytest.approx(exact, rel=tolerance)
    _, save = saves_of(law, [0.0, 9000.0])
    assert save.reads == law.whole + law.rows * law.shares[-1]


def test_expectation_is_that_of_the_mean_save():
    # Of baseline, 0.2, 0.4, 0.6 over and over; reads 1, 1.2, 1.4, 1.6; all quantised to a quarter.
    keys = CHAIN | {"variant": "intermittent", "modified": 0.2, "growth": 1.0, "interval": "10 s"}
    mtbf = {"distribution": "exponential", "mean": "500 s"}
    one = scenario(keys, mtbf)
    save = one.plan("p").schedules[0].save
    assert save.writes == pytest.approx(0.25 * 2.2 / 4, rel=1e-12)
    assert save.reads == pytest.approx(0.25 * 5.2 / 4, rel=1e-12)
    found = expected(one.plan("p"), one.context)
    assert found.load == pytest.approx(16 * 0.25 * 1.3 / 500, rel=1e-12)
    assert found.lost == pytest.approx((5 + 8 * 0.25 * 0.55) / 500, rel=1e-12)
    assert found.stall == pytest.approx(0.2, rel=1e-12)


def test_an_optimal_interval_lets_baselines_land():
    # sqrt(2 x 2 s x 450 s) is 42.4 s; a baseline of 8 bits takes a quarter of a save.
    mtbf = {"distribution": "exponential", "mean": "450 s"}
    policy = CHAIN | {"interval": "optimal"}
    for save, interval_s in (("8 s", 42.4264), ("200 s", 50.0)):
        costs = {"save": save, "load": "16 s"}
        plan = scenario(policy, mtbf, costs=costs).plan("p")
        assert plan.interval_s == pytest.approx(interval_s, rel=1e-5)


# --- What it comes down to -----------------------------------------------------------------------

ROUGH = {"distribution": "weibull", "shape": 0.7, "mean": "300 s"}


@pytest.mark.parametrize("variant", ["one-shot", "consecutive", "intermittent"])
@pytest.mark.parametrize("known", ["given", "rows"])
def test_every_row_modified_and_unquantised_is_async_to_the_last_digit(variant, known):
    saves = {"snapshot": "7 s", "interval": "45 s"}
    policies: dict[str, Any] = {
        "p": {"system": "check-n-run", "variant": variant, "bits": 32, "tracking": 0} | saves,
        "async": {"system": "async"} | saves,
    }
    tables: dict[str, Any] = {"policies": policies}
    if known == "given":
        policies["p"]["modified"] = 1.0
    else:
        tables["model"] = {"tables": [{"rows": 50, "dim": 8}, {"rows": 60, "dim": 8}]}
        tables["job"] = {"useful_time": "1000 s", "samples": 10**9}
    one = Scenario(**JOB | DIFFERENCES | {"failures": ROUGH} | tables)
    found = simulate(one, ["p", "async"], range(30), 4)

    assert found[:, 0].tobytes() == found[:, 1].tobytes()
