"""Keys of a scenario in words, for labels; other keys are called as they are."""

from typing import Final

KEYS: Final[dict[str, str]] = {
    "failures.mean": "mean time between failures",
    "failures.exactly": "failures in the job",
    "cluster.parameter_servers": "parameter servers",
    "cluster.trainers": "trainers",
    "cluster.spares": "spare machines",
    "costs.save": "save time",
    "storage.write": "save bandwidth",
    "costs.load": "load time",
    "storage.read": "load bandwidth",
    "cluster.nic": "network of a node",
    "costs.reschedule": "rescheduling",
    "costs.reschedule.mean": "rescheduling, mean",
    "costs.detect": "detection",
    "job.useful_time": "useful time",
}
