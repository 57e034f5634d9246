"""Invariants of a run: its time adds up, and can be watched."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.contract.ledger import CAUSES, Ledger
from cprsim.failures.hits import Hit
from cprsim.runs.result import Result
from cprsim.sim.engine import COLUMNS
from cprsim.sim.observer import Observer

Row = NDArray[np.float64]


def assert_time_adds_up(run: Result | Ledger) -> None:
    """Check that the seconds of every cause add up to the wall clock.

    Parameters
    ----------
    run
        A result, all of whose replications are checked, or the ledger of one run.

    Raises
    ------
    AssertionError
        A cause has a negative number of seconds, however small, or one that is no number; or all
        causes together are off the wall clock by more than 1e-9 of it. It names the cause.
    """
    if isinstance(run, Ledger):
        _check_seconds("the run", {cause: getattr(run, cause) for cause in CAUSES}, run.wall)
        return
    for row in run.replications.to_dict("records"):
        where = f"policy {row['policy']!r}, replication {row['replication']}"
        _check_seconds(where, {cause: row[f"{cause}_s"] for cause in CAUSES}, row["wall_s"])


def _check_seconds(where: str, seconds: Mapping[str, float], wall_s: float) -> None:
    for cause, value in seconds.items():
        require(0 <= value < math.inf, f"{where}: {cause} took {value} s; it must be >= 0")
    total = math.fsum(seconds.values())
    require(
        abs(total - wall_s) <= 1e-9 * wall_s,
        f"{where}: the causes add up to {total} s, but the wall clock says {wall_s} s: "
        + ", ".join(f"{cause} {value} s" for cause, value in seconds.items()),
    )


def differences(found: Row, expected: Row) -> dict[str, tuple[float, float]]:
    """Entries of two runs, in the order of `COLUMNS`, that differ by more than rounding, by name.

    That is 1e-9 of each; of what is near 0, for seconds 1e-12 of the wall clock, for others 1e-12.
    """
    wall_s = expected[COLUMNS.index("wall")]
    scale = [wall_s if name in (*CAUSES, "wall") else 1.0 for name in COLUMNS]
    near = np.isclose(found, expected, rtol=1e-9, atol=1e-12 * np.array(scale))
    entries = zip(COLUMNS, found.tolist(), expected.tolist(), near, strict=True)
    return {name: (one, two) for name, one, two, same in entries if not same}


def require(holds: bool, otherwise: str) -> None:
    """Check as `assert`, whose text pytest wouldn't see here, and Python not under `-O`."""
    if not holds:
        raise AssertionError(otherwise)


class Span(NamedTuple):
    """Wall-clock seconds of one cause."""

    cause: str
    start_s: float
    end_s: float


@dataclass
class Recording(Observer):
    """An observer that writes down what it sees: `play(..., observer=Recording())`.

    Attributes
    ----------
    spans
        Cause, start and end of every span of time, as they came.
    failures
        When a failure struck, and what it hit.
    """

    spans: list[Span] = field(default_factory=list)
    failures: list[tuple[float, Hit]] = field(default_factory=list)

    def span(self, cause: str, start_s: float, end_s: float) -> None:
        """Time from `start_s` to `end_s` went to `cause`."""
        self.spans.append(Span(cause, start_s, end_s))

    def failure(self, at_s: float, hit: Hit) -> None:
        """A failure struck at `at_s`."""
        self.failures.append((at_s, hit))

    def until(self, wall_s: float) -> "Recording":
        """Return the record up to `wall_s`, the span that was open then cut off there."""
        return Recording(
            [Span(c, start, min(end, wall_s)) for c, start, end in self.spans if start <= wall_s],
            [failure for failure in self.failures if failure[0] <= wall_s],
        )
