"""The commands, from the command line itself: what their functions declare."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from cprsim.cli.command import app

_KINDS: dict[Any, str] = {int: "N", float: "X", Path: "PATH"}


def page() -> str:
    """A heading a command: what it does, how it is called, its arguments and options."""
    return "\n".join(_command(each.callback) for each in app.registered_commands)


def names() -> list[str]:
    """Return the names of all commands, in the order of the help."""
    return [each.callback.__name__ for each in app.registered_commands if each.callback]


def _command(function: Any) -> str:
    name, parameters = function.__name__, list(_parameters(function))
    called = [_named(each) for each in parameters if each.is_argument]
    lines = [f"## `cprsim {name}`\n", inspect.cleandoc(function.__doc__ or "")]
    lines += [f"\n    {' '.join(['cprsim', name, *called, '[OPTIONS]'])}\n"]
    if parameters:
        lines += ["| argument or option | default | what it does |", "|---|---|---|"]
    for each in sorted(parameters, key=lambda each: not each.is_argument):
        cells = (f"`{_spelt(each)}`", _default(each), " ".join((each.info.help or "").split()))
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines) + "\n"


class _Parameter:
    """An argument or option of a command, and how typer declares it."""

    def __init__(self, name: str, annotation: Any, default: Any) -> None:
        kind, *metadata = get_args(annotation)
        self.name, self.default = name, default
        (self.info,) = (each for each in metadata if hasattr(each, "param_decls"))
        self.is_argument = type(self.info).__name__ == "ArgumentInfo"
        kinds = {kind, *get_args(kind)}
        self.is_flag = bool in kinds
        self.kind = next((word for each, word in _KINDS.items() if each in kinds), "TEXT")
        self.required = default is inspect.Parameter.empty


def _parameters(function: Any) -> Iterator[_Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, each in inspect.signature(function).parameters.items():
        yield _Parameter(name, hints[name], each.default)


def _named(argument: _Parameter) -> str:
    name = (argument.info.metavar or argument.name.upper()).strip("[]")
    return name if argument.required else f"[{name}]"


def _spelt(each: _Parameter) -> str:
    if each.is_argument:
        return _named(each).strip("[]")
    # In `Annotated`, what typer calls the default is the first of the names.
    named = [each.info.default, *(each.info.param_decls or ())]
    given = [name for name in named if isinstance(name, str) and name.startswith("--")]
    option = given[0] if given else f"--{each.name.replace('_', '-')}"
    return option if each.is_flag else f"{option} {each.info.metavar or each.kind}"


def _default(each: _Parameter) -> str:
    if each.required:
        return "**required**"
    return "" if each.default is None or each.default is False else f"`{each.default}`"
