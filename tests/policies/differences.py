"""The job of the cases worked by hand of systems that save modified rows alone."""

from pathlib import Path
from typing import Any

import cprsim


def scenario(policy: dict[str, Any], failures: dict[str, Any], **tables: Any) -> cprsim.Scenario:
    """1,000 s on 8 servers; a save of everything 8 s, a load 16 s, reschedule 50 s."""
    mapping: dict[str, Any] = {
        "job": {"useful_time": "1000 s"},
        "cluster": {"parameter_servers": 8},
        "costs": {"save": "8 s", "load": "16 s", "reschedule": "50 s"},
        "failures": failures,
        "policies": {"p": policy},
    }
    return cprsim.Scenario(**(mapping | tables))


def log_of(folder: Path, strikes: str) -> dict[str, Any]:
    """Failures by a log with these rows, `time,node` each."""
    log = folder / "log.csv"
    log.write_text("time_s,node\n" + strikes)
    return {"trace": str(log)}
