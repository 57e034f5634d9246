"""A thousand jobs on 10,000 nodes in a month, together and each alone, in one process each.

Run `python -m benchmarks.clusters`.
"""

import subprocess
import sys
import time

from benchmarks.memory import peak_mb
from cprsim.clusters.jobs import jobs_of
from cprsim.clusters.play import play
from cprsim.clusters.spec import load_cluster

_MONTH = "scenarios/clusters/month.toml"


def main() -> None:
    for how in ("together", "and each alone"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.clusters", how],
            capture_output=True,
            text=True,
            check=True,
        )
        print(f"{how}: {done.stdout.strip()}")


def once(how: str) -> str:
    """Play the month; return processor seconds, the jobs that ended, and the peak of memory."""
    spec = load_cluster(_MONTH)
    jobs = jobs_of(spec)
    began_s = time.process_time()
    played = play(spec, jobs, 0, 0, alone=how != "together")
    took_s = time.process_time() - began_s
    ended = sum(job.row is not None for job in played.jobs)
    return f"{took_s:.1f} s, {ended} jobs ended, {len(played.crowds)} crowds, {peak_mb():.0f} MB"


if __name__ == "__main__":
    if sys.argv[1:]:
        print(once(sys.argv[1]))
    else:
        main()
