"""`cprsim policies`: the systems there are, and what each of them does and needs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cprsim.cli.common import Json, echo, echo_wrapped, print_json

if TYPE_CHECKING:
    from cprsim.advice.explained import Explained


def policies(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Explain this one; without it, list all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the fault-tolerance policies: what each does, what it needs, its source."""
    from cprsim.advice.explained import explained

    if name is None:
        _list([explained(each) for each in _names()], as_json)
        return
    found = explained(name)
    if as_json:
        print_json(found._asdict())
        return
    echo_wrapped(f"{found.name}: {found.does}", indent="")
    for label, text in _parts(found).items():
        if text:
            echo_wrapped(f"{label + ':':<12}{text}", indent=" " * 12)
    echo("[policies.NAME]")
    echo(f'system = "{found.name}"')


def _names() -> tuple[str, ...]:
    from cprsim.policies.registry import systems

    return systems()


def _parts(found: "Explained") -> dict[str, str]:
    return {
        "Keys": ", ".join(found.keys),
        "Needs": found.needs,
        "Trainer": found.trainer,
        "Assumes": found.assumes,
        "Source": found.source,
    }


def _list(found: "list[Explained]", as_json: bool) -> None:
    if as_json:
        documents: list[dict[str, Any]] = [each._asdict() for each in found]
        print_json({"policies": documents})
        return
    wide = max(len(each.name) for each in found) + 2
    for each in found:
        echo_wrapped(f"{each.name:<{wide}}{each.does}", indent=" " * wide)
