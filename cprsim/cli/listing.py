"""`cprsim scenarios`, `policies` and `schema`: what there is, to be listed, shown and copied."""

from typing import Any

import typer

from cprsim.cli import options as opt
from cprsim.cli.common import echo, echo_list, echo_wrapped, print_json


@opt.options(
    name=opt.argument("Show this one; without it, list all.", "[NAME]", kind=str, optional=True),
    copy=opt.output("Write it there, to be changed.", metavar="FILE"),
    force=opt.FORCE,
    as_json=opt.JSON,
)
def scenarios(asked: Any) -> None:
    """List the shipped scenarios, show one, or copy it to start your own from."""
    from cprsim.basics import shipped
    from cprsim.errors import UsageError

    if asked.name is None and asked.copy is not None:
        raise UsageError(f"--copy {asked.copy}: give the name of what is to be copied")
    if asked.name is None:
        found = shipped.scenarios()
        if asked.as_json:
            print_json({"scenarios": [{"name": each.name, "title": each.title} for each in found]})
        else:
            needs = " (give its log: --set failures.trace=FILE)"
            echo_list({each.name: each.title + needs * bool(each.log) for each in found})
        return
    path = shipped.named(asked.name)
    content = path.read_bytes()
    if (file := asked.file(asked.copy, None, "--copy")) is not None:
        file.write(content)
    if asked.as_json:
        print_json({"name": path.stem, "path": str(path), "text": content.decode()})
    elif asked.copy is None:
        typer.echo(content.decode(), nl=False)


@opt.options(
    name=opt.argument("Explain this one; without it, list all.", "[NAME]", kind=str, optional=True),
    as_json=opt.JSON,
)
def policies(asked: Any) -> None:
    """List the fault-tolerance policies: what each does, what it needs, its source."""
    from cprsim.advice.explained import explained
    from cprsim.contract.registry import systems

    shown = [explained(each) for each in (systems() if asked.name is None else [asked.name])]
    if asked.as_json:
        documents = [each._asdict() for each in shown]
        print_json({"policies": documents} if asked.name is None else documents[0])
        return
    if asked.name is None:
        echo_list({each.name: each.does for each in shown})
        return
    (found,) = shown
    echo_wrapped(f"{found.name}: {found.does}", indent="")
    parts = {
        "Keys": ", ".join(found.keys),
        "Needs": found.needs,
        "Trainer": found.trainer,
        "Assumes": found.assumes,
        "Source": found.source,
    }
    echo_list({f"{label}:": text for label, text in parts.items() if text}, least=12)
    echo("[policies.NAME]")
    echo(f'system = "{found.name}"')


def schema() -> None:
    """Print the JSON schema of scenario files, by which editors complete and check them."""
    from cprsim.cli.json_schema import scenario_schema

    print_json(scenario_schema())
