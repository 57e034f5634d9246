"""The common part of all sections of a scenario: frozen models and fields with units.

A field holds SI units and says so in its name (`useful_time_s`); its alias is the scenario's key
(`useful_time`), whose value is a string with a unit.
"""

import difflib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Final, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    SerializationInfo,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    field_validator,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function

from cprsim.basics import units
from cprsim.errors import ScenarioError

#: Words for a value in a JSON schema: its units, and between which ends.
UNIT, RANGE = "x-unit", "x-range"
#: A number, as a pattern of a JSON schema.
NUMBER = r"[+]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


def written_as(table: units.Units, kind: str, example: str, least: str = ">= 0") -> dict[str, Any]:
    """The JSON schema of a quantity: a number and a unit, as text."""
    return {
        "type": "string",
        "pattern": rf"^\s*{NUMBER}\s*({'|'.join(table)})\s*$",
        UNIT: f"{kind}: {' '.join(table)}",
        RANGE: least,
        "examples": [example],
    }


#: The context in which tables of a scenario are validated.
OF_SCENARIO: Final[dict[str, Any]] = {"of": "a scenario"}
#: Said by who wants quantities as they were written.
_AS_WRITTEN = "as written"

#: The JSON schema of a duration that is more than 0 s.
A_DURATION = written_as(units.SECONDS, "time", "28 h", "> 0")
#: That of a percentage.
A_SHARE = {
    "type": "string",
    "pattern": rf"^\s*{NUMBER}\s*%\s*$",
    UNIT: "percent",
    RANGE: "0% to 100%",
    "examples": ["25%"],
}


def _quantity(
    table: units.Units, schema: dict[str, Any]
) -> tuple[WrapValidator, PlainSerializer, WithJsonSchema]:
    # Validation is given text only; floats in SI come from code that copies a validated model.
    return (
        WrapValidator(partial(_as_written, table)),
        PlainSerializer(partial(text_of, table), return_type=str),
        WithJsonSchema(schema),
    )


def text_of(table: units.Units, value: float, info: SerializationInfo) -> str:
    """Return a quantity as it was written where that is wanted, else as short as it can be."""
    if info.context == _AS_WRITTEN and isinstance(value, units.AsWritten):
        return value.text
    return units.format_exact(value, table)


def _as_written(
    table: units.Units, value: object, checked: Any, info: ValidationInfo
) -> units.AsWritten:
    number = units.parse(value, table, limited=info.context is OF_SCENARIO)
    return units.AsWritten(checked(number), str(value))


_NOT_NEGATIVE = written_as(units.SECONDS, "time", "28 h")
#: The JSON schema of a size in bytes.
A_SIZE = written_as(units.BYTES, "size", "2.16 GB")
_A_POSITIVE_SIZE = written_as(units.BYTES, "size", "512 GB", "> 0")
_A_RATE = written_as(units.BYTES_PER_SECOND, "bandwidth", "25 Gbit/s", "> 0")
_A_POWER = written_as(units.WATTS, "power", "0.6 kW")
_AN_INTENSITY = written_as(units.KG_PER_KWH, "CO2 of energy", "0.4 kg/kWh")

Seconds = Annotated[float, *_quantity(units.SECONDS, _NOT_NEGATIVE), Field(ge=0)]
PositiveSeconds = Annotated[float, *_quantity(units.SECONDS, A_DURATION), Field(gt=0)]
Bytes = Annotated[float, *_quantity(units.BYTES, A_SIZE), Field(ge=0)]
PositiveBytes = Annotated[float, *_quantity(units.BYTES, _A_POSITIVE_SIZE), Field(gt=0)]
Rate = Annotated[float, *_quantity(units.BYTES_PER_SECOND, _A_RATE), Field(gt=0)]
Power = Annotated[float, *_quantity(units.WATTS, _A_POWER), Field(ge=0)]
CarbonIntensity = Annotated[float, *_quantity(units.KG_PER_KWH, _AN_INTENSITY), Field(ge=0)]
Share = Annotated[
    float,
    BeforeValidator(units.parse_share),
    PlainSerializer(units.format_share, return_type=str),
    WithJsonSchema(A_SHARE),
]


class _Part:
    """Make a number, with its bounds, a part of something: or a percentage."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return no_info_before_validator_function(units.parse_part, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(core), A_SHARE]}


Part = _Part()


def a_list(way_out: str) -> BeforeValidator:
    """A list with something in it; a fault names the way out, such as `give each table`."""

    def checked(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{value!r} is not a list; {way_out}")
        if not value:
            raise ValueError(f"is empty; {way_out}")
        return tuple(value)

    return BeforeValidator(checked)


def _check_range(value: object) -> None:
    """Raise `ValueError` for a number, at whatever depth, that is too small or too large."""
    if isinstance(value, bool | str | bytes | BaseModel):
        return
    if hasattr(value, "_fields"):  # a price: of a byte and second it is tiny
        return
    if isinstance(value, float | int):
        # An interval may be infinite: no saves.
        if not (math.isinf(value) or units.is_in_range(value)):
            ends = f"from {units.LEAST:g} to {units.MOST:g}"
            raise ValueError(f"{value!r} is out of range: write a number {ends}")
    elif isinstance(value, Mapping):
        for each in value.values():
            _check_range(each)
    elif isinstance(value, tuple | list):
        for each in value:
            _check_range(each)


class Section(BaseModel):
    """A table of the scenario file: frozen, and unknown keys are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        populate_by_name=False,
        allow_inf_nan=False,
    )

    @field_validator("*")
    @classmethod
    def _in_range(cls, value: object, info: ValidationInfo) -> object:
        """Refuse numbers of a scenario file with which nothing can be computed, at any depth.

        Not what is made in Python: a fit may be at any scale.
        """
        if info.context is OF_SCENARIO:
            _check_range(value)
        return value

    @classmethod
    def checked(cls, table: object, name: str, context: object = None) -> Self:
        """Validate the table of that name; raise `ScenarioError` with every fault."""
        try:
            return cls.model_validate(table, context=context)
        except ValidationError as error:
            raise ScenarioError(*faults(error, cls, name)) from None

    def mapping(self) -> dict[str, Any]:
        """The keys and values that a scenario file would have; the inverse of validation."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def as_given(self) -> dict[str, Any]:
        """Do the same as `mapping`, without defaults."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)

    def as_written(self) -> dict[str, Any]:
        """Do the same as `mapping`, with every quantity in the units that it was given in."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, context=_AS_WRITTEN)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy as any pydantic model does; values computed from the fields are computed again."""
        copied = super().model_copy(update=update, deep=deep)
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied


