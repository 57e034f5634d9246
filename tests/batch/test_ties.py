"""Things that happen at the same instant: docs/semantics.md, rule 6, in both engines."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.batch import engine as batch
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from cprsim.testing.accounts import differences
from tests.batch.compare import compare
from tools.handed_over import watching

CASES = 50
BLOCKING = ("full", "partial", "cpr-vanilla")


def tables(
    rng: np.random.Generator, log: Path, grain_s: float, systems: Sequence[str] = BLOCKING
) -> dict[str, Any]:
    """A scenario all of whose times are small multiples of the grain, so that many coincide."""
    in_background = bool({"async", "accepted-loss"} & set(systems))

    def time(least: int, below: int) -> str:
        return f"{grain_s * int(rng.integers(least, below))!r} s"

    times = np.sort(rng.integers(1, 300, 40))
    nodes = rng.integers(0, 6, 40)
    rows = [f"{grain_s * int(at)!r},{node}\n" for at, node in zip(times, nodes, strict=True)]
    log.write_text("time_s,node\n" + "".join(rows), encoding="utf-8")
    keys = {"interval": time(2, 20)} | ({"snapshot": time(0, 3)} if in_background else {})
    return {
        "job": {
            "useful_time": time(20, 120),
            "final_save": not in_background and bool(rng.integers(2)),
        },
        "cluster": {"parameter_servers": 4, "trainers": 2, "spares": int(rng.integers(3))},
        "costs": {
            "save": time(1, 6),
            "load": time(0, 6),
            "reschedule": time(0, 6),
            "detect": time(0, 3),
        },
        "failures": {
            "trace": str(log),
            "during_recovery": bool(rng.integers(2)),
            "while_waiting": False,
        },
        "policies": {each: {"system": each} | keys for each in systems},
    }


@pytest.mark.slow
@pytest.mark.essential
def test_what_happens_at_one_instant_is_played_where_sums_are_exact(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for case in range(CASES):
        rng = np.random.default_rng(case)
        compare(tables(rng, tmp_path / "log.csv", 1.0), seen, [0])

    assert seen["runs"] == 3 * CASES
    assert seen["handed over"] == 0


def test_what_happens_at_one_instant_decides_these_runs(tmp_path: Path) -> None:
    log, decided = tmp_path / "log.csv", 0
    for case in range(CASES):
        drawn = tables(np.random.default_rng(case), log, 1.0)
        whole = sim.simulate(Scenario(**drawn), list(drawn["policies"]), [0], 0)[0]
        header, *rows = log.read_text(encoding="utf-8").splitlines()
        earlier = [f"{float(at) - 0.001!r},{node}" for at, node in (row.split(",") for row in rows)]
        log.write_text("\n".join([header, *earlier]), encoding="utf-8")
        moved = sim.simulate(Scenario(**drawn), list(drawn["policies"]), [0], 0)[0]
        decided += int((np.abs(whole - moved) > 0.5).any(axis=1).sum())

    # A millisecond earlier they would go another way.
    assert decided > 0.7 * CASES


def test_what_happens_at_one_instant_is_handed_over_where_sums_are_rounded(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for case in range(CASES):
        rng = np.random.default_rng(case)
        compare(tables(rng, tmp_path / "log.csv", 0.1), seen, [0])

    assert 0.5 * seen["runs"] < seen["handed over"] <= seen["runs"], seen


@pytest.mark.slow
@pytest.mark.essential
def test_what_happens_at_one_instant_beside_saves_in_the_background(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for case in range(CASES):
        rng = np.random.default_rng(case)
        compare(tables(rng, tmp_path / "log.csv", 1.0, ["async"]), seen, [0])
        compare(tables(rng, tmp_path / "log.csv", 1.0, ["accepted-loss"]), seen, [0])

    assert seen["runs"] == 2 * CASES
    assert seen["handed over"] < 0.6 * seen["runs"], seen


def test_nodes_that_are_rebuilt_at_the_instant_of_a_failure(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for case in range(CASES):
        rng = np.random.default_rng(case)
        compare(tables(rng, tmp_path / "log.csv", 1.0, ["replication"]), seen, [0])

    assert seen["runs"] == CASES
    assert 0 < seen["handed over"] < 0.8 * seen["runs"], seen


# The job of tests/properties/test_same_instant.py, whose numbers are worked by hand there.
STRIKES_S = (10, 17, 32, 36, 39.5, 40, 72, 80, 112, 120, 150, 151.5, 152, 155, 160)


@pytest.mark.parametrize("while_waiting", [False, True])
@pytest.mark.parametrize("final_save", [False, True])
@pytest.mark.parametrize("system", ["full", "partial", "cpr-vanilla"])
def test_a_failure_or_two_at_each_turn_of_a_run(
    tmp_path: Path, system: str, final_save: bool, while_waiting: bool
) -> None:
    for first_s in STRIKES_S:
        # The second comes when something of the first recovery ends, or of what follows it.
        for apart_s in (0.5, 1, 3, 4, 7, 22, 30, 37, 39, 47, 79):
            log = tmp_path / "log.csv"
            log.write_text(f"time_s,node\n{first_s},0\n{first_s + apart_s},1\n", encoding="utf-8")
            scenario = Scenario(
                job={"useful_time": "128 s", "final_save": final_save},
                cluster={"parameter_servers": 4, "trainers": 2},
                costs={"save": "8 s", "load": "4 s", "reschedule": "2 s", "detect": "1 s"},
                failures={"trace": str(log), "while_waiting": while_waiting},
                policies={"it": {"system": system, "interval": "32 s"}},
            )
            with watching() as masks:
                found = batch.simulate(scenario, ["it"], [0], 0)
            expected = sim.simulate(scenario, ["it"], [0], 0)
            assert while_waiting or not masks[0].any()
            # Sums are exact: not a digit may differ, but of what was divided.
            assert differences(found[0, 0], expected[0, 0]) == {}
