"""Peak memory and processor time of runs, each in a new process."""

import subprocess
import sys

_RUN = """
import resource, time, cprsim
scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
cprsim.run(scenario, {policies!r}, {replications})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak * 1024, time.process_time())
"""
#: Runs whose rows are all kept, and runs with a hundred times as many, which are not.
_RUNS = (
    (["full"], 1_000),
    (["full"], 1_000_000),
    (["full", "cpr"], 1_000_000),
    (["full", "cpr"], 10_000_000),
)


def rows() -> list[tuple[str, ...]]:
    """Measure some runs of `criteo-kaggle`."""
    return [_row(*run) for run in _RUNS]


def _row(policies: list[str], replications: int) -> tuple[str, ...]:
    code = _RUN.format(policies=policies, replications=replications)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    peak, cpu_s = map(float, done.stdout.split())
    return " + ".join(policies), f"{replications:,}", f"{peak / 1e6:,.0f}", f"{cpu_s:,.0f}"