#: Names of the variants of a field that takes a duration or a table; no part of a path.
VARIANTS = ("a duration", "a table")


def faults(error: ValidationError, model: type[BaseModel], prefix: str) -> list[str]:
    """One line for each fault that pydantic found: dotted path, what is wrong, the way out."""
    return [_fault(details, model, prefix) for details in error.errors(include_url=False)]


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known word nearest to `word`, or the list of known words."""
    known = sorted(known)
    close = closest(word, known)
    return f"known: {', '.join(known)}" if close is None else f"did you mean {close!r}?"


def closest(word: str, known: Collection[str]) -> str | None:
    """Return the known word that means the same, else one that looks alike; None for none."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return meant(word, known) or next(iter(close), None)


def meant(word: str, known: Collection[str]) -> str | None:
    """Return the known word that is this one or means the same; None for none."""
    return next((each for each in (word, *_MEANT.get(word.lower(), ())) if each in known), None)


#: What others call what has another name here, the likeliest first.
_MEANT = {
    **dict.fromkeys(("size", "bytes", "embeddings", "embedding_size"), ("embedding",)),
    **dict.fromkeys(("servers", "ps", "server", "shards"), ("parameter_servers",)),
    **dict.fromkeys(("workers", "gpus", "nodes", "hosts", "machines"), ("trainers",)),
    **dict.fromkeys(("mtbf", "mttf", "every", "rate"), ("mean",)),
    **dict.fromkeys(("cpr", "cpr_vanilla", "cprv"), ("cpr-vanilla",)),
    **dict.fromkeys(("law", "dist", "kind"), ("distribution",)),
    **dict.fromkeys(("ram", "host_memory", "server_memory"), ("memory",)),
    **dict.fromkeys(("network", "bandwidth", "link", "network_bandwidth"), ("nic", "write")),
    **dict.fromkeys(("write_bandwidth", "write_speed"), ("write",)),
    **dict.fromkeys(("read_bandwidth", "read_speed"), ("read",)),
    **dict.fromkeys(("time", "duration", "length", "train_time"), ("useful_time",)),
    **dict.fromkeys(("checkpoint", "o_save", "save_time"), ("save",)),
    **dict.fromkeys(("restore", "recovery", "o_load", "load_time"), ("load",)),
    **dict.fromkeys(("rescheduling", "o_res", "replacement"), ("reschedule",)),
    **dict.fromkeys(("checkpoint_interval", "period", "frequency"), ("interval",)),
    **dict.fromkeys(("pls", "target"), ("target_pls",)),
    **dict.fromkeys(("policy", "strategy"), ("policies", "system")),
    **dict.fromkeys(("log", "file", "csv"), ("trace",)),
    **dict.fromkeys(("full-recovery", "checkpoint-restart"), ("full",)),
    **dict.fromkeys(("partial-recovery",), ("partial",)),
}


def _fault(details: Any, model: type[BaseModel], prefix: str) -> str:
    location = [str(part) for part in details["loc"] if part not in VARIANTS]
    if details["type"] == "extra_forbidden":
        problem = f"unknown key; {nearest(location[-1], _keys(model, location[:-1]))}"
    else:
        problem = _problem(details)
    path = ".".join([prefix, *location] if prefix else location)
    return f"{path}: {problem}" if path else problem


def _problem(details: Any) -> str:
    """Return the fault of a value, in words of ours."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(context["error"])
    if kind in _BOUNDS:
        symbol, key = _BOUNDS[kind]
        return f"{value!r} is out of range: it must be {symbol} {context[key]:g}"
    if kind == "literal_error":
        return f"{value!r} is not one of {context['expected']}"
    if kind in _TYPES:
        return f"{value!r} is not {_TYPES[kind]}"
    return f"{value!r}: {details['msg'][0].lower()}{details['msg'][1:]}"


_BOUNDS = {
    "greater_than": (">", "gt"),
    "greater_than_equal": (">=", "ge"),
    "less_than": ("<", "lt"),
    "less_than_equal": ("<=", "le"),
}
_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a string",
    "dict_type": "a table",
    "model_type": "a table",
    "list_type": "a list",
}


def _keys(model: type[BaseModel], location: list[str]) -> list[str]:
    """The keys of `model`, or of the section that `location` leads to inside it."""
    for part in location:
        for name, field in model.model_fields.items():
            if (field.alias or name) == part:
                model = next(models_in(field.annotation), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the sections named in an annotation such as `tuple[Table, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)
