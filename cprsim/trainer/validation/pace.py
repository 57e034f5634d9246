"""Runs of the same at one pace: a machine is slower at one minute than at another, at all it does.

So what a run took is told in the time that training took meanwhile.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cprsim.trainer.coordinator.accounts import MeasuredSpan, ShardSave
from cprsim.trainer.training import Trained
from cprsim.trainer.validation.quantile import quantile


class Times(NamedTuple):
    """What a run took, s; fields are those of `Trained`."""

    seconds: Mapping[str, float]
    spans: Sequence[MeasuredSpan]
    parts: Sequence[ShardSave]


def training_s(seconds: Mapping[str, float]) -> float:
    """What steps took, those trained again too, of seconds by cause."""
    return seconds["train"] + seconds["lost"]


def at_one_pace(runs: Sequence[Trained], level: float) -> list[Times]:
    """As all would be had each trained for as long as the quantile at `level` of them."""
    usual_s = quantile([training_s(run.seconds) for run in runs], level)
    return [_scaled(run, usual_s / training_s(run.seconds)) for run in runs]


def _scaled(run: Trained, factor: float) -> Times:
    """What it took, so many times."""
    return Times(
        {cause: factor * took_s for cause, took_s in run.seconds.items()},
        [
            span._replace(start_s=factor * span.start_s, end_s=factor * span.end_s)
            for span in run.spans
        ],
        [
            part._replace(
                select_s=factor * part.select_s,
                gather_s=factor * part.gather_s,
                write_s=factor * part.write_s,
            )
            for part in run.parts
        ],
    )
