"""A job that meets failures of every severity, on which a mechanism is switched off."""

from typing import Any

MIXED: dict[str, Any] = {
    "job": {"useful_time": "100 h"},
    "model": {"embedding": "800 GB", "dense": "1 GB"},
    "cluster": {"parameter_servers": 7, "trainers": 3, "nic": "10 Gbit/s"},
    "storage": {"write": "2 GB/s", "read": "3 GB/s"},
    "costs": {"reschedule": "5 min", "detect": "20 s"},
    "failures": {
        "distribution": "gamma",
        "shape": 0.7,
        "mean": "7 h",
        "severity": {"process": 3, "node": 2, "cluster": 1},
    },
}
