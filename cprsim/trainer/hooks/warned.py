"""What hooks warn of, so that training goes on."""

import warnings
from collections.abc import Iterable


class HooksWarning(UserWarning):
    """Something of a checkpoint or of a batch went wrong; training goes on.

    With `warnings.simplefilter("error", HooksWarning)` it ends training instead.
    """


def warn_of_spoilt(spoilt: Iterable[str], step: int) -> None:
    """Warn of files of newer checkpoints that are spoilt, where that of `step` is loaded."""
    for each in spoilt:
        warnings.warn(
            f"{each}; it is left out, and step {step} returned to", HooksWarning, stacklevel=3
        )
