"""A log of what became of a job with hooks, which `cprsim replay` reads."""

import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from cprsim.trainer.hooks.observer import HooksObserver, HooksWarning, StoredSave


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
