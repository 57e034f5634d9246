"""Chains of deltas that another machine merges."""

from typing import Literal

from pydantic import Field

from cprsim.basics.schema import PositiveSeconds
from cprsim.contract import Interval
from cprsim.contract.patterns import Variant
from cprsim.policies.differential import DifferentialSaving


class Delta(DifferentialSaving):
    """Write modified rows often, in the background; another machine merges them into a new base.

    Source: DECK (PVLDB 18(12), 2025); TorchRec's delta tracker.

    A delta holds the rows modified since the one before. Every `merge` of training another machine
    merges the deltas taken before that into a new base; a later delta is written after it. A
    load reads the base and the deltas after it, so its length is limited by `merge`, as that of
    consecutive differences isn't. The merging machine reads and writes through separate links:
    neither its time nor its bytes are charged to the job. It has finished by the next delta.

    `merge`: training from one merging to the next.

    Defaults: a delta every 2.5 min, twelve times as often as Check-N-Run saves (DECK's gain),
    merged every hour (assumed). Elements keep their 32 bits.
    """

    unpriced = "the machine that merges, and its traffic on the store, cost nothing"

    system: Literal["delta"]
    interval: Interval = 150.0
    merge_s: PositiveSeconds = Field(3600.0, alias="merge")

    @property
    def _chained(self) -> tuple[Variant, float]:
        return "consecutive", self.merge_s
