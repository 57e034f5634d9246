"""Jobs that advice is sought of, and advice that several tests look at."""

from functools import cache

import cprsim
from cprsim.advice.advice import Advice, Found

#: Systems that are asked in a moment.
FEW = ["full", "partial", "replication"]
MEASURED = {
    "job": {"useful_time": "8 d"},
    "cluster": {"parameter_servers": 8, "trainers": 8},
    "costs": {"save": "6 min", "load": "4 min", "reschedule": "5 min"},
    "failures": {"distribution": "exponential", "mean": "20 h"},
}


def measured(**policies: dict[str, object]) -> cprsim.Scenario:
    """A job that costs are measured of."""
    return cprsim.Scenario(**MEASURED, policies=policies or {"full": {"system": "full"}})


@cache
def answered(*systems: str) -> Advice:
    """Advice on that job."""
    return cprsim.advise(measured(), systems=systems)


def by_name(advice: Advice) -> dict[str, Found]:
    """The candidates of an advice."""
    return {each.name: each for each in advice.found}
