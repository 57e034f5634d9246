"""Check-N-Run: sizes of what is written."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cprsim.contract import Clock, Save, Saved, Stored
from cprsim.contract.controller import saves_of
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, play, simulate
from tests.policies.by_hand import DIFFERENCES, job_of


def scenario(policy: dict[str, Any], failures: dict[str, Any], **tables: Any) -> Scenario:
    return job_of(policy, **DIFFERENCES | {"failures": failures} | tables)


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


@pytest.mark.parametrize("variant", ["one-shot", "consecutive"])
def test_answers_by_a_function_change_no_save(variant):
    """With code of its own, a plan's differences were written and read for nothing."""
    differences = {"variant": variant, "interval": "10 min", "modified": 0.2, "snapshot": "5 s"}
    scenario = Scenario(
        job={"useful_time": "40 h"},
        cluster={"parameter_servers": 4},
        costs={"save": "4 min", "load": "4 min", "reschedule": "1 min"},
        failures={"distribution": "exponential", "mean": "5 h"},
        policies={name: {"system": "check-n-run"} | differences for name in ("data", "called")},
    )
    plan = scenario.plan("called")
    scenario.plans["called"] = replace(plan, recover=plan.recover.__call__)

    data, called = simulate(scenario, ["data", "called"], range(20), 0).swapaxes(0, 1)
    assert data[:, COLUMNS.index("stored")].min() > 0
    assert called == pytest.approx(data)
