"""Which failures of which log: what the command line and a scenario say of one."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from cprsim.basics import units
from cprsim.errors import UsageError
from cprsim.failures.logs.log import FailureLog, parse_window
from cprsim.failures.logs.readers import read_log

_MOST_NODES = 10_000_000


@dataclass(frozen=True)
class LogSource:
    """A log, and what is taken of it.

    Parameters
    ----------
    log
        Its path, or a log that is read already.
    reader
        Its format, a key of `cprsim.failures.logs.readers.READERS` or `"intervals"`.
    system
        Which system of a log that holds several.
    window
        Shares of the time from the first failure to the last.
    coalesce_s
        Failures at most so long after the one before are one, seconds.
    population
        Nodes of the system; what the log says if not given.
    """

    log: str | os.PathLike[str] | FailureLog
    reader: str = "csv"
    system: int | None = None
    window: tuple[float, float] | None = None
    coalesce_s: float | None = None
    population: int | None = None

    @classmethod
    def from_options(
        cls,
        log: str | os.PathLike[str] | FailureLog,
        reader: str,
        system: int | None,
        window: str | None,
        coalesce: str | None,
        population: int | None,
    ) -> Self:
        """From what a user writes: `window` as `"0.5:1"`, `coalesce` as a duration.

        Raises
        ------
        UsageError
            If a value makes no sense, or a log in memory is given a reader or a system.
        """
        if isinstance(log, FailureLog) and (reader != "csv" or system is not None):
            raise UsageError("reader and system are for files; leave them out for a log in memory")
        within_s = None if coalesce is None else units.parse_duration(coalesce)
        if within_s is not None and within_s <= 0:
            raise UsageError(f"coalesce is {within_s:g} s; it is a positive time, e.g. 5 min")
        if population is not None and not 1 <= population <= _MOST_NODES:
            raise UsageError(f"population is {population}; it is from 1 to {_MOST_NODES:,}")
        shares = None if window is None else parse_window(window)
        return cls(log, reader, system, shares, within_s, population)

    @property
    def path(self) -> str:
        """Path of the log; empty if it was never a file."""
        return "" if isinstance(self.log, FailureLog) else os.fspath(self.log)

    def failures(self) -> FailureLog:
        """The failures of the window, each at its own time: nothing is coalesced.

        Raises
        ------
        LogError
            If the log can't be read, or its window holds no failure.
        UsageError
            If `population` is less than the log needs.
        """
        log = self.log
        if not isinstance(log, FailureLog):
            log = read_log(log, self.reader, self.system)
        if self.population is not None:
            log = replace(log, population=_enough(self.population, log))
        return log if self.window is None else log.window(*self.window)

    def __str__(self) -> str:
        """In words, for titles."""
        parts = [Path(self.path).name or "log"]
        if self.system is not None:
            parts.append(f"system {self.system}")
        if self.window is not None:
            parts.append("window {:g}:{:g}".format(*self.window))
        if self.coalesce_s is not None:
            parts.append(f"coalesced within {units.format_duration(self.coalesce_s)}")
        return ", ".join(parts)


def _enough(population: int, log: FailureLog) -> int:
    highest = int(np.max(log.machines, initial=0))
    if population <= highest:
        raise UsageError(
            f"population is {population}, but node {highest} fails in the log; "
            f"it is {highest + 1} or more"
        )
    return population
