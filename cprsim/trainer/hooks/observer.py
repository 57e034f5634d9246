"""Observers of the hooks of a training loop, and a log of events that `cprsim replay` reads."""

import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
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


class EventLog(HooksObserver):
    """Appends a line of JSON to a file for each start, load, save and failure of a job.

    One process of the job has it among the `observers` of its hooks; all starts of the job share
    the file. A failure after which the process continues is the end of an attempt and the start of
    the next. The log ends with the last of these: what is trained after the last save isn't in it.
    A line that can't be written is warned of, and ends no training.

    Parameters
    ----------
    path
        The file; it is appended to, and made if it isn't there.
    clock
        Gives seconds since 1970.
    """

    def __init__(
        self, path: str | os.PathLike[str], clock: Callable[[], float] = time.time
    ) -> None:
        self._path, self._clock = Path(path), clock
        self._begun = False  # whether this attempt got to anything
        try:
            self._write("job_started")
        except OSError as error:
            warnings.warn(f"event log: {error}; training continues", HooksWarning, stacklevel=2)

    def stepped(self, step: int) -> None:  # noqa: ARG002
        """Whoever steps has begun; steps aren't written."""
        self._begun = True

    def saved(self, save: StoredSave) -> None:
        """A save of everything, or of chosen rows."""
        self._write("checkpoint_saved", save.step)
        self._begun = True

    def lost(self, shards: frozenset[int], dense: bool) -> None:  # noqa: ARG002
        """A failure; of a process that has just begun, the one that ended the attempt before."""
        if self._begun:
            self._write("job_failed")
            self._write("job_started")
            self._begun = False

    def loaded(self, step: int, size: int) -> None:  # noqa: ARG002
        """Training continues from a step."""
        self._write("checkpoint_loaded", step)
        self._begun = True

    def _write(self, kind: str, step: int | None = None) -> None:
        event = {"event_type": kind, "timestamp": self._clock()}
        line = json.dumps(event if step is None else event | {"step": step})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
