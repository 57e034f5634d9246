"""Peak memory of runs, each in a process of its own."""

import subprocess
import sys
from typing import NamedTuple

_RUN = """
import resource, time, cprsim
scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
cprsim.run(scenario, {policies!r}, {replications})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak * 1024, time.process_time())
"""


class Peak(NamedTuple):
    """Bytes at most, and seconds of processor time, of a run of `criteo-kaggle`."""

    policies: str
    replications: int
    bytes: float
    cpu_s: float


def peaks() -> list[Peak]:
    """Where all rows are kept, and where they are a hundred times as many and are not."""
    return [
        _peak(["full"], 1_000),
        _peak(["full"], 1_000_000),
        _peak(["full", "cpr"], 1_000_000),
        _peak(["full", "cpr"], 10_000_000),
    ]


def _peak(policies: list[str], replications: int) -> Peak:
    code = _RUN.format(policies=policies, replications=replications)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    peak, cpu_s = map(float, done.stdout.split())
    return Peak(" + ".join(policies), replications, peak, cpu_s)
