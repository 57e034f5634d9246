"""`cprsim policies`: the systems there are, and what each of them does and needs."""

from cprsim.cli.common import echo, echo_list, echo_wrapped, print_json
from cprsim.cli.options import JSON, argument, options


@options(
    name=argument("Explain this one; without it, list all.", "[NAME]", kind=str, optional=True),
    as_json=JSON,
)
def policies(*, name: str | None, as_json: bool) -> None:
    """List the fault-tolerance policies: what each does, what it needs, its source."""
    from cprsim.advice.explained import explained
    from cprsim.policies.registry import systems

    shown = [explained(each) for each in (systems() if name is None else [name])]
    if as_json:
        documents = [each._asdict() for each in shown]
        print_json({"policies": documents} if name is None else documents[0])
        return
    if name is None:
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
