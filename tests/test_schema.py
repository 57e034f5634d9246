"""The JSON schema of scenario files: complete, true to the sections, and true to the files."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft7Validator
from pydantic import Field

from cprsim.basics.schema import Section
from cprsim.cli.descriptions import descriptions
from cprsim.cli.json_schema import scenario_schema
from cprsim.contract.registry import systems
from tools.paths import ROOT

SCHEMA = scenario_schema()
VALIDATOR = Draft7Validator(SCHEMA)
FILES = sorted((ROOT / "scenarios").glob("*.toml"))


def keys() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each key of each table, and what the schema says of it."""
    for model, table in SCHEMA["definitions"].items():
        for part in (table, *table.get("anyOf", ())):
            for key, value in part.get("properties", {}).items():
                yield f"{model}.{key}", value


def tables(path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def faults(overrides: dict[str, Any]) -> list[str]:
    """Dotted paths of what the schema finds wrong with the quickstart, changed."""
    mapping = tables(ROOT / "scenarios/quickstart.toml")
    for path, value in overrides.items():
        *parts, last = path.split(".")
        table = mapping
        for part in parts:
            table = table.setdefault(part, {})
        table[last] = value
    return sorted(".".join(map(str, each.absolute_path)) for each in VALIDATOR.iter_errors(mapping))


def test_it_is_a_schema():
    Draft7Validator.check_schema(SCHEMA)


def test_the_command_prints_it(called):
    assert json.loads(called("schema").out) == json.loads(json.dumps(SCHEMA))


@pytest.mark.slow
def test_it_takes_no_extra():
    code = "import sys; sys.modules['torch'] = None; import cprsim.cli.json_schema"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_shipped_scenario_is_valid(path):
    assert [each.message for each in VALIDATOR.iter_errors(tables(path))] == []


def test_every_key_has_a_description_that_is_a_sentence():
    poor = [
        key for key, value in keys() if not re.fullmatch(r"[A-Z`\"].{7,}\.", value["description"])
    ]
    assert poor == []


def test_every_key_has_an_example():
    assert [key for key, value in keys() if not value.get("examples")] == []


def test_every_quantity_has_its_unit_and_every_number_its_range():
    slopes = {f"MeasuredSlope.auc_drop_per_{each}" for each in ("pls", "learning_lost")}
    signed = slopes | {"Failures.system"}  # of any sign, and a number
    for key, value in keys():
        parts = [value, *value.get("anyOf", ())]
        if any("pattern" in part for part in parts):
            assert value["x-unit"], key
        elif any(part.get("type") in ("number", "integer") for part in parts):
            assert key in signed or value["x-range"], key


def test_every_example_and_default_is_valid():
    wrong = [
        (key, each)
        for key, value in keys()
        for each in (*value["examples"], *([value["default"]] if "default" in value else []))
        if not Draft7Validator({**value, "definitions": SCHEMA["definitions"]}).is_valid(each)
    ]
    assert wrong == []


def test_every_system_is_there_with_its_keys():
    of_policies = SCHEMA["properties"]["policies"]["additionalProperties"]["oneOf"]
    names = [each["$ref"].rpartition("/")[2] for each in of_policies]
    found = [SCHEMA["definitions"][name]["properties"]["system"]["const"] for name in names]

    assert found == list(systems())
    assert {"interval", "in_flight", "after_void"} <= SCHEMA["definitions"]["Async"][
        "properties"
    ].keys()


@pytest.mark.parametrize(
    ("overrides", "where"),
    [
        ({}, []),
        ({"job.useful_time": "4 weeks"}, ["job.useful_time"]),
        ({"job.useful_time": 4}, ["job.useful_time"]),
        ({"job.usefull_time": "4 d"}, ["job"]),
        ({"cluster.parameter_servers": 0}, ["cluster.parameter_servers"]),
        ({"failures.distribution": "gama"}, ["failures.distribution"]),
        ({"policies.cpr.target_pls": 2}, ["policies.cpr"]),
        ({"policies.cpr.system": "cprr"}, ["policies.cpr"]),
        ({"prices.trainer": "2.5 USD"}, ["prices.trainer"]),
        ({"title": 3}, ["title"]),
        ({"jobs": {}}, [""]),
    ],
    ids=str,
)
def test_it_finds_what_a_scenario_would_be_refused_for(overrides, where):
    assert faults(overrides) == where


def test_what_a_key_is_says_all_of_it():
    nic = SCHEMA["definitions"]["Cluster"]["properties"]["nic"]

    assert nic["description"].startswith("Bandwidth of the network card of each node")
    assert nic["x-unit"].startswith("bandwidth: B/s kB/s")
    assert nic["x-range"] == "> 0"
    assert nic["examples"] == [tables(ROOT / "scenarios/quickstart.toml")["cluster"]["nic"]]
    assert SCHEMA["definitions"]["Costs"]["properties"]["detect"]["default"] == "0 s"
    assert SCHEMA["definitions"]["Place"]["properties"]["interval"]["default"] == "optimal"
    assert (
        SCHEMA["definitions"]["InMemory" if "InMemory" in SCHEMA["definitions"] else "PeerMemory"][
            "properties"
        ]["interval"]["default"]
        == "3 h"
    )


# Where descriptions come from


class Base(Section):
    """What both have.

    `kept`, `told`: of the base. `mean`: seconds
    of it; and more (`kept`).
    """

    kept: int = 0
    told: int = 0
    mean_s: float = Field(0.0, alias="mean")


class Child(Base):
    """It says `mean`: not so, in the middle of a sentence.

    `told`: of the child. `per = "a"`: one; `per = "b"`: the other

    `none`: is no key: `silent` is left out.
    """

    per: str = "a"
    silent: int = 0


def test_descriptions_are_those_of_the_docstring():
    assert descriptions(Child) == {
        "kept": "Of the base.",
        "told": "Of the child.",
        "mean": "Seconds of it; and more (`kept`).",
        "per": '`per = "a"`: one. `per = "b"`: the other.',
    }
