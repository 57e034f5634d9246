"""Parts of the site's pages that are made from the code when the site is built."""

from collections.abc import Callable
from typing import Any

from tools.site import commands, keys, python, results
from tools.site.sessions import Sessions

#: A page has a line `<!-- generated: NAME -->` where one of these goes.
GENERATED: dict[str, Callable[[], str]] = {
    "keys": keys.page,
    "commands": commands.page,
    "results": results.page,
    "python": python.page,
}


def _marker(name: str) -> str:
    return f"<!-- generated: {name} -->"


def with_generated(text: str) -> str:
    """A page with the parts that it asks for."""
    for name, made in GENERATED.items():
        if _marker(name) in text:
            text = text.replace(_marker(name), made())
    return text


def _read(_app: Any, _name: str, source: list[str]) -> None:
    source[0] = with_generated(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls it: pages are changed as they are read."""
    app.connect("source-read", _read)
    app.add_lexer("console", Sessions)
    return {"version": "1", "parallel_read_safe": True}
