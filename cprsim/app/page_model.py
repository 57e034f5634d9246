"""A question of the page: a scenario file, controls that were moved, and options of commands."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Self
from urllib.parse import parse_qsl, urlencode

from cprsim.advice.criteria import MEASURED
from cprsim.app.controls import Control, controls_of
from cprsim.basics.schema import nearest
from cprsim.errors import ScenarioError, UsageError
from cprsim.report.basis import ScenarioSource
from cprsim.report.outputs import trace_sha256
from cprsim.runs.runner import check_replications, check_whole
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text


class MovesError(UsageError):
    """An invalid question: a fault for each control, by its name."""

    @property
    def faults(self) -> dict[str, str]:
        """By the name of the control, or of the option."""
        return dict(self.args)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {fault}" for name, fault in self.args)


@dataclass(frozen=True)
class WhatIf:
    """One question: texts of the controls that were moved by name, and options of the commands.

    `replication` is the one of the timeline; "median": the one with the median overhead. Two that
    ask the same are equal.
    """

    moved: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    replications: int = 1000
    replication: int | Literal["median"] = "median"
    objective: str = "time"

    @classmethod
    def from_query(cls, query: str, controls: Sequence[Control]) -> "WhatIf":
        """Read the address; raise `MovesError` for unknown names and invalid options."""
        given = dict(parse_qsl(query, keep_blank_values=True))
        options: dict[str, Any] = _OPTIONS | {k: given.pop(k) for k in _OPTIONS if k in given}
        known = [each.name for each in controls]
        found = [
            (name, f"is not moved here; {nearest(name, known)}")
            for name in given
            if name not in known
        ]
        for name in ("seed", "replication", "replications"):
            if re.fullmatch(r"\s*-?[0-9]+\s*", options[name]):
                options[name] = int(options[name])
            try:
                if name == "replications":
                    check_replications(options[name])
                elif (name, options[name]) != ("replication", "median"):
                    check_whole(name, options[name], 0)
            except UsageError as error:
                found.append((name, str(error)))
        objective = options["objective"]
        if objective not in MEASURED:
            hint = nearest(objective, MEASURED)
            found.append(("objective", f"objective {objective!r} is not known; {hint}"))
        if found:
            raise MovesError(*found)
        moved = {name: given[name].strip() for name in known if given.get(name, "").strip()}
        return cls(moved, **options)

    @property
    def query(self) -> str:
        """Return the query of the address; values of the scenario are left out."""
        options = {name: str(getattr(self, name)) for name in _OPTIONS}
        changed = {name: text for name, text in options.items() if text != _OPTIONS[name]}
        return urlencode({**self.moved, **changed})


#: Values of a question that are no keys of the scenario, where its address has none: defaults of
#: the commands that the page copies.
_OPTIONS: Final = {each.name: str(each.default) for each in fields(WhatIf) if each.name != "moved"}


@dataclass(frozen=True)
class PageModel:
    """A scenario file as it was read once, and what of it can be moved."""

    path: Path
    text: str
    title: str
    policies: tuple[str, ...]
    controls: tuple[Control, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; raise `ScenarioError` with every fault of it."""
        text = scenario_text(path)
        written = scenario_tables(mapping_of(text, path))
        scenario = Scenario(**written)
        title, names = scenario.title or path.stem, tuple(scenario.policies)
        return cls(path, text, title, names, controls_of(scenario, written))

    def overrides(self, asked: WhatIf) -> tuple[str, ...]:
        """Return the moved values, as arguments of `--set`."""
        moved = ((each.keys, asked.moved.get(each.name)) for each in self.controls)
        return tuple(f"{key}={text}" for keys, text in moved if text is not None for key in keys)

    def commands(self, asked: WhatIf) -> list[str]:
        """Return the commands that print the page's table of policies and the advisor's answer."""
        moved = [part for each in self.overrides(asked) for part in ("--set", each)]
        seed, count = str(asked.seed), str(asked.replications)
        run = ["run", str(self.path), *moved, "--replications", count]
        advise = ["advise", str(self.path), *moved, "--objective", asked.objective]
        return [shlex.join(["cprsim", *each, "--seed", seed]) for each in (run, advise)]

    def scenario(self, asked: WhatIf) -> Scenario:
        """Return the job of a question; raise `ScenarioError` with every fault."""
        overrides = self.overrides(asked)
        return Scenario(**scenario_tables(mapping_of(self.text, self.path, overrides)))

    def source(self, asked: WhatIf) -> ScenarioSource:
        """For what the file's comments say."""
        trace = trace_sha256(self.scenario(asked))
        return ScenarioSource(self.text, self.overrides(asked), trace)


def faults_at(
    error: ScenarioError, controls: Sequence[Control], asked: WhatIf
) -> tuple[dict[str, str], list[str]]:
    """Return the faults by the name of their control, and those of no control."""
    moved = [each for each in controls if each.name in asked.moved]
    at: dict[str, str] = {}
    others = []
    for fault in map(str, error.args):
        path, _, what = fault.partition(": ")
        control = next((each for each in moved if _is_at(path, each)), None)
        if control is not None:
            at.setdefault(control.name, what)
        elif len(moved) == 1:  # the file itself is sound
            at.setdefault(moved[0].name, fault)
        else:
            others.append(fault)
    return at, others


def _is_at(path: str, control: Control) -> bool:
    """Return whether a fault at that path is one of what the control sets, or of its policy."""
    if path.startswith("--set "):
        return any(path.startswith(f"--set '{key}=") for key in control.keys)
    if control.group and path == f"policies.{control.group}":
        return True
    return any(path == key or path.startswith(f"{key}.") for key in control.keys)
