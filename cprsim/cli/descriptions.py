"""The meaning of each key of a section, from the docstring of its class.

Keys are described there alone. A sentence of it that begins with a key and a colon
is about that key, as are those after it until another key or the end of the paragraph:

    `save`: one blocking save of everything. `load`: one load. It takes as long as ...

Several keys may share one (`` `write`, `read`: ... ``), and a value may follow its key
(`` `per = "node"`: ... ``). A class that doesn't describe a key leaves that to the class it is made
of.
"""

import inspect
import re

from pydantic import BaseModel

_NAME = r"`[a-z][a-z_0-9]*(?: = [^`]+)?`"
#: Where a description begins: at the start of a paragraph, or behind the end of a sentence.
_HEAD = re.compile(rf"(?:^|(?<=[.,;] ))({_NAME}(?:(?:, | and ){_NAME})*)((?: \([^)]*\))?): ")
_NAMED = re.compile(r"`([a-z][a-z_0-9]*)( = [^`]+)?`")


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return what its docstring, and those of its base classes, say of each of its keys."""
    keys = {
        each: field.alias or name
        for name, field in model.model_fields.items()
        for each in (name, field.alias or name)
    }
    found: dict[str, str] = {}
    for base in model.__mro__:
        if issubclass(base, BaseModel) and base is not BaseModel:
            told = _told(inspect.cleandoc(base.__dict__.get("__doc__") or ""), keys)
            found = told | found
    return found


def summary(model: type[BaseModel]) -> str:
    """Return the first paragraph of the docstring."""
    return " ".join(inspect.cleandoc(model.__doc__ or "").partition("\n\n")[0].split())


def _told(text: str, keys: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        line = " ".join(paragraph.split())
        heads = [
            head
            for head in _HEAD.finditer(line)
            if all(name in keys for name, _ in _NAMED.findall(head[1]))
        ]
        ends = [head.start() for head in heads[1:]] + [len(line)]
        for head, end in zip(heads, ends, strict=False):
            said = line[head.end() : end].rstrip(" ,;").removesuffix(".") + "."
            # What stood in brackets behind the key goes before it.
            alone = f"{head[2].strip(' ()')}: {said}" if head[2] else said
            for name, value in _NAMED.findall(head[1]):
                sentence = f"`{name}{value}`: {said}" if value else alone[:1].upper() + alone[1:]
                before = found.get(keys[name])
                found[keys[name]] = f"{before} {sentence}" if before else sentence
    return found
