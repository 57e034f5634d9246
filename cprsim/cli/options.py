"""Options and arguments of commands: what a table of them holds, and those that several share."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import typer

from cprsim.cli import paths
from cprsim.cli.common import ProgressBar, echo_wrapped, print_json, print_table
from cprsim.cli.output import OutputFile, OutputFolder

_SCENARIO = "A scenario file (TOML), or the name of a shipped one"


class Given(NamedTuple):
    """An option or an argument: its type, its default, and its description for typer."""

    kind: Any
    default: Any
    info: Any


class Arguments(SimpleNamespace):
    """The arguments and options of a command, by name."""

    as_json, overrides = False, None

    def progress(self, what: str, unit: str = "") -> ProgressBar:
        """Return a bar, which is silent under --json."""
        return ProgressBar(what, unit, silent=self.as_json)

    def folder(self, names: Iterable[str]) -> OutputFolder | None:
        """Return the folder of `--out` for files of these names; None where it isn't given."""
        if self.out is None:
            return None
        return OutputFolder(self.out, names, force=self.force, silent=self.as_json)

    def file(self, path: Path | None, form: str | None, option: str) -> OutputFile | None:
        """Return a file of that format to write; None where no path is given."""
        if path is None:
            return None
        return OutputFile(path, form, option, force=self.force, silent=self.as_json)

    def picture(self, path: Path | None, option: str) -> OutputFile | None:
        """Return a picture to draw, in the format of its name; None where no path is given."""
        if path is not None:
            from cprsim.figures import check_picture

            check_picture(path, option)
        return self.file(path, None if path is None else path.suffix.lower()[1:], option)

    def print(self, found: Any, table: Any, lines: Any = None) -> None:
        """Print a result as one JSON document, or as its table and its notes (or `lines` of it)."""
        if self.as_json:
            print_json(found.document())
            return
        print_table(table(found))
        for line in found.notes if lines is None else lines(found):
            echo_wrapped(line)


def options(**table: Given) -> Callable[[Callable[[Any], None]], Callable[..., None]]:
    """Give a command its options and arguments, by name, in the order in which its help has them.

    The command takes them all as one `Arguments`.
    """

    def described(command: Callable[[Any], None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            command(Arguments(**given))

        hints = {name: Annotated[each.kind, each.info] for name, each in table.items()}
        called.__annotations__ = hints
        called.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                Parameter(
                    name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[name]
                )
                for name, each in table.items()
            ]
        )
        return called

    return described


def option(help: str, *names: str, kind: Any = str, default: Any = None, **more: Any) -> Given:
    """Return an option of one value: None where it isn't given, unless it has a default.

    It has to be given where the default is `...`.
    """
    default = Parameter.empty if default is ... else default
    optional = kind | None if default is None else kind
    return Given(optional, default, typer.Option(*names, help=help, **more))


def flag(help: str, *names: str, default: bool = False) -> Given:
    """Return an option that is there or not."""
    return Given(bool, default, typer.Option(*names, help=help))


def share(help: str, default: str | None = None, metavar: str = "X") -> Given:
    """Return an option of a number, `0.001` or `0.1%`."""
    return option(help, default=default, metavar=metavar, callback=_number)


def _number(text: str | None, param: typer.CallbackParam) -> float | None:
    from cprsim.errors import UsageError

    if text is None:
        return None
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise UsageError(f"{param.opts[0]} {text!r} is not a number: write 0.01 or 1%") from None


def many(help: str, *names: str, metavar: str | None = None, kind: Any = str) -> Given:
    """Return an option that can be given several times."""
    return Given(list[kind] | None, None, typer.Option(*names, metavar=metavar, help=help))


def argument(
    help: str, metavar: str, check: Any = None, *, kind: Any = Path, optional: bool = False
) -> Given:
    """Return an argument, a path by default; `check` refuses it before libraries are imported."""
    info = typer.Argument(metavar=metavar, help=help, callback=check)
    return Given(kind | None, None, info) if optional else Given(kind, Parameter.empty, info)


def output(help: str, *names: str, metavar: str = "PATH", required: bool = False) -> Given:
    """Return the option for a file or folder that a command writes."""
    info = typer.Option(*names, metavar=metavar, help=help, parser=given_path)
    return Given(Path, Parameter.empty, info) if required else Given(Path | None, None, info)


def given_path(text: str) -> Path:
    """Return the path that a command is to write."""
    if not text:
        raise typer.BadParameter("is empty (a shell variable that is not set?); give a path")
    return Path(text)


SCENARIO = argument(f"{_SCENARIO}.", "SCENARIO", paths.scenario_file)
TRAINED = argument(f"{_SCENARIO}; [trainer] says how to train.", "CONFIG", paths.scenario_file)
POLICIES = many("Only this policy; repeatable.", "--policy", metavar="NAME")
OVERRIDES = many(
    'Set a value, e.g. failures.mean="14 h"; repeatable.', "--set", metavar="KEY=VALUE"
)
SEED = option("Random seed.", kind=int, default=0)
PLOT = output("Draw into a .png, .svg or .pdf.", metavar="FILE")
FORCE = flag("Replace files that cprsim did not write, too.", "--force")
JSON = flag("Print one JSON document and nothing else.", "--json")
