"""`cprsim scenarios`: what is shipped, to be listed, shown and copied."""

from pathlib import Path

import typer

from cprsim.cli.common import echo_list, print_json
from cprsim.cli.options import FORCE, JSON, argument, options, output
from cprsim.cli.output import OutputFile


@options(
    name=argument("Show this one; without it, list all.", "[NAME]", kind=str, optional=True),
    copy=output("Write it there, to be changed.", metavar="FILE"),
    force=FORCE,
    as_json=JSON,
)
def scenarios(*, name: str | None, copy: Path | None, force: bool, as_json: bool) -> None:
    """List the shipped scenarios, show one, or copy it to start your own from."""
    from cprsim.basics import shipped
    from cprsim.errors import UsageError

    if name is None and copy is not None:
        raise UsageError(f"--copy {copy}: give the name of what is to be copied")
    if name is None:
        found = shipped.scenarios()
        if as_json:
            print_json({"scenarios": [{"name": each.name, "title": each.title} for each in found]})
        else:
            needs = " (give its log: --set failures.trace=FILE)"
            echo_list({each.name: each.title + needs * bool(each.log) for each in found})
        return
    path = shipped.named(name)
    content = path.read_bytes()
    if copy is not None:
        OutputFile(copy, None, option="--copy", force=force).write(content, silent=as_json)
    if as_json:
        print_json({"name": path.stem, "path": str(path), "text": content.decode()})
    elif copy is None:
        typer.echo(content.decode(), nl=False)
