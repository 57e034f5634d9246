"""The source of failures: a log, and the part of it that a command or a scenario takes."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from cprsim.basics import units
from cprsim.basics.tabular import LogPath, opened
from cprsim.errors import LogError, UsageError
from cprsim.failures.logs.cells import header_cells
from cprsim.failures.logs.intervals import are_lives, is_line
from cprsim.failures.logs.job_table import are_jobs
from cprsim.failures.logs.log import FailureLog
from cprsim.failures.logs.options import Columns, Dates, Rules, Window, parse_window, shown, written
from cprsim.failures.logs.readers import READERS, read_log

_MOST_NODES = 10_000_000
_HEAD = 2**18  # bytes that are looked at to recognise a log
_DURATIONS = 50  # lines that are looked at, without a header


@dataclass(frozen=True)
class LogSource:
    """A log, and what is taken of it."""

    #: Its path, or a log that is read already.
    log: str | os.PathLike[str] | FailureLog
    #: Its format, a key of `cprsim.failures.logs.readers.READERS` or `"intervals"`.
    reader: str = "csv"
    #: Which system of a log that holds several.
    system: int | None = None
    #: Shares of the time from the first failure to the last, or dates.
    window: Window | None = None
    #: Failures at most so long after the one before are one, seconds.
    coalesce_s: float | None = None
    #: Nodes of the system; what the log says if not given.
    population: int | None = None
    #: What the columns of a CSV log are called, where they aren't found by themselves.
    columns: Columns | None = None
    #: How many of the nodes that fail most often are left out.
    exclude_worst: int = 0
    #: Which of its records are failures, as its owner says it.
    rules: Rules | None = None
    #: Whether `reader` was recognised, and not given.
    guessed: bool = False

    @classmethod
    def from_options(
        cls,
        log: str | os.PathLike[str] | FailureLog,
        reader: str | None = None,
        system: int | None = None,
        window: str | None = None,
        coalesce: str | None = None,
        population: int | None = None,
        columns: Mapping[str, str] | None = None,
        exclude_worst: int = 0,
        rules: Mapping[str, object] | None = None,
    ) -> Self:
        """From what a user writes: `window` as `parse_window` takes it, `coalesce` as a duration.

        `rules`: values of `Rules`, by their names. Without a `reader` the log's first lines say its
        format; where columns are named it is CSV.

        Raises
        ------
        LogError
            If the log can't be opened, or looks like none that is known.
        UsageError
            If a value makes no sense, or a log in memory is given a reader or a system.
        """
        said = Rules.of(rules or {})
        for_files = (reader not in (None, "csv"), system is not None, columns, said.given)
        if isinstance(log, FailureLog) and any(for_files):
            what = f"{', '.join(said.given)} go" if said.given else "reader, system and columns are"
            raise UsageError(
                f"{what.replace(' go', ' is') if len(said.given) == 1 else what} for files; leave "
                "them out for a log in memory"
            )
        named = Columns.of(columns) if columns else None
        within_s = None if coalesce is None else units.parse_duration(coalesce)
        if within_s is not None and within_s <= 0:
            raise UsageError(f"coalesce is {within_s:g} s; it is a positive time, e.g. 5 min")
        if population is not None and not 1 <= population <= _MOST_NODES:
            raise UsageError(f"population is {population}; it is from 1 to {_MOST_NODES:,}")
        if exclude_worst < 0:
            raise UsageError(f"exclude_worst is {exclude_worst}; it is a number of nodes, from 0")
        part = None if window is None else parse_window(window)
        guessed, known = False, reader or "csv"
        if reader is None and named is None and not isinstance(log, FailureLog):
            guessed, known = True, recognised(log)
        if known == "jobs":
            raise UsageError(
                f"{log}: is a table of jobs, not of failures; cprsim fit tells how often nodes "
                "interrupt them (in Python cprsim.failures.logs.job_table.read_jobs)"
            )
        return cls(
            log,
            known,
            system,
            part,
            within_s,
            population,
            named,
            exclude_worst,
            said if said.given else None,
            guessed,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was guessed; a log has those on the columns of a table."""
        said = []
        if self.guessed and self.reader != "csv":
            said.append(f"Read as {self.reader}, which it looks like; else give --reader.")
        if self.exclude_worst:
            worst = "node" if self.exclude_worst == 1 else f"{self.exclude_worst:,} nodes"
            said.append(
                f"Without the {worst} that failed most often, by hindsight: some of that was bad "
                "luck, so the others will fail more often than they did."
            )
        return tuple(said)

    @property
    def path(self) -> str:
        """Path of the log; empty if it was never a file."""
        return "" if isinstance(self.log, FailureLog) else os.fspath(self.log)

    def keys(self) -> dict[str, Any]:
        """Return the keys of `[failures]` that say what is taken of the log."""
        within_s = self.coalesce_s
        keys = {
            "reader": self.reader,
            "system": self.system,
            "columns": None if self.columns is None else self.columns.mapping(),
            "rules": None if self.rules is None else self.rules.mapping(),
            "window": None if self.window is None else written(self.window),
            "coalesce": None if within_s is None else units.format_exact(within_s, units.SECONDS),
        }
        return {key: value for key, value in keys.items() if value is not None}

    def failures(self) -> FailureLog:
        """The failures of the window, each at its own time: nothing is coalesced.

        Raises `LogError` if the log can't be read, or its window holds no failure; `UsageError` if
        `population` is less than the log needs.
        """
        log = self._whole
        if self.window is not None:
            log = log.part(self.window)
        return log.without_worst(self.exclude_worst) if self.exclude_worst else log

    @cached_property
    def _whole(self) -> FailureLog:
        """The log, whatever its window, read once."""
        log, population = self.log, self.population
        if not isinstance(log, FailureLog):
            log = read_log(log, self.reader, self.system, self.columns, self.rules)
        if population is None:
            return log
        highest = int(np.max(log.machines, initial=0))
        if population <= highest:
            raise UsageError(
                f"population is {population}, but node {highest} fails in the log; "
                f"it is {highest + 1} or more"
            )
        return replace(log, population=population)

    def shares(self) -> tuple[float, float]:
        """The window as shares of the time from the first failure to the last."""
        if isinstance(self.window, Dates):
            return self._whole.shares_of(self.window)
        return (0.0, 1.0) if self.window is None else self.window

    def __str__(self) -> str:
        """In words, for titles."""
        parts = [Path(self.path).name or "log"]
        if self.system is not None:
            parts.append(f"system {self.system}")
        if self.window is not None:
            parts.append(f"window {shown(self.window)}")
        if self.exclude_worst:
            parts.append(f"without the worst {self.exclude_worst:,}")
        if self.coalesce_s is not None:
            parts.append(f"coalesced within {units.format_duration(self.coalesce_s)}")
        return ", ".join(parts)


