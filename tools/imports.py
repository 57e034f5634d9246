"""Who imports whom, read off the source files: nothing is imported to find out."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Dotted names of all that a file imports, wherever in it; not what types alone need.

    For `from a import b` that is `a.b`, be `b` a module or not.
    """
    return tuple(_within(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))))


def _within(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(module=str(module), level=0):
            yield from (f"{module}.{alias.name}" for alias in node.names)
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _called(node) in _BY_NAME:
            yield name
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            for statement in node.orelse:
                yield from _within(statement)
            return
    for each in ast.iter_child_nodes(node):
        yield from _within(each)


_BY_NAME = ("import_module", "importlib.import_module", "__import__")


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func)
