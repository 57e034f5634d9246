"""One published figure, and the value that cprsim computes."""

import math
from typing import Literal, NamedTuple

#: Whether a figure was put in, was used to calibrate something, comes out, or says again what
#: another row does: a prediction is counted once.
Role = Literal["input", "calibrated", "prediction", "repeated"]


class Row(NamedTuple):
    """`quantity` of a system as `source` has it, and as computed, in `unit`.

    `within`: the distance that a test allows, in `unit`; infinite where another test says how far
    apart they are.
    """

    quantity: str
    source: str
    role: Role
    published: float
    computed: float
    unit: str
    note: str = ""
    within: float = math.inf
