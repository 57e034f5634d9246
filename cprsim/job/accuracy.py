"""Loss of accuracy with lost learning, as measured somewhere: the section `[accuracy]`."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from cprsim.basics.schema import Section

Floats: TypeAlias = NDArray[np.float64]


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
        """Return it as in the JSON of a run; values that are no numbers are null."""
        ends: list[float | None] = [self.mean - self.half, self.mean + self.half]
        return {
            "mean": None if math.isnan(self.mean) else self.mean,
            "ci95": [None, None] if math.isnan(self.half) else ends,
            "source": self.source,
            "note": self.note,
        }


class MeasuredSlope(Section):
    """A slope that was measured; one of the two.

    `auc_drop_per_learning_lost`: AUC lost for each unit of the learning lost. `auc_drop_per_pls`:
    AUC lost for each unit of PLS, measured where shards lose little at a time. There PLS is the
    learning lost, to first order; where they lose much, PLS understates what is lost. So this slope
    applies to the larger of both. `ci95`: the 95 % interval of the slope, both ends.
    """

    auc_drop_per_learning_lost: float | None = Field(None, examples=[0.016])
    auc_drop_per_pls: float | None = Field(None, examples=[0.02])
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
        if (self.auc_drop_per_learning_lost is None) == (self.auc_drop_per_pls is None):
            raise ValueError("give one of auc_drop_per_learning_lost and auc_drop_per_pls")
        low, high = self.ci95
        if not low <= self.slope <= high:
            name = "auc_drop_per_learning_lost" if self.auc_drop_per_pls is None else _PER_PLS
            raise ValueError(f"{name} = {self.slope} is outside ci95 = [{low}, {high}]")
        return self

    @property
    def slope(self) -> float:
        """AUC lost for each unit of what it applies to."""
        per_learning = self.auc_drop_per_learning_lost
        slope = self.auc_drop_per_pls if per_learning is None else per_learning
        assert slope is not None
        return slope


_PER_PLS: Final = "auc_drop_per_pls"


class Accuracy(Section):
    """A line for each system: its predicted drop of AUC is its slope times the learning it loses.

    `source`: what data and model it was measured with, shown with each number, since another model
    may have another slope. `learning_lost_up_to`: the largest learning lost that was measured;
    nothing is predicted beyond. `pls_up_to`: the same of slopes per PLS. `systems`: the slope of
    each system, by its name.
    """

    source: Annotated[str, Field(min_length=1)]
    learning_lost_up_to: Annotated[float, Field(gt=0)] | None = Field(None, examples=[0.5])
    pls_up_to: Annotated[float, Field(gt=0)] | None = Field(None, examples=[1.0])
    systems: Annotated[
        dict[str, MeasuredSlope],
        Field(
            min_length=1,
            examples=[{"partial": {"auc_drop_per_learning_lost": 0.016, "ci95": [0.014, 0.018]}}],
        ),
    ]

    @model_validator(mode="after")
    def _has_ranges(self) -> Self:
        for system, each in self.systems.items():
            name = "learning_lost_up_to" if each.auc_drop_per_pls is None else "pls_up_to"
            if getattr(self, name) is None:
                raise ValueError(f"{name} is missing: how far was the slope of {system} measured?")
        return self

    def steepest(self, system: str, pls: Floats, learning_lost: Floats) -> Floats:
        """The drop of AUC by the upper end of the slope, of each replication.

        Not a number where something is lost and no slope of that system was measured.
        """
        slope = self.systems.get(system)
        if slope is None:
            return np.where(np.maximum(pls, learning_lost) == 0, 0.0, math.nan)
        per_pls = slope.auc_drop_per_pls is not None
        return slope.ci95[1] * (np.maximum(pls, learning_lost) if per_pls else learning_lost)

    def auc_drop(
        self, system: str, pls: tuple[float, float], learning_lost: tuple[float, float]
    ) -> Drop:
        """Return the AUC that a policy of that system is predicted to lose.

        Parameters
        ----------
        system
            Of the policy.
        pls, learning_lost
            The mean of each, and half of the 95 % interval of that; not a number where there is
            none.
        """
        if pls[0] == 0 == learning_lost[0]:
            return Drop(self.source, 0.0, 0.0)
        slope = self.systems.get(system)
        if slope is None:
            return Drop(self.source, note=f"no slope was measured for {system}")
        (lost, lost_half), what, up_to = learning_lost, "learning lost", self.learning_lost_up_to
        if slope.auc_drop_per_pls is not None:
            up_to = self.pls_up_to
            if pls[0] >= lost:
                (lost, lost_half), what = pls, "PLS"
        assert up_to is not None
        if lost > up_to:
            note = f"{what} {lost:.3g} is beyond {up_to:g}, the largest measured"
            return Drop(self.source, note=note)
        low, high = slope.ci95
        # Errors of two independent factors, to first order; the slope's may be asymmetric.
        half = math.hypot(slope.slope * lost_half, lost * (high - low) / 2)
        return Drop(self.source, slope.slope * lost, half)
