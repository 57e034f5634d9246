"""Keys of scenario files, from their JSON schema."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cprsim.basics.schema import RANGE, UNIT
from cprsim.cli.json_schema import scenario_schema

Schema = Mapping[str, Any]


def page() -> str:
    """A heading and a table for each section, block and system."""
    schema = scenario_schema()
    definitions = schema["definitions"]
    parts = ["## The file\n", _table(_top(schema))]
    for name, value in schema["properties"].items():
        if "$ref" in value:
            parts += _section(f"`[{name}]`", f"{name}.", _model(value["$ref"]), definitions, 2)
    parts.append("## `[policies.NAME]`\n\nKeys differ by system.\n")
    for each in schema["properties"]["policies"]["additionalProperties"]["oneOf"]:
        model = _model(each["$ref"])
        system = definitions[model]["properties"]["system"]["const"]
        parts += _section(f'`system = "{system}"`', "policies.NAME.", model, definitions, 3)
    parts += _section("A value for each job", "", "Drawn", definitions, 2)
    return "\n".join(parts)


def _top(schema: Schema) -> dict[str, Any]:
    required = set(schema["required"])
    return {
        name: {**value, "required": name in required}
        for name, value in schema["properties"].items()
    }


def _section(
    heading: str, prefix: str, model: str, definitions: Schema, level: int
) -> Iterator[str]:
    """Its keys, then the tables in it, each by its path."""
    part = _tabled(definitions[model])
    yield f"{'#' * level} {heading}\n\n{part['description']}\n"
    required = set(part.get("required", ()))
    rows = {k: {**v, "required": k in required} for k, v in part["properties"].items()}
    yield _table(rows)
    for key, value in part["properties"].items():
        for inner in _models(value):
            path = f"{prefix}{key}"
            if prefix.startswith("policies."):
                path = path.removeprefix("policies.NAME.")
            shown = f"`{path}`" if level == 2 else f"`{key}` of {heading}"
            yield from _section(shown, f"{prefix}{key}.", inner, definitions, min(level + 1, 4))


def _tabled(definition: Schema) -> Schema:
    """The table that a value may be, where it may be text too."""
    for part in definition.get("anyOf", ()):
        if "properties" in part:
            return {"description": definition["description"], **part}
    return definition


def _models(value: Schema) -> list[str]:
    """Sections that a value may be, or that it has several of; not a law of a fleet."""
    found = [_model(value["$ref"])] if "$ref" in value else []
    for part in (*value.get("anyOf", ()), *value.get("oneOf", ())):
        found += _models(part)
    for inner in ("items", "additionalProperties"):
        if isinstance(value.get(inner), Mapping):
            found += _models(value[inner])
    return [each for each in dict.fromkeys(found) if each != "Drawn"]


def _model(reference: str) -> str:
    return reference.rpartition("/")[2]


def _table(rows: Mapping[str, Schema]) -> str:
    lines = [
        "| key | what it means | type | default | range | example |",
        "|---|---|---|---|---|---|",
    ]
    for key, value in rows.items():
        default = "**required**" if value.get("required") else _code(value.get("default"))
        example = _code(next(iter(value.get("examples", ())), None))
        cells = (f"`{key}`", _meaning(value), _type(value), default, value.get(RANGE, ""), example)
        lines.append(f"| {' | '.join(each.replace('|', '&#124;') for each in cells)} |")
    return "\n".join(lines) + "\n"


def _meaning(value: Schema) -> str:
    return str(value.get("description", ""))


def _type(value: Schema) -> str:
    """In few words: a quantity by its kind, a choice by its words."""
    if UNIT in value and "anyOf" not in value:
        return str(value[UNIT]).partition(":")[0]
    if "enum" in value or "const" in value:
        words = value.get("enum") or [value["const"]]
        return ", ".join(_code(word) for word in words)
    if _models(value):
        kinds = [_type(part) for part in value.get("anyOf", ()) if not _models(part)]
        return " or ".join([*filter(None, kinds), "tables" if _several(value) else "a table"])
    if "anyOf" in value:
        kinds = [_type(part) for part in value["anyOf"] if "$ref" not in part]
        return " or ".join(dict.fromkeys(filter(None, kinds)))
    kind = value.get("type", "")
    return _KINDS.get(kind, "") if isinstance(kind, str) else "number or text"


def _several(value: Schema) -> bool:
    parts = (value, *value.get("anyOf", ()))
    return any("items" in part or "additionalProperties" in part for part in parts)


_KINDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "array": "list",
    "object": "table",
}


def _code(value: Any) -> str:
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`"
