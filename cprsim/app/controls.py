"""Controls of the page: the keys of a scenario, each with a range around its value."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from cprsim.advice.candidates import value_at
from cprsim.basics.units import BYTES, BYTES_PER_SECOND, SECONDS, Units, parse
from cprsim.contract import Choice, DurationSpan
from cprsim.errors import UnitError
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import leaves, quoted
from cprsim.scenario.words import KEYS

Kind = Literal["duration", "rate", "size", "number", "whole", "choice", "words"]
#: Quantities with units: those of their texts, and those in which the page writes them.
_QUANTITIES: Final[dict[Kind, Units]] = {
    "duration": SECONDS,
    "rate": BYTES_PER_SECOND,
    "size": BYTES,
}
UNITS: Final[dict[str, Units]] = {
    "duration": SECONDS,
    "rate": Units(
        {f"{unit}B/s": 10.0**power for unit, power in zip("kMGT", (3, 6, 9, 12), strict=True)}
    ),
    "size": Units({unit: factor for unit, factor in BYTES.items() if "i" not in unit}),
}
#: A slider goes from the scenario's value by this factor, both ways.
_EITHER_WAY: Final = 30.0
#: Shares end at 1.
_SHARES: Final = ("target_pls", "fraction")
#: Ranges of keys that are 0, which have no neighbours by ratio; 0 stays at the left end.
_FROM_NOTHING: Final[dict[str, tuple[float, float]]] = {
    "duration": (1.0, 3600.0),
    "whole": (1.0, 16.0),
    "number": (0.001, 1.0),
}
#: Machines and failures are whole, however a file writes them.
_WHOLE: Final = (
    *("cluster.parameter_servers", "cluster.trainers", "cluster.spares"),
    "failures.exactly",
)


@dataclass(frozen=True)
class Control:
    """One thing that can be moved.

    `name`: of it in the page's address. `keys`: those of the scenario that it sets, as `--set` has
    them; several where policies share a value. `group`: the policy that it is of, or empty. `least`
    and `most`: the ends of its slider in SI units, apart by ratio; `zero`: whether 0 lies at its
    left end. `text`: the scenario's own value, empty where it has none; `choices`: texts of all
    values, where they are few.
    """

    name: str
    keys: tuple[str, ...]
    label: str
    group: str
    kind: Kind
    text: str
    least: float = 0.0
    most: float = 0.0
    zero: bool = False
    choices: tuple[str, ...] = ()

    def number(self, text: str) -> float | None:
        """Return the place of a text on the slider, in SI units; None for a rule (`"optimal"`)."""
        try:
            table = _QUANTITIES.get(self.kind)
            found = float(text) if table is None else parse(text.strip("\"' "), table)
        except (UnitError, ValueError):
            return None
        return found if math.isfinite(found) else None


class _Value(NamedTuple):
    """A value of a file: of which kind, its text, and the number it is."""

    kind: Kind
    text: str
    number: float | None


def controls_of(scenario: Scenario, written: Mapping[str, Any]) -> tuple[Control, ...]:
    """Return the controls of a scenario, in the order of the page.

    `written`: the tables of its file, for the units that it uses.
    """
    tables = scenario.mapping()
    causes = scenario.failures.causes
    whose = "a node" if scenario.failures.per == "node" else "the job"
    labels = KEYS | {"failures.mean": f"MTBF of {whose}"}
    if causes is not None and all(each.detect is not None for each in causes):
        del labels["costs.detect"]  # no failure is left for it
    if causes is not None and all(each.repair is not None for each in causes):
        del labels["costs.reschedule"], labels["costs.reschedule.mean"]
    of_job = []
    for key, label in labels.items():
        value = _value(key, tables, written)
        if value is not None and value.number is not None:
            kind: Kind = "whole" if key in _WHOLE else value.kind
            ends = _range(kind, value.number)
            of_job.append(Control(key, (key,), label, "", kind, value.text, *ends))
    # One control for the target PLS of all policies that have one, if it is the same.
    targets = {
        f"policies.{name}.target_pls": table["target_pls"]
        for name, table in tables["policies"].items()
        if "target_pls" in table
    }
    if len(set(targets.values())) == 1:
        text = str(next(iter(targets.values())))
        ends = _range("number", float(text), 1.0)
        of_job.append(
            Control("target_pls", tuple(targets), "target PLS", "", "number", text, *ends)
        )
    else:
        targets = {}
    of_policies = [
        each
        for name in scenario.policies
        for each in _of_policy(scenario, name, tables, written)
        if each.name not in targets
    ]
    priced = [
        Control(f"prices.{key}", (f"prices.{key}",), f"price: {key}", "prices", "words", text)
        for key, text in tables.get("prices", {}).items()
    ]
    return (*of_job, *of_policies, *priced)


def _of_policy(
    scenario: Scenario, name: str, tables: Mapping[str, Any], written: Mapping[str, Any]
) -> Iterator[Control]:
    """Return the keys of its file, and those that the advisor may choose."""
    settings = {each.key: each for each in scenario.policies[name].settings(scenario.context)}
    own = written.get("policies", {}).get(name, {})
    named = [
        ".".join(path)
        for path, value in leaves(own)
        if path[-1] != "system" and not isinstance(value, list)
    ]
    for path in dict.fromkeys((*settings, *named)):
        key, setting = f"policies.{quoted(name)}.{path}", settings.get(path)
        value = _value(key, tables, written) or _Value("duration", "", None)
        label = path.replace("_", " ").replace(".", ", ")
        if isinstance(setting, DurationSpan):
            given = setting.start_s if value.number is None else value.number
            ends = min(setting.least_s, given), max(setting.most_s, given)
            yield Control(key, (key,), label, name, "duration", value.text, *ends)
        elif isinstance(setting, Choice):
            choices = tuple(dict.fromkeys(_written(each) for each in setting.values))
            text = value.text if value.text in choices else choices[0]
            known = choices if value.text in ("", *choices) else (value.text, *choices)
            yield Control(key, (key,), label, name, "choice", value.text or text, choices=known)
        elif value.number is not None:
            most = 1.0 if path.rpartition(".")[2] in _SHARES else math.inf
            slider = _range(value.kind, value.number, most)
            yield Control(key, (key,), label, name, value.kind, value.text, *slider)


def _value(key: str, tables: Mapping[str, Any], written: Mapping[str, Any]) -> _Value | None:
    """Return the value of a key, of the file or by default; None for none, or a table."""
    found = value_at(written, key)
    found = value_at(tables, key) if found is None else found
    if isinstance(found, bool):
        return _Value("words", _written(found), None)
    if isinstance(found, int):
        return _Value("whole", str(found), float(found))
    if isinstance(found, float):
        return _Value("number", repr(found), found)
    if not isinstance(found, str):
        return None
    for kind, table in _QUANTITIES.items():
        try:
            return _Value(kind, found, parse(found, table))
        except UnitError:
            continue
    return _Value("words", found, None)


def texts_in(scenario: Scenario, controls: Iterable[Control]) -> dict[str, str]:
    """Return the value of each control in a checked scenario; empty where there is none."""
    tables = scenario.mapping()
    found = {each.name: value_at(tables, each.keys[0]) for each in controls}
    return {name: "" if value is None else _written(value) for name, value in found.items()}


def _written(value: Any) -> str:
    """Return the argument of `--set`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _range(kind: Kind, number: float, most: float = math.inf) -> tuple[float, float, bool]:
    """The ends of a slider, up to `most`, and whether 0 lies at its left."""
    if number <= 0:
        least, highest = _FROM_NOTHING.get(kind, (1.0, 1000.0))
        return least, min(highest, most), True
    if kind == "whole":
        return 1.0, max(math.ceil(number * 8), 16.0), False
    return number / _EITHER_WAY, min(number * _EITHER_WAY, most), False
