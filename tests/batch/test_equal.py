"""Both engines give the same ledgers, replication by replication, bit for bit."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed

from cprsim.scenario import Scenario
from tests.batch import harsh
from tests.batch.compare import assert_alike


@pytest.mark.parametrize("kind", harsh.KINDS)
def test_random_scenarios_are_played_alike(kind: str, tmp_path: Path) -> None:
    seen = Counter[str]()

    @seed(harsh.KINDS.index(kind))
    @given(harsh.strategies(tmp_path / "log.csv")[kind])
    def alike(tables: dict[str, Any]) -> None:
        seen.update(assert_alike(Scenario(**tables), [0, 1, 256]))

    alike()
    assert seen["failures"] > 10


# --- Jobs that make no progress, or hardly -------------------------------------------------------

HOPELESS: dict[str, dict[str, Any]] = {
    "fails before each save ends": {
        "costs": {"save": "30 s", "load": "10 s"},
        "policies": {"it": {"system": "full", "interval": "90 s"}},
    },
    "fails before each load ends": {
        "costs": {"save": "1 s", "load": "101 s"},
        "policies": {"it": {"system": "partial", "interval": "20 s"}},
    },
    "fails before its end": {
        "costs": {"save": "1 s", "load": "10 s"},
        "policies": {"it": {"system": "replication", "copies": 1}},
    },
    "fails before each save in the background is stored": {
        "costs": {"save": "99 s", "load": "10 s"},
        "policies": {"it": {"system": "async", "interval": "20 s", "snapshot": "1 s"}},
    },
    "drains a node for one false alarm after the other": {
        "costs": {"save": "1 s", "load": "1 s", "drain": "15 s"},
        "cluster": {"parameter_servers": 2, "spares": 1},
        "failures": {
            "distribution": "deterministic",
            "mean": "100 s",
            "notice": {"lead": "20 s", "recall": 0.0, "false_alarms": "1 / 1 s"},
        },
        "policies": {"it": {"system": "full", "interval": "20 s", "on_notice": "drain"}},
    },
    "every other save fails, and each load": {
        "costs": {"save": "5 s", "load": "60 s"},
        "storage": {"save_fails": 0.5, "load_fails": 0.99},
        "policies": {"it": {"system": "full", "interval": "20 s"}},
    },
    "saves too often": {
        "job": {"useful_time": "2000 s"},
        "costs": {"save": "200 s", "load": "1 s"},
        "failures": {"exactly": 1},
        "policies": {"it": {"system": "full", "interval": "1 s"}},
    },
}


@pytest.mark.parametrize("why", HOPELESS)
def test_a_job_without_progress_is_given_up_with_the_same_words(why: str) -> None:
    failures = {"distribution": "deterministic", "mean": "100 s"}
    job, cluster = {"useful_time": "300 s"}, {"parameter_servers": 2}
    tables = {"job": job, "cluster": cluster, "failures": failures} | HOPELESS[why]

    assert assert_alike(Scenario(**tables), [0, 1])["hopeless"] == 1


def test_a_job_that_waits_long_for_machines_is_not_given_up() -> None:
    tables: dict[str, Any] = {
        "job": {"useful_time": "300 s"},
        "cluster": {"parameter_servers": 2},
        "costs": {"save": "1 s", "load": "10 s", "reschedule": "1 d"},
        "failures": {"exactly": 3, "during_recovery": False},
        "policies": {"it": {"system": "full", "interval": "50 s"}},
    }
    seen = assert_alike(Scenario(**tables), range(20))

    assert (seen["hopeless"], seen["runs"]) == (0, 20)
