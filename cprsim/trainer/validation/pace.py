"""Runs of the same at one pace: a machine is slower at one minute than at another, at all it does.

So what a run took is told in the time that training took meanwhile.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from cprsim.trainer.training import Trained


def training_s(seconds: Mapping[str, float]) -> float:
    """What steps took, those trained again too, of seconds by cause."""
    return seconds["train"] + seconds["lost"]


def paces(runs: Sequence[Trained]) -> list[float]:
    """How many times as long each has trained as the one in the middle."""
    each_s = [training_s(run.seconds) for run in runs]
    usual_s = median(each_s)
    return [own_s / usual_s for own_s in each_s]
