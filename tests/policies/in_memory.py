"""The job on which the policies that mirror steps in memory are worked by hand."""

from pathlib import Path

import cprsim


def scenario(
    system: str, folder: Path, strikes: str, policy: dict, **tables: dict
) -> cprsim.Scenario:
    """1,000 s on 8 servers; reschedule 50 s, load 20 s, saves of 1 s; `strikes`: lines of a log."""
    log = folder / "log.csv"
    header = "time_s,node,severity\n" if strikes.count(",") > strikes.count("\n") else None
    log.write_text((header or "time_s,node\n") + strikes)
    mapping: dict = {
        "job": {"useful_time": "1000 s"},
        "cluster": {"parameter_servers": 8, "trainers": 2},
        "costs": {"save": "1 s", "load": "20 s", "reschedule": "50 s"},
        "failures": {"trace": str(log)},
        "policies": {"p": {"system": system, "iteration": "10 s"} | policy},
    }
    return cprsim.Scenario(**(mapping | tables))
