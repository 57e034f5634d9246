"""The JSON schema of scenario files, as editors take it: made of the sections themselves.

Descriptions are those of the docstrings (see `descriptions`), types and ranges those of the fields.
The table that a key may be in a fleet, drawn from for each job, is in it, too.
"""

import tomllib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from cprsim.basics.schema import RANGE, UNIT, Section, models_in
from cprsim.basics.shipped import scenarios
from cprsim.cli.descriptions import descriptions, summary
from cprsim.contract import Policy
from cprsim.contract.registry import policy_class, systems
from cprsim.errors import ScenarioError
from cprsim.scenario.drawn import Drawn
from cprsim.scenario.sections import SECTIONS
from cprsim.sweeps.design import SweepBlock
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.studies.design import StudySection

Schema = dict[str, Any]
Examples = dict[type[BaseModel], dict[str, Any]]
#: Blocks of a file that one command alone reads.
BLOCKS: dict[str, type[Section]] = {
    "sweep": SweepBlock,
    "trainer": TrainerSection,
    "study": StudySection,
}
#: What editors for TOML know.
_DIALECT = "http://json-schema.org/draft-07/schema#"
_REF = "#/definitions/{model}"
#: Keys whose value no table may replace.
_UNDRAWN = ("system", "distribution")
_BOUNDS = (
    ("minimum", ">="),
    ("exclusiveMinimum", ">"),
    ("maximum", "<="),
    ("exclusiveMaximum", "<"),
)


def scenario_schema() -> Schema:
    """The schema of a whole file: JSON Schema, draft 7."""
    policies = policy_classes()
    sections = {name: section for name, (section, _) in SECTIONS.items()} | BLOCKS
    models: list[type[BaseModel]] = [*sections.values(), *policies.values(), Drawn]
    mode: JsonSchemaMode = "validation"
    _, found = models_json_schema([(each, mode) for each in models], ref_template=_REF)
    definitions = found["$defs"]
    examples = _shipped_examples(sections)
    undrawn = {Drawn, *_all_models(BLOCKS.values())}  # others may be drawn for each job of a fleet
    for model in _all_models(models):
        schema, shown = definitions[model.__name__], examples.get(model, {})
        _complete(schema, model, shown, drawn=model not in undrawn)
    return {
        "$schema": _DIALECT,
        "title": "Scenario of cprsim",
        "description": "A training job, the cluster it runs on, what fails, and the policies.",
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What it is called.", "default": ""},
            **{
                name: {"$ref": _ref(section), "description": summary(section)}
                for name, section in sections.items()
            },
            "levers": {
                "description": "What may be changed of the job: each lever by a name of your own, "
                "in it keys of the file with other values (`cprsim figure ett-ladder`).",
                "type": "object",
                "additionalProperties": {"type": "object"},
            },
            "policies": {
                "description": "The policies to compare, each by a name of your own.",
                "type": "object",
                "additionalProperties": {
                    "oneOf": [{"$ref": _ref(policy)} for policy in policies.values()]
                },
            },
        },
        "required": [name for name, (_, required) in SECTIONS.items() if required],
        "additionalProperties": False,
        "definitions": dict(sorted(definitions.items())),
    }


def policy_classes() -> dict[str, type[Policy]]:
    """The policies of all systems, shipped and installed; a broken one is left out."""
    found = {}
    for system in systems():
        try:
            policy = policy_class(system)
        except ScenarioError:
            continue
        if policy is not None:
            found[system] = policy
    return found


def _ref(model: type[BaseModel]) -> str:
    return _REF.format(model=model.__name__)


