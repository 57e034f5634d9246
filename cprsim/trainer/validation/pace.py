"""Runs of the same at one pace: a machine is slower at one minute than at another, at all it does.

So what a run took is told in the time that training took meanwhile.
"""

from collections.abc import Mapping, Sequence

from cprsim.trainer.training import Trained
from cprsim.trainer.validation.quantile import quantile


def training_s(seconds: Mapping[str, float]) -> float:
    """What steps took, those trained again too, of seconds by cause."""
    return seconds["train"] + seconds["lost"]


def paces(runs: Sequence[Trained], level: float) -> list[float]:
    """How many times as long each has trained as the quantile at `level` of all."""
    each_s = [training_s(run.seconds) for run in runs]
    usual_s = quantile(each_s, level)
    return [own_s / usual_s for own_s in each_s]
