"""Printing and progress of all commands."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer

#: Of a terminal that answers are to fit, in columns.
WIDTH = 80
#: Between two lines that say how far a command is, s.
EVERY_S = 20.0


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines on stdout or stderr, with nothing in them that a terminal acts upon."""
    from cprsim.errors import printable

    typer.echo(printable(text), err=err)


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout."""
    import json

    echo(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def echo_wrapped(line: str, indent: str = "  ", *, err: bool = False) -> None:
    """Print a sentence, in lines that fit where stdout or stderr has a width, `WIDTH` at most.

    `indent`: of all lines but the first, beyond what it is indented itself.
    """
    from cprsim.basics.lines import wrapped

    wide = _width(sys.stderr if err else sys.stdout)
    echo(line if wide is None else wrapped(line, min(wide, WIDTH), indent), err=err)


def echo_list(rows: dict[str, str], least: int = 0) -> None:
    """Print names and what each of them is, in two columns."""
    wide = max(least, *(len(name) + 2 for name in rows))
    for name, text in rows.items():
        echo_wrapped(f"{name:<{wide}}{text}", indent=" " * wide)


def width() -> int:
    """Return the columns of stdout; `WIDTH` where it has none."""
    return _width(sys.stdout) or WIDTH


def _width(stream: TextIO) -> int | None:
    """Return the columns of a terminal, or those of the environment; None of a pipe or a file."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


def print_table(table: Any, piped: int = 140) -> None:
    """Print a table; into a pipe, which has no width, so many columns wide."""
    from rich.console import Console
    from rich.segment import Segments
    from rich.table import Table

    from cprsim.basics.terminal import Fitting
    from cprsim.errors import printable

    console = Console(width=_width(sys.stdout) or piped, markup=False, highlight=False)
    shown = Fitting(table) if isinstance(table, Table) else table
    # Nothing in its texts may be what a terminal acts upon.
    parts = console.render(shown)
    console.print(Segments(e if e.control else e._replace(text=printable(e.text)) for e in parts))


class ProgressBar:
    """A bar on a terminal's stderr, a line now and then on another; nothing if silent.

    Start it before libraries are imported that take a second. Lines come from a thread, so that
    work without steps has them as well.
    """

    def __init__(self, what: str, unit: str = "", *, silent: bool = False) -> None:
        self._what, self._unit, self._count = what, unit, ""
        self._bar: Any = None
        self._done, self._lines = threading.Event(), threading.Thread(target=self._tell)
        self._lines.daemon, self._silent = True, silent
        if not silent and sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                "{task.description}",
                progress.BarColumn(),
                "{task.fields[count]}",
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(what, total=None, count="")

    def __enter__(self) -> "ProgressBar":
        if not self._silent:
            (self._bar or self._lines).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._bar is not None:
            self._bar.stop()
        elif not self._silent:
            self._lines.join()

    def update(self, done: int, total: int, what: str | None = None) -> None:
        """Show that `done` of `total` are done, of something else if that is said."""
        self._what = what or self._what
        count = f"{done:,} of {total:,} {self._unit}".strip()
        share = f" ({100 * done / total:.0f} %)" if total else ""
        self._count = f": {count}{share}"
        if self._bar is not None:
            now = {"completed": done, "total": total, "count": count}
            self._bar.update(self._task, description=self._what, **now)

    def begin(self, what: str) -> None:
        """Show what is done now, of unknown length."""
        self._what, self._count = what, ""
        if self._bar is not None:
            self._bar.update(self._task, description=what)

    def _tell(self) -> None:
        """Write a line now and then until all is done."""
        began_s = time.monotonic()
        while not self._done.wait(EVERY_S):
            seconds = time.monotonic() - began_s
            echo(f"cprsim: {self._what}{self._count}, {seconds:,.0f} s so far", err=True)


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say that work interrupted in here continues when the command is given again."""
    from cprsim.errors import RunError

    try:
        yield
    except KeyboardInterrupt:
        done = f"what is done is in {out}" if out.exists() else "nothing was done yet"
        raise RunError(f"interrupted; {done}: give the same command again to go on") from None
