"""The batch engine gives the ledgers of `cprsim.sim`, replication by replication, bit for bit."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.batch import harsh
from tests.batch.compare import Seen, assert_often, compare
from tests.drawn import scenarios
from tests.tiers import one_of_each

Strategy = st.SearchStrategy[dict[str, Any]]


def compared(strategy: Strategy, examples: int, replications: Sequence[int], number: int) -> Seen:
    """Compare the engines on so many scenarios; what was seen in them.

    With another `number` they are others.
    """
    seen: Seen = Counter()

    @seed(number)
    @settings(max_examples=examples)
    @given(strategy)
    def alike(tables: dict[str, Any]) -> None:
        compare(tables, seen, replications)

    alike()
    assert seen["scenarios"] >= examples
    return seen


#: Each system with each source of failures; with one of them in `make test`.
_EACH = [
    pytest.param(system, source, marks=[pytest.mark.nightly] * (turn % len(harsh.SOURCES) != place))
    for turn, system in enumerate(harsh.SYSTEMS)
    for place, source in enumerate(harsh.SOURCES)
]


@pytest.mark.parametrize(("system", "source"), _EACH)
def test_when_failures_come_all_the_time(system: str, source: str, tmp_path: Path) -> None:
    strategy = harsh.sources(tmp_path / "log.csv", [system])[source]
    number = len(harsh.SOURCES) * harsh.SYSTEMS.index(system) + harsh.SOURCES.index(source)
    seen = compared(strategy, 12, [0, 1, 256], number)

    assert_often(seen, runs=24, failures=50, failures_in_a_train=20, saves=50)


@pytest.mark.parametrize("answer", ["save", "drain"])
def test_when_failures_are_announced(answer: str, tmp_path: Path) -> None:
    strategy = harsh.announced(tmp_path / "log.csv", answer)
    seen = compared(strategy, 25, [0, 1, 256], 3000)

    of_answer = {"save": {"EmergencySave": 20}, "drain": {"Draining": 20, "drains": 20}}
    assert_often(seen, runs=50, failures=100, saves=100, **of_answer[answer])


#: Under accepted-loss the others train on, and none fails while one is noticed (semantics 11).
_WAITING = [system for system in harsh.SYSTEMS if system != "accepted-loss"]


@pytest.mark.parametrize("system", _WAITING)
def test_when_others_fail_while_one_is_noticed(system: str) -> None:
    number = 4000 + harsh.SYSTEMS.index(system)
    seen = compared(harsh.noticed_late([system]), 12, [0, 1, 256], number)

    assert_often(seen, runs=24, failures_in_a_detect=10)


#: What must be met of a system, beside what is met of all.
OF_SYSTEM: dict[str, dict[str, int]] = {
    "full": {"failures_in_a_save": 40, "three_in_a_row_while_loading": 7},
    "autopilot": {"Learned": 30, "failures_in_a_save": 40},
    "partial": {"failures_in_a_save": 150, "runs_that_lose_unequal_shares": 40},
    "cpr-vanilla": {"failures_in_a_save": 100, "runs_that_lose_unequal_shares": 8},
    "cpr-scar": {"Chains": 35, "runs_that_lose_unequal_shares": 9},
    "cpr-mfu": {"Chains": 15, "runs_that_lose_unequal_shares": 20},
    "cpr-ssu": {"Chains": 20, "runs_that_lose_unequal_shares": 20},
    "async": {
        "Growing": 25,
        "saves_rarer_than_at_first": 6,
        "save_at_once": 5,
        "saves_in_the_background_given_up": 250,
        "runs_with_a_last_save_in_the_background": 25,
        "runs_at_several_paces": 6,
        "runs_with_saves_at_several_paces": 6,
    },
    "replication": {
        "returns_of_none_to_copies": 300,
        "reschedules_in_the_background": 100,
        "loads_in_the_background_given_up": 4,
        "runs_at_several_paces": 20,
    },
    "ecrm": {
        "returns_of_none_to_parities": 200,
        "pauses_until_others_serve": 200,
        "loads_in_the_background_given_up": 30,
        "runs_at_several_paces": 20,
    },
    "check-n-run": {
        "Differences": 95,
        "saves_in_the_background_given_up": 40,
        "runs_at_several_paces": 5,
    },
    "peer-memory": {
        "returns_of_all_to_memory": 350,
        "returns_of_all_to_remote": 300,
        "runs_with_saves_at_several_paces": 10,
    },
    "hot-swap": {"returns_of_all_to_memory": 450, "returns_of_all_to_remote": 100},
    "tiered": {
        "returns_of_all_to_local": 100,
        "returns_of_all_to_peer": 300,
        "Chains": 85,
        "save_at_once": 150,
    },
    "partial-experts": {
        "Rotations": 40,
        "healthy_nodes_return_to_fresher_rows": 80,
        "returns_of_all_to_host": 45,
    },
    "accepted-loss": {
        "load_and_save_at_once": 100,
        "reschedule_and_save_at_once": 100,
        "load_at_once": 20,
        "training_goes_on_degraded": 150,
        "runs_at_several_paces": 35,
    },
    "elastic": {
        "returns_of_lost_to_remote": 300,
        "reschedules_in_the_background": 80,
        "loads_in_the_background": 60,
        "training_goes_on_degraded": 100,
        "runs_at_several_paces": 20,
    },
    "twin-groups": {"returns_of_lost_to_twins": 300, "returns_of_all_to_remote": 60},
}

#: Of blocking saves, rows by priority, saves in the background, copies and codes, tiers, losses
#: that are accepted, and fewer servers; the others, nightly.
_ONE_OF_EACH = ("full", "cpr-mfu", "async", "ecrm", "tiered", "accepted-loss", "elastic")


@pytest.mark.slow
@pytest.mark.parametrize("system", one_of_each(_ONE_OF_EACH, harsh.SYSTEMS))
def test_random_scenarios_of_all_kinds(system: str, tmp_path: Path) -> None:
    harsher = harsh.sources(tmp_path / "log.csv", [system]).values()
    strategy = st.one_of(*harsher, scenarios(systems=[system]))
    seen = compared(strategy, 180, [0, 300, 301], 2000 + harsh.SYSTEMS.index(system))

    assert_often(
        seen,
        runs=95,
        saves=1000,
        failures=450,
        failures_in_a_train=250,
        failures_in_a_load=6,
        failures_of_several_servers=30,
        failures_of_severity_cluster=2,
        failures_of_severity_process=10,
        failures_of_trainers_alone=100,
        failures_with_spares=100,
        absorbed=15,
        void_saves=5,
        failed_loads=1,
        of_an_outage=3,
        runs_with_a_last_save=15,
        **OF_SYSTEM[system],
    )


# --- Jobs that get nowhere, or hardly ------------------------------------------------------------

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
    "every other save is void, and each load fails": {
        "costs": {"save": "5 s", "load": "60 s"},
        "storage": {"save_fails": 0.5, "load_fails": 0.99},
        "policies": {"it": {"system": "full", "interval": "20 s"}},
    },
}


@pytest.mark.parametrize("why", HOPELESS)
def test_a_job_that_gets_nowhere_is_given_up_with_the_same_words(why: str) -> None:
    seen: Seen = Counter()
    failures = {"distribution": "deterministic", "mean": "100 s"}
    job, cluster = {"useful_time": "300 s"}, {"parameter_servers": 2}
    tables = {"job": job, "cluster": cluster, "failures": failures} | HOPELESS[why]
    compare(tables, seen, [0, 1])

    assert seen["hopeless"] == 1


@pytest.mark.parametrize("failures", [{"exactly": 0}, {"exactly": 1}])
def test_a_job_that_saves_too_often_is_given_up_with_the_same_words(failures: object) -> None:
    seen: Seen = Counter()
    tables = {
        "job": {"useful_time": "2000 s"},
        "cluster": {"parameter_servers": 4, "trainers": 2},
        "costs": {"save": "200 s", "load": "1 s", "reschedule": "20 s"},
        "failures": failures,
        "policies": {"full": {"system": "full", "interval": "1 s"}},
    }
    compare(tables, seen, range(2))

    assert seen["hopeless"] == 1


def test_a_job_that_waits_long_for_machines_is_not_given_up() -> None:
    seen: Seen = Counter()
    tables = {
        "job": {"useful_time": "300 s"},
        "cluster": {"parameter_servers": 2},
        "costs": {"save": "1 s", "load": "10 s", "reschedule": "1 d"},
        "failures": {"exactly": 3, "during_recovery": False},
        "policies": {"it": {"system": "full", "interval": "50 s"}},
    }
    compare(tables, seen, range(20))

    assert (seen["hopeless"], seen["runs"]) == (0, 20)


@pytest.mark.parametrize("interval", ["30 s", "29.9 s"])
def test_many_saves_of_which_one_would_be_due_at_the_end(interval: str) -> None:
    seen: Seen = Counter()
    tables = {
        "job": {"useful_time": "10 h"},
        "cluster": {"parameter_servers": 2},
        "costs": {"save": "1 s", "load": "10 s"},
        "failures": {"distribution": "exponential", "mean": "2 h"},
        "policies": {"it": {"system": "full", "interval": interval}},
    }
    compare(tables, seen, range(4))

    assert_often(seen, failures=10, saves=4000)
