"""Windows in which the owner of a job takes some of its servers: planned scaling."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from cprsim.basics.schema import PositiveSeconds, Seconds, Section
from cprsim.basics.units import format_duration


class Withdrawn(Section):
    """So many servers are taken for so long, which everybody knows in advance.

    `at`: when they go, wall-clock time since the job's start. `for`: how long they are away.
    `parameter_servers`: how many of them, fewer than there are.
    """

    at_s: Seconds = Field(alias="at", examples=["20 h"])
    for_s: PositiveSeconds = Field(alias="for", examples=["6 h"])
    parameter_servers: Annotated[int, Field(ge=1, examples=[4])]

    @property
    def until_s(self) -> float:
        """When they are back, s since the job's start."""
        return self.at_s + self.for_s


def in_order(windows: Sequence[Withdrawn]) -> tuple[Withdrawn, ...]:
    """By when they begin; raise `ValueError` where one begins before the last is over."""
    found = tuple(sorted(windows, key=lambda each: each.at_s))
    for window, following in pairwise(found):
        if following.at_s <= window.until_s:
            goes, back = format_duration(following.at_s), format_duration(window.until_s)
            raise ValueError(
                f"the servers that go at {goes} go before others are back at {back}; make that "
                "one window, or leave time between them"
            )
    return found
