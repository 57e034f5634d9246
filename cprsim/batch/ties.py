"""What is too close to call.

`cprsim.sim` adds up seconds step by step; here many steps are one product. Both are right but for
the rounding of sums, which decides nothing unless two things happen at almost the same instant.
Then the run is handed over to `cprsim.sim`, whose sums are the rule; but for times that are so
round that all sums are exact, as those of a log in whole seconds may be.
"""

import numpy as np

from cprsim.batch.lanes import Floats, Mask

# What sums may differ by, as a share of the time: for each of a few terms, and for each save.
_OFF, _FEW = 1e-15, 16.0
# Sums of multiples of 1 / _GRAIN are exact below _LARGEST.
_GRAIN, _LARGEST = 1024.0, 2.0**40


def rounding_error(saves: Floats) -> Floats:
    """What the sums of a run with so many saves may differ by, as a share of its time."""
    return (saves + _FEW) * _OFF


def sums_are_exact(*times: float | Floats) -> Mask:
    """Whether sums of these times are exact, however they are made."""
    found = np.asarray(True)
    with np.errstate(invalid="ignore"):  # what is infinite is not
        for each in map(np.asarray, times):
            found = found & (np.abs(each) < _LARGEST) & (each * _GRAIN % 1.0 == 0.0)
    return np.asarray(found)


def too_close(apart_s: Floats, at_s: Floats, saves: Floats) -> Mask:
    """Whether two things that happen around `at_s` are too close to call."""
    near = apart_s <= rounding_error(saves) * at_s
    if near.any():
        near &= ~sums_are_exact(apart_s, at_s)
    return near