def recognised(path: LogPath) -> str:
    """The reader of a log: a key of `READERS`, `"intervals"` or `"jobs"`.

    A table of jobs, with their nodes and how they ended, is `"jobs"`. One of lives, with a column
    that says which were cut short, is `"intervals"`. One whose header has times and nodes under
    known names is CSV, whatever its cells hold; then count the looks of `READERS`; then a header
    with either. Raises `LogError` if the log can't be read, or looks like none that is known.
    """
    if Path(path).is_fifo() or Path(path).is_char_device():
        return "csv"  # can be read but once
    try:
        head = _head(path)
    except EOFError:
        return "csv"  # cut short; where, its reader says
    if not head:
        raise LogError(f"{path}: holds no failure")
    header = head.partition("\n")[0]
    of_jobs = are_jobs(header)
    if of_jobs or are_lives(head):
        return "jobs" if of_jobs else "intervals"
    columns = {"time", "node"} & Columns().found(header_cells(header)).keys()
    if len(columns) == 2:
        return "csv"
    for name, reader in READERS.items():
        if reader.looks and re.search(reader.looks, head, re.DOTALL):
            return name
    if columns or _are_durations(head):
        return "csv" if columns else "intervals"
    raise LogError(
        f"{path}: looks like none of the logs that are known: {', '.join(READERS)}, intervals; say "
        "which with --reader, or name the columns of a table with --time-column and --node-column"
    )


def _head(path: LogPath) -> str:
    """The beginning of a file, without white space around it; whole lines, if it has some."""
    with opened(path) as file:
        raw = file.read(_HEAD)
    if len(raw) == _HEAD:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    return raw.decode("utf-8-sig", "replace").strip()


def _are_durations(head: str) -> bool:
    """Return whether each line is one duration, with or without a flag."""
    texts = map(str.strip, head.splitlines())
    lines = list(islice((line for line in texts if line and line[0] != "#"), _DURATIONS))
    header = lines[:1] and lines[0].lower().startswith("duration_s")
    return bool(header or (lines and all(map(is_line, lines))))
