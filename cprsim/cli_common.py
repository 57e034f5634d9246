"""What several commands share: arguments, and how they print."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cprsim.scenario import Scenario

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML).")]
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


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on stdout."""
    import json

    typer.echo(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def print_table(table: Any) -> None:
    """A rich table on stdout."""
    from rich.console import Console

    # A pipe has no width of its own: give the table the room that it needs.
    width = None if sys.stdout.isatty() else 140
    Console(width=width, markup=False, highlight=False).print(table)
