"""`cprsim scenarios`: what is shipped, to be listed, shown and copied."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cprsim.cli.common import Json, echo_wrapped, print_json
from cprsim.cli.output import Force, OutputFile, output

if TYPE_CHECKING:
    from cprsim.basics.shipped import Shipped


def scenarios(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this one; without it, list all.")
    ] = None,
    copy: Annotated[
        Path | None, output(metavar="FILE", help="Write it there, to be changed.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """List the shipped scenarios, show one, or copy it to start your own from."""
    from cprsim.basics import shipped
    from cprsim.errors import UsageError

    if name is None and copy is not None:
        raise UsageError(f"--copy {copy}: give the name of what is to be copied")
    if name is None:
        _list(shipped.scenarios(), as_json)
        return
    path = shipped.named(name)
    content = path.read_bytes()
    if copy is not None:
        OutputFile(copy, None, option="--copy", force=force).write(content, silent=as_json)
    text = content.decode()
    if as_json:
        print_json({"name": path.stem, "path": str(path), "text": text})
    elif copy is None:
        typer.echo(text, nl=False)


def _list(found: "list[Shipped]", as_json: bool) -> None:
    if as_json:
        print_json({"scenarios": [{"name": each.name, "title": each.title} for each in found]})
        return
    wide = max(len(each.name) for each in found) + 2
    for each in found:
        needs = " (give its log: --set failures.trace=FILE)" * bool(each.log)
        echo_wrapped(f"{each.name:<{wide}}{each.title}{needs}", indent=" " * wide)