def _all_models(models: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    """These and the sections that they hold, each once."""
    found: dict[type[BaseModel], None] = {}
    left = list(models)
    while left:
        model = left.pop(0)
        if model not in found:
            found[model] = None
            for field in model.model_fields.values():
                left += models_in(field.annotation)
    return list(found)


def _complete(
    schema: Schema, model: type[BaseModel], examples: Mapping[str, Any], *, drawn: bool
) -> None:
    """Say of each key what it means, in what unit, between which ends, and what it is by itself."""
    for part in schema.get("anyOf", ()):  # text or a table, as `Skew`
        if "properties" in part:
            _complete(part, model, examples, drawn=drawn)
    schema["description"] = summary(model)
    schema.pop("title", None)
    told = descriptions(model)
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in schema.get("properties", ()):
            value = _without_null(schema["properties"][key])
            shown = field.examples or ([examples[key]] if key in examples else [])
            told_value = _told(value, field, told.get(key, ""), shown)
            is_drawn = drawn and key not in _UNDRAWN
            schema["properties"][key] = _or_drawn(told_value) if is_drawn else told_value


def _told(value: Schema, field: FieldInfo, description: str, examples: Any) -> Schema:
    value.pop("title", None)
    value.pop("default", None)
    value["description"] = description
    default = _default(field)
    if default is not None:
        value["default"] = default
    for part in value.get("anyOf", ()):
        for key in (UNIT, RANGE):
            if key in part:
                value.setdefault(key, part[key])
    parts = (value, *value.get("anyOf", ()))
    ends = [f"{mark} {part[key]:g}" for part in parts for key, mark in _BOUNDS if key in part]
    if ends:
        value[RANGE] = " and ".join(ends)
    example = examples or value.get("examples") or _example(value, default)
    if example:
        value["examples"] = example
    return value


def _default(field: FieldInfo) -> Any:
    """Return the default as a file would have it; None where there is none."""
    default = field.get_default(call_default_factory=True, validated_data={})
    if field.is_required() or default is None:
        return None
    if isinstance(default, BaseModel):
        return default.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    of: Any = field.annotation
    for metadata in field.metadata:  # what writes quantities, among others
        of = Annotated[of, metadata]
    return TypeAdapter(of).dump_python(default, mode="json")


def _example(value: Schema, default: Any) -> list[Any]:
    for part in (value, *value.get("anyOf", ())):
        if "enum" in part:
            return [part["enum"][0]]
        if "const" in part:
            return [part["const"]]
        if "examples" in part:
            return list(part["examples"])
    return [] if default is None else [default]


def _without_null(value: Schema) -> Schema:
    """The same for a file, in which nothing is null: a key is left out."""
    parts = value.get("anyOf")
    if parts is None:
        return dict(value)
    kept = [part for part in parts if part != {"type": "null"}]
    rest = {key: each for key, each in value.items() if key != "anyOf"}
    return {**kept[0], **rest} if len(kept) == 1 else {"anyOf": kept, **rest}


def _or_drawn(value: Schema) -> Schema:
    """That, or a law that it is drawn by for each job of a fleet."""
    kept = ("description", "default", "examples", UNIT, RANGE)
    outside = {key: value[key] for key in kept if key in value}
    inside = {key: each for key, each in value.items() if key not in ("description", "default")}
    parts = inside["anyOf"] if inside.keys() <= {"anyOf", *kept} else [inside]
    return {"anyOf": [*parts, {"$ref": _ref(Drawn)}], **outside}


def _shipped_examples(sections: Mapping[str, type[Section]]) -> Examples:
    """The first values that shipped scenarios give to keys; the quickstart comes first."""
    found: Examples = {}
    for each in sorted(scenarios(), key=lambda scenario: scenario.name != "quickstart"):
        tables = tomllib.loads(each.path.read_text(encoding="utf-8"))
        for name, section in sections.items():
            _collect(section, tables.get(name, {}), found)
        for table in tables["policies"].values():
            policy = policy_class(table["system"])
            if policy is not None:
                _collect(policy, table, found)
    return found


def _collect(model: type[BaseModel], table: Mapping[str, Any], found: Examples) -> None:
    for name, field in model.model_fields.items():
        value = table.get(field.alias or name)
        if isinstance(value, dict):
            for inner in models_in(field.annotation):
                _collect(inner, value, found)
        elif value is not None and not isinstance(value, list):
            found.setdefault(model, {}).setdefault(field.alias or name, value)
