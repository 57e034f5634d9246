"""Progress of a sweep: a bar on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from cprsim.basics.units import format_duration
from cprsim.errors import printable
from cprsim.sweeps.task_queue import SweepProgress

_EVERY_S = 5.0


class Lines:
    """Plain lines, for a pipe or a file; none without a `stream`."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last_s = clock()
        self._first: tuple[float, SweepProgress] | None = None

    def update(self, progress: SweepProgress) -> None:
        """Write a line if the last one is some seconds old."""
        words = self.words(progress)
        if self._clock() - self._last_s >= _EVERY_S:
            self._last_s = self._clock()
            self.tell(words)

    def tell(self, text: str) -> None:
        """Write a line."""
        if self._stream is not None:
            print(f"cprsim: {printable(text)}", file=self._stream, flush=True)

    def words(self, progress: SweepProgress) -> str:
        """Return points done, points a second by this process, and the time left."""
        now_s = self._clock()
        if self._first is None:
            self._first = (now_s, progress)
        start_s, first = self._first
        words = f"{progress.points:,} of {progress.of:,} points"
        if progress.failed:
            words += f", {progress.failed:,} failed"
        passed_s, done = now_s - start_s, progress.share - first.share
        if passed_s > 0 and done > 0:
            words += f", {(progress.points - first.points) / passed_s:.3g} points/s"
            if progress.share < 1:
                words += f", {format_duration((1 - progress.share) * passed_s / done)} left"
        return words


class Bar(Lines):
    """A bar on a terminal, with lines above it."""

    def __init__(self, bar: Any) -> None:
        super().__init__(None)
        self._bar, self._task = bar, bar.add_task("", total=1.0, words="")

    def update(self, progress: SweepProgress) -> None:
        """Move the bar."""
        self._bar.update(self._task, completed=progress.share, words=self.words(progress))

    def tell(self, text: str) -> None:
        """Write a line above the bar."""
        self._bar.console.print(f"cprsim: {printable(text)}", markup=False, highlight=False)


@contextmanager
def shown(*, silent: bool) -> Iterator[Lines]:
    """Display on stderr, as fits it, how far a sweep is."""
    if silent or not sys.stderr.isatty():
        yield Lines(None if silent else sys.stderr)
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress  # noqa: PLC0415

    columns = ("sweeping", BarColumn(), "{task.fields[words]}")
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar)
