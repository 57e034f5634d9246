"""Things that happen at the same instant: docs/semantics.md, rule 6, in both engines."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cprsim.scenario import Scenario
from cprsim.sim import engine as sim
from tests.batch.compare import Seen, compare

CASES = 50
BLOCKING = ("full", "partial", "cpr-vanilla")
#: Keys of systems beside their interval, by their names; times are multiples of the grain.
BESIDE: dict[str, Sequence[str]] = {
    "async": ["snapshot"],
    "accepted-loss": ["snapshot"],
    "check-n-run": ["snapshot"],
    "delta": ["snapshot", "merge"],
    "replication": ["takeover"],
    "ecrm": ["resume"],
    "peer-memory": ["iteration", "stall"],
    "hot-swap": ["iteration", "takeover"],
}


def tables(
    rng: np.random.Generator, log: Path, grain_s: float, systems: Sequence[str] = BLOCKING
) -> dict[str, Any]:
    """A scenario all of whose times are small multiples of the grain, so that many coincide."""

    def time(least: int, below: int) -> str:
        return f"{grain_s * int(rng.integers(least, below))!r} s"

    times = np.sort(rng.integers(1, 300, 40))
    nodes = rng.integers(0, 6, 40)
    rows = [f"{grain_s * int(at)!r},{node}\n" for at, node in zip(times, nodes, strict=True)]
    log.write_text("time_s,node\n" + "".join(rows), encoding="utf-8")
    return {
        "job": {"useful_time": time(20, 120), "final_save": bool(rng.integers(2))},
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
            "while_waiting": bool(rng.integers(2)),
        },
        "policies": {
            system: {"system": system, "interval": time(2, 20)}
            | {key: time(1, 4) for key in BESIDE.get(system, [])}
            | ({"modified": 0.5} if system in {"check-n-run", "delta"} else {})
            for system in systems
        },
    }


@pytest.mark.parametrize("grain_s", [1.0, 0.1])
@pytest.mark.parametrize("systems", [BLOCKING, *([system] for system in BESIDE)], ids="-".join)
def test_what_happens_at_one_instant_is_played_alike(
    systems: Sequence[str], grain_s: float, tmp_path: Path
) -> None:
    # Sums of whole seconds are exact; those of tenths are rounded, and the rounding decides.
    seen: Seen = Counter()
    for case in range(CASES):
        rng = np.random.default_rng(case)
        compare(tables(rng, tmp_path / "log.csv", grain_s, systems), seen, [0])

    assert seen["runs"] + seen["hopeless"] == len(systems) * CASES


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
    assert decided > 0.2 * CASES


# The job of tests/properties/test_same_instant.py, whose numbers are worked by hand there: 128 s
# that save every 32 s, 8 s long: 0-32, save 32-40, 40-72, save 72-80, 80-112, save 112-120,
# 120-152; and with a last save, until 160.
STRIKES_S = (10, 17, 32, 33, 36, 39.5, 40, 41, 72, 76, 80, 112, 119, 120, 150, 151.5, 152, 155, 160)


@pytest.mark.parametrize(
    ("while_waiting", "final_save"),
    [
        (False, True),
        (True, False),
        pytest.param(False, False, marks=pytest.mark.slow),
        pytest.param(True, True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("system", ["full", "partial", "cpr-vanilla", "async"])
def test_a_failure_or_two_at_each_turn_of_a_run(
    tmp_path: Path, system: str, final_save: bool, while_waiting: bool
) -> None:
    seen: Seen = Counter()
    log = tmp_path / "log.csv"
    for first_s in STRIKES_S:
        # The second comes when something of the first recovery ends, or of what follows it.
        for apart_s in (0.5, 1, 3, 4, 7, 22, 30, 37, 39, 47, 79):
            log.write_text(f"time_s,node\n{first_s},0\n{first_s + apart_s},1\n", encoding="utf-8")
            case = {
                "job": {"useful_time": "128 s", "final_save": final_save},
                "cluster": {"parameter_servers": 4, "trainers": 2},
                "costs": {"save": "8 s", "load": "4 s", "reschedule": "2 s", "detect": "1 s"},
                "failures": {"trace": str(log), "while_waiting": while_waiting},
                "policies": {"it": {"system": system, "interval": "32 s"}},
            }
            compare(case, seen, [0])

    assert seen["failures"] + seen["absorbed"] > 1.4 * seen["runs"]


def test_saves_due_when_a_failure_strikes_where_sums_are_rounded(tmp_path: Path) -> None:
    # Saves are due every 0.1 s and take 0.2 s; whether one is over at 0.1 + 0.2 depends on sums.
    seen: Seen = Counter()
    log = tmp_path / "log.csv"
    for strike_s in (0.1, 0.1 + 0.2, 0.3, 0.4, 0.6, 0.7, 0.8999999999999999, 0.9):
        log.write_text(f"time_s,node\n{strike_s!r},0\n9,1\n", encoding="utf-8")
        case = {
            "job": {"useful_time": "1 s"},
            "cluster": {"parameter_servers": 2},
            "costs": {"save": "0.2 s", "load": "0.1 s"},
            "failures": {"trace": str(log)},
            "policies": {"it": {"system": "full", "interval": "0.1 s"}},
        }
        compare(case, seen, [0])

    assert seen["failures"] == 8


@pytest.mark.parametrize("portion", [1.0, 0.5, 0.4, 0.3])
def test_rounds_of_portions_end_alike(portion: float, tmp_path: Path) -> None:
    # 0.4, 0.8, 1.2: what is beyond a round counts for the next; 0.6, 1.0, 0.4 ...
    seen: Seen = Counter()
    log = tmp_path / "log.csv"
    for strike_s in range(5, 125, 3):
        log.write_text(
            f"time_s,node\n{strike_s},0\n{strike_s + 2},1\n{strike_s + 20},0\n", encoding="utf-8"
        )
        case = {
            "job": {"useful_time": "128 s", "samples": 10**6},
            "model": {"tables": [{"rows": 10**4, "dim": 8, "skew": {"zipf": 1.0}}]},
            "cluster": {"parameter_servers": 4, "trainers": 2},
            "costs": {"save": "1 s", "load": "0 s"},
            "failures": {"trace": str(log)},
            "policies": {
                "it": {"system": "cpr-mfu", "interval": f"{8 / portion!r} s", "fraction": portion}
            },
        }
        compare(case, seen, [0])

    assert seen["runs that lose learning"] > 30
