"""Public names of the package: what Sphinx is to document, by its autodoc."""

import inspect
from importlib import import_module

#: What users import from, and what for.
MODULES = {
    "cprsim": "Everything that a script needs.",
    "cprsim.contract": "What a policy of your own is made of.",
    "cprsim.schema": "Types of its keys.",
    "cprsim.testing": "What it is tested by.",
    "cprsim.trainer": "What a trainer of your own is plugged in by (extra `torch`).",
    "cprsim.errors": "What is raised.",
}


def page() -> str:
    """A heading a module, functions before classes; each name where it comes first."""
    told: set[int] = set()
    return "\n".join(
        f"## {module}\n\n{what}\n\n{_documented(module, told)}" for module, what in MODULES.items()
    )


def names(module: str) -> list[str]:
    """Its public names."""
    found = import_module(module)
    listed = getattr(found, "__all__", None)
    return list(listed) if listed is not None else [n for n in vars(found) if n[0].isupper()]


def _documented(module: str, told: set[int]) -> str:
    found = import_module(module)
    blocks: dict[str, list[str]] = {"autofunction": [], "autoclass": [], "autodata": []}
    for name in names(module):
        each = getattr(found, name)
        if id(each) in told:
            continue
        told.add(id(each))
        kind = "autoclass" if inspect.isclass(each) else "autodata"
        blocks["autofunction" if inspect.isfunction(each) else kind].append(name)
    options = {"autoclass": "\n   :members:\n   :exclude-members: model_config"}
    text = "\n\n".join(
        f".. {directive}:: {module}.{name}{options.get(directive, '')}"
        for directive, of_kind in blocks.items()
        for name in of_kind
    )
    return f"```{{eval-rst}}\n{text}\n```\n"
