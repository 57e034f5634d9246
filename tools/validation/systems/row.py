"""One published figure, and the value that cprsim computes."""

from typing import Literal, NamedTuple

#: Whether a figure was put in, was used to calibrate something, comes out, or says again what
#: another row does: a prediction is counted once.
Role = Literal["input", "calibrated", "prediction", "repeated"]


class Row(NamedTuple):
    """`quantity` of `system` as `source` has it, and as computed, in `unit`."""

    system: str
    quantity: str
    source: str
    role: Role
    published: float
    computed: float
    unit: str
    note: str = ""
