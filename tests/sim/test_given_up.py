"""Jobs that make no progress are given up, and the error says what to change."""

from typing import Any

import pytest

from cprsim.batch import engine as batch
from cprsim.errors import RunError
from cprsim.scenario import Scenario
from cprsim.sim import engine as sim

#: The job, its policy, and the end of the message.
GIVEN_UP: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a failure before each save": (
        {
            "costs": {"save": "10 s", "load": "1 s"},
            "failures": {"distribution": "exponential", "mean": "1 s"},
        },
        {"interval": "50 s"},
        "^policy 'it': the job gets nowhere: 100 times its useful time is over",
    ),
    "saves that take all its time": (
        {"costs": {"save": "1 s", "load": "1 s"}},
        {"interval": "1e-4 s"},
        "the job gets nowhere: 100 times .* save less often$",
    ),
    "hardly any training between saves": (
        {"job": {"useful_time": "10 s"}, "costs": {"save": "2 s", "load": "0 s"}},
        {"interval": "5 ms"},
        "save less often$",
    ),
    "saves that all fail": (
        {
            "job": {"useful_time": "56 h"},
            "costs": {"save": "5 min", "load": "2 min"},
            "storage": {"save_fails": 1 - 1e-9},
        },
        {"interval": "1 h"},
        "make saves and loads fail less often",
    ),
    # Each meets a failure after 200 s, before its only save, and is over by the recovery.
    "allocations in which nothing is trained": (
        {
            "job": {"useful_time": "10000 s", "allocation": "400 s"},
            "costs": {
                "save": "2 s",
                "load": "10 s",
                "reschedule": "3000 s",
                "start": {
                    "schedule": "100 s",
                    "initialise": "20 s",
                    "compile": "60 s",
                    "compile_warm": "5 s",
                },
                "shutdown": "7 s",
            },
            "failures": {"distribution": "deterministic", "mean": "200 s", "ages": "new"},
        },
        {"interval": "1000 s"},
        "the job gets nowhere: 167 times .* with 500 failures",
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", GIVEN_UP)
def test_a_job_that_gets_nowhere_is_given_up(name: str) -> None:
    tables, policy, message = GIVEN_UP[name]
    job: dict[str, Any] = {
        "job": {"useful_time": "100 s"},
        "cluster": {"parameter_servers": 4},
        "failures": {"exactly": 0},
        "policies": {"it": {"system": "full"} | policy},
    }
    for engine in (sim, batch):
        with pytest.raises(RunError, match=message):
            engine.simulate(Scenario(**job | tables), ["it"], [0], 0)
