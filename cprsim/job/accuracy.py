"""How accuracy falls with lost samples, as it was measured somewhere: the section `[accuracy]`."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from cprsim.basics.schema import Section


@dataclass(frozen=True)
class Drop:
    """A predicted drop of AUC, half its 95 % interval, and where the slope comes from.

    Neither is a number where nothing can be predicted; `note` says why.
    """

    source: str
    mean: float = math.nan
    half: float = math.nan
    note: str = ""

    def document(self) -> dict[str, Any]:
        """As it stands in the JSON of a run; what is not a number is null."""
        ends: list[float | None] = [self.mean - self.half, self.mean + self.half]
        return {
            "mean": None if math.isnan(self.mean) else self.mean,
            "ci95": [None, None] if math.isnan(self.half) else ends,
            "source": self.source,
            "note": self.note,
        }


class MeasuredSlope(Section):
    """A slope that was measured.

    `auc_drop_per_pls`: AUC lost for each unit of PLS. `ci95`: the 95 % interval of that, both ends.
    """

    auc_drop_per_pls: Annotated[float, Field(examples=[0.02])]
    ci95: Annotated[
        tuple[float, float],
        BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 2,
                "maxItems": 2,
                "examples": [[0.01, 0.03]],
            }
        ),
    ]

    @model_validator(mode="after")
    def _within(self) -> Self:
        low, high = self.ci95
        if not low <= self.auc_drop_per_pls <= high:
            raise ValueError(
                f"auc_drop_per_pls = {self.auc_drop_per_pls} is outside ci95 = [{low}, {high}]"
            )
        return self


class Accuracy(Section):
    """A line for each system: its predicted drop of AUC is its slope times its PLS.

    `source`: what data and model it was measured with, shown with each number, since another model
    may have another slope. `pls_up_to`: the largest PLS that was measured; nothing is predicted
    beyond. `systems`: the slope of each system, by its name.
    """

    source: Annotated[str, Field(min_length=1)]
    pls_up_to: Annotated[float, Field(gt=0)]
    systems: Annotated[
        dict[str, MeasuredSlope],
        Field(
            min_length=1,
            examples=[{"partial": {"auc_drop_per_pls": 0.02, "ci95": [0.01, 0.03]}}],
        ),
    ]

    def steepest(self, system: str) -> float:
        """The upper end of what a policy of that system may lose for each unit of PLS.

        Not a number where that wasn't measured.
        """
        slope = self.systems.get(system)
        return math.nan if slope is None else slope.ci95[1]

    def auc_drop(self, system: str, pls: float, pls_half: float) -> Drop:
        """What AUC a policy of that system is predicted to lose.

        Parameters
        ----------
        system
            Of the policy.
        pls, pls_half
            Its mean portion of lost samples, and half of the 95 % interval of that; not a number
            where there is none.
        """
        if pls == 0:
            return Drop(self.source, 0.0, 0.0)
        slope = self.systems.get(system)
        if slope is None:
            return Drop(self.source, note=f"no slope was measured for {system}")
        if pls > self.pls_up_to:
            return Drop(
                self.source,
                note=f"PLS {pls:.3g} is beyond {self.pls_up_to:g}, the largest measured",
            )
        low, high = slope.ci95
        # Errors of two independent factors, to first order; the slope's may be asymmetric.
        half = math.hypot(slope.auc_drop_per_pls * pls_half, pls * (high - low) / 2)
        return Drop(self.source, slope.auc_drop_per_pls * pls, half)
