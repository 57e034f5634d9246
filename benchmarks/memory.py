"""Peak memory and processor time of runs, each in a new process."""

import subprocess
import sys
from pathlib import Path

_RUN = """
import time, cprsim
from benchmarks.memory import peak_mb
scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
cprsim.run(scenario, {policies!r}, {replications})
print(peak_mb(), time.process_time())
"""
#: Runs whose rows are all kept, and runs with a hundred times as many, which are not.
_RUNS = (
    (["full"], 1_000),
    (["full"], 1_000_000),
    (["full", "cpr"], 1_000_000),
    (["full", "cpr"], 10_000_000),
)


def peak_mb() -> float:
    """Return the peak memory of this process, MB, from Linux.

    `ru_maxrss` would count the parent's memory as well, which a process inherits at its start.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return float(line.split()[1]) * 1024 / 1e6


def rows() -> list[tuple[str, ...]]:
    """Measure some runs of `criteo-kaggle`."""
    return [_row(*run) for run in _RUNS]


def _row(policies: list[str], replications: int) -> tuple[str, ...]:
    code = _RUN.format(policies=policies, replications=replications)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    peak, cpu_s = map(float, done.stdout.split())
    return " + ".join(policies), f"{replications:,}", f"{peak:,.0f}", f"{cpu_s:,.0f}"
