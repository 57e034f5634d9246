"""What several commands share: arguments, and how they print."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from cprsim.cli.progress_lines import ProgressLines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from cprsim.scenario import Scenario

_SCENARIO = "A scenario file (TOML), or the name of a shipped one"


def scenario_file(path: Path | None) -> Path | None:
    """The path of a scenario, refused before libraries are imported that take a second."""
    from cprsim.basics.shipped import located, missing
    from cprsim.basics.toml import parse_file, text_of
    from cprsim.errors import ScenarioError

    where = None if path is None else located(path)
    if where is not None and where.is_file():  # a pipe can be read but once
        _check_scenario(parse_file(text_of(where), where), where)
    elif where is not None and where.is_dir():
        raise ScenarioError(f"{path}: can't be read: Is a directory")
    elif path is not None and where is not None and not where.exists():
        raise ScenarioError(missing(path))
    return path


def _check_scenario(tables: "Mapping[str, Any]", path: Path) -> None:
    """Raise `ScenarioError` for a file of something else that happens to be TOML."""
    from cprsim.errors import ScenarioError

    others = any(isinstance(each, dict) for each in tables.values())
    if others and not tables.keys() & {"job", "cluster", "failures", "policies"}:
        raise ScenarioError(
            f"{path}: is no scenario: it has none of [job], [cluster], [failures] and [policies]"
        )


def scenario_or_sweep(path: Path) -> Path:
    """The path of a scenario, or of the folder of a sweep."""
    return sweep_folder(path) if path.is_dir() else scenario_file(path) or path


def there(path: Path | None) -> Path | None:
    """The path of a log or a folder, which is there, or the name of a shipped scenario."""
    from cprsim.basics.files import absent
    from cprsim.basics.reading import note
    from cprsim.basics.shipped import located
    from cprsim.errors import LogError

    if path is not None and not located(path).exists():
        raise LogError(f"{path}: {absent(path)}")
    if path is not None:
        note(located(path))
    return path


def check_text(path: Path) -> None:
    """Raise `LogError` for a log whose first line is no text."""
    from contextlib import closing

    from cprsim.basics.tabular import lines

    if there(path) and (path.is_file() or path.is_dir()):  # a pipe can be read but once
        with closing(lines(path)) as text:
            next(text, None)


def sweep_folder(path: Path) -> Path:
    """The folder of a sweep, refused likewise."""
    from cprsim.basics.reading import note
    from cprsim.errors import UsageError

    if not (path / "sweep.db").is_file():
        raise UsageError(f"{path}: holds no sweep; name the folder given to cprsim sweep --out")
    note(path / "sweep.db")
    return path


def swept_or_run(path: Path) -> Path:
    """The folder of a sweep or of a run, refused likewise."""
    from cprsim.errors import UsageError

    if not any((path / name).is_file() for name in ("sweep.db", "results.csv")):
        raise UsageError(
            f"{path}: holds no sweep and no run; name a folder given to cprsim sweep --out, or to "
            "cprsim run --out"
        )
    return path


ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO", help=f"{_SCENARIO}.", callback=scenario_file),
]
TrainedFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help=f"{_SCENARIO}; [trainer] says how to train.",
        callback=scenario_file,
    ),
]
Policies = Annotated[
    list[str] | None, typer.Option("--policy", metavar="NAME", help="Only this policy; repeatable.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help='Set a value, e.g. failures.mean="14 h"; repeatable.'
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def load(path: Path, overrides: list[str] | None) -> "Scenario":
    """The scenario of a file, with what `--set` says."""
    from cprsim.scenario import load_scenario

    return load_scenario(path, overrides or ())


def ready_to_train() -> None:
    """Have torch imported beside this process; raise `UsageError` where it is not installed."""
    from cprsim.trainer import check_torch

    check_torch()
    from cprsim.trainer.members import forking

    forking.context()


def json_bytes(document: dict[str, Any]) -> bytes:
    """One JSON document, as files have it."""
    import json

    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def echo(text: str = "", *, err: bool = False) -> None:
    """Lines on stdout or stderr, with nothing in them that a terminal acts upon."""
    from cprsim.errors import printable

    typer.echo(printable(text), err=err)


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on stdout."""
    import json

    echo(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


#: Of a terminal that answers are to fit, in columns.
WIDTH = 80


def share(option: str, text: str | None) -> float | None:
    """The number that an option has, `0.001` or `0.1%`; None where it isn't given."""
    from cprsim.errors import UsageError

    if text is None:
        return None
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        return float(number) / 100 if percent else float(number)
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a number: write 0.01 or 1%") from None


def echo_wrapped(line: str, indent: str = "  ", *, err: bool = False) -> None:
    """A sentence on stdout or stderr; in lines that fit where that has a width, `WIDTH` at most.

    `indent`: of all lines but the first, beyond what it is indented itself.
    """
    from cprsim.basics.lines import wrapped

    wide = _width(sys.stderr if err else sys.stdout)
    if wide is not None:
        line = wrapped(line, min(wide, WIDTH), indent)
    echo(line, err=err)


def width() -> int:
    """Columns of stdout; `WIDTH` where it has none of its own."""
    return _width(sys.stdout) or WIDTH


def print_table(table: Any, piped: int = 140) -> None:
    """A table on stdout; into a pipe, which has no width of its own, so many columns wide."""
    from rich.console import Console
    from rich.table import Table

    from cprsim.report.terminal import Fitting

    shown = Fitting(table) if isinstance(table, Table) else table
    Console(width=_width(sys.stdout) or piped, markup=False, highlight=False).print(
        _Harmless(shown)
    )


def _width(stream: TextIO) -> int | None:
    """Columns of a terminal, or as the environment has them; None of a pipe or a file."""
    import os

    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


class _Harmless:
    """What rich draws, with nothing in its texts that a terminal acts upon."""

    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from cprsim.errors import printable

        for each in console.render(self._drawn, options):
            yield each if each.control else each._replace(text=printable(each.text))


class ProgressBar:
    """A bar on a terminal's stderr, a line now and then on another; nothing if silent.

    Start it before libraries are imported that take a second.
    """

    def __init__(self, what: str, unit: str = "", *, silent: bool = False) -> None:
        self._what, self._unit = what, unit
        self._bar: Any = None
        self._task: Any = None
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
        elif not silent:
            self._lines = ProgressLines(partial(echo, err=True))
            self._lines.what = what

    def __enter__(self) -> "ProgressBar":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=None, count="")
        if self._lines is not None:
            self._lines.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._bar, self._lines):
            if each is not None:
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


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """What is interrupted in here goes on when the command is given again."""
    from cprsim.errors import RunError

    try:
        yield
    except KeyboardInterrupt:
        done = f"what is done is in {out}" if out.exists() else "nothing was done yet"
        raise RunError(f"interrupted; {done}: give the same command again to go on") from None


def show(found: Any, table: Any, as_json: bool) -> None:
    """What was found, as one JSON document or as its table and notes."""
    if as_json:
        print_json(found.document())
        return
    print_table(table(found))
    for note in found.notes:
        echo_wrapped(note)
