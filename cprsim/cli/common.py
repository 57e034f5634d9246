"""Printing and progress of all commands."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

#: Of a terminal that answers are to fit, in columns.
WIDTH = 80
#: Between two lines that say how far a command is, s.
EVERY_S = 20.0


def json_bytes(document: dict[str, Any]) -> bytes:
    """Return one JSON document, as files have it."""
    import json

    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines on stdout or stderr, with nothing in them that a terminal acts upon."""
    from cprsim.basics.errors import printable

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
    from rich.table import Table

    from cprsim.basics.terminal import Fitting

    shown = Fitting(table) if isinstance(table, Table) else table
    console = Console(width=_width(sys.stdout) or piped, markup=False, highlight=False)
    console.print(_Harmless(shown))


class _Harmless:
    """A drawing of rich, with nothing in its texts that a terminal acts upon."""

    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from cprsim.basics.errors import printable

        for each in console.render(self._drawn, options):
            yield each if each.control else each._replace(text=printable(each.text))


class ProgressBar:
    """A bar on a terminal's stderr, a line now and then on another; nothing if silent.

    Start it before libraries are imported that take a second.
    """

    def __init__(self, what: str, unit: str = "", *, silent: bool = False) -> None:
        self._what, self._unit = what, unit
        self._bar: Any = None
        self._lines: ProgressLines | None = None
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
        elif not silent:
            self._lines = ProgressLines(lambda line: echo(line, err=True))
            self._lines.what = what

    def __enter__(self) -> "ProgressBar":
        for each in filter(None, (self._bar, self._lines)):
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in filter(None, (self._bar, self._lines)):
            each.stop()

    def update(self, done: int, total: int, what: str | None = None) -> None:
        """Show that `done` of `total` are done, of something else if that is said."""
        count, said = f"{done:,} of {total:,} {self._unit}", what or self._what
        if self._bar is not None:
            self._bar.update(self._task, description=said, completed=done, total=total, count=count)
        if self._lines is not None:
            share = f" ({100 * done / total:.0f} %)" if total else ""
            self._lines.what, self._lines.count = said, f": {count.strip()}{share}"

    def begin(self, what: str) -> None:
        """Show what is done now, of unknown length."""
        if self._bar is not None:
            self._bar.update(self._task, description=what)
        if self._lines is not None:
            self._lines.what, self._lines.count = what, ""


class ProgressLines:
    """Lines from a thread, so that work without steps has them as well.

    `tell` writes a line; `clock` gives seconds; `wait` returns whether all is done, after so many
    seconds at most.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._tell, self._clock = tell, clock
        self._done = threading.Event()
        self._wait = self._done.wait if wait is None else wait
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._began_s = clock()
        self.what = self.count = ""

    def start(self) -> None:
        """Write lines from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Write no more."""
        self._done.set()
        self._thread.join()

    def run(self) -> None:
        """Write a line now and then until all is done."""
        while not self._wait(EVERY_S):
            seconds = self._clock() - self._began_s
            self._tell(f"cprsim: {self.what}{self.count}, {seconds:,.0f} s so far")


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say that work interrupted in here continues when the command is given again."""
    from cprsim.errors import RunError

    try:
        yield
    except KeyboardInterrupt:
        done = f"what is done is in {out}" if out.exists() else "nothing was done yet"
        raise RunError(f"interrupted; {done}: give the same command again to go on") from None
