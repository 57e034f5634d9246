"""Check-N-Run: checkpoints of modified rows, quantised."""

from math import inf
from typing import Annotated, Literal

from pydantic import Field

from cprsim.contract import Choice, Context, Setting
from cprsim.contract.patterns import VARIANTS, Variant
from cprsim.policies.differential import DifferentialSaving


class CheckNRun(DifferentialSaving):
    """Write only modified rows, quantised, in the background; a failure takes the whole job back.

    Source: Check-N-Run (NSDI 2022).

    `variant`: `"one-shot"` writes the rows modified since the baseline, `"consecutive"` those since
    the save before, `"intermittent"` is one-shot with a new baseline whenever `rebaseline_pays`.

    Defaults: 30 min, intermittent, a bit-width among the paper's 2 to 8.
    """

    system: Literal["check-n-run"]
    variant: Variant = "intermittent"
    bits: Annotated[int, Field(ge=1, le=32)] = 4

    def settings(self, context: Context) -> tuple[Setting, ...]:
        """Its interval and its variant; fewer bits cost accuracy, which isn't modelled."""
        return (*super().settings(context), Choice("variant", VARIANTS))

    @property
    def _chained(self) -> tuple[Variant, float]:
        return self.variant, inf
