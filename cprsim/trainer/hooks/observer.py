"""Observers of the hooks of a training loop."""

import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class HooksWarning(UserWarning):
    """Something of a checkpoint or of a batch went wrong; training continues.

    With `warnings.simplefilter("error", HooksWarning)` it ends training instead.
    """


def warn_of_spoilt(spoilt: Iterable[str], step: int) -> None:
    """Warn of files of newer checkpoints that are spoilt, where that of `step` is loaded."""
    for each in spoilt:
        warnings.warn(
            f"{each}; it is left out, and step {step} returned to", HooksWarning, stacklevel=3
        )


class StoredSave(NamedTuple):
    """A save that is stored: after which step, bytes written, whether it has all rows.

    `took_s`: seconds from its beginning until the loop knew of its end; training may have gone on.
    `rows`: how many were chosen in this process; None if all were saved.
    """

    step: int
    size: int
    whole: bool
    took_s: float
    rows: int | None = None


class HooksObserver:
    """Sees what hooks do; changes nothing. A subclass defines what it wants to see.

    Errors in it are warned of, and end no training.
    """

    def stepped(self, step: int) -> None:
        """So many steps are done."""

    def saved(self, save: StoredSave) -> None:
        """A checkpoint has become usable."""

    def save_failed(self, step: int, error: Exception) -> None:
        """A save after that step came to nothing."""

    def lost(self, shards: frozenset[int], dense: bool) -> None:
        """A failure was reported to the hooks, or a process has begun from a checkpoint."""

    def loaded(self, step: int, size: int) -> None:
        """Training continues from a step; bytes that were read here."""

    def noticed(self, step: int) -> None:
        """A notice has come, and all is saved."""


def tell(observers: Sequence[HooksObserver], what: str, *facts: object) -> None:
    """Call this method of all in turn; errors in one are warned of."""
    for each in observers:
        try:
            getattr(each, what)(*facts)
        except Exception as error:  # who looks on may not end training
            warnings.warn(
                f"observer {type(each).__name__}.{what}: {type(error).__name__}: {error}; "
                "training continues",
                HooksWarning,
                stacklevel=4,
            )
