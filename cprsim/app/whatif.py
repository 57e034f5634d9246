"""What is asked: controls that were moved, and how the job is played; in the address and back."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode

from cprsim.advice.aims import MEASURED
from cprsim.app.controls import Control
from cprsim.basics.schema import nearest
from cprsim.errors import UsageError
from cprsim.runs.runner import check_replications, check_whole

#: What of it is no key of the scenario, with the values that stand where the address is silent:
#: those of the commands that the page copies.
DEFAULTS: Final = {"seed": "0", "replications": "1000", "replication": "0", "objective": "time"}


class MovesError(UsageError):
    """What can't be asked: a fault for each control, by its name."""

    @property
    def faults(self) -> dict[str, str]:
        """By the name of the control, or of the option."""
        return dict(self.args)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {fault}" for name, fault in self.args)


@dataclass(frozen=True)
class WhatIf:
    """One question: texts of the controls that were moved by name, and options of the commands.

    Two that ask the same are equal.
    """

    moved: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    replications: int = 1000
    replication: int = 0
    objective: str = "time"

    @classmethod
    def from_query(cls, query: str, controls: Sequence[Control]) -> "WhatIf":
        """Of the address.

        Raises
        ------
        MovesError
            For what is no control, and options that make no sense.
        """
        given = dict(parse_qsl(query, keep_blank_values=True))
        options = DEFAULTS | {name: given.pop(name) for name in DEFAULTS if name in given}
        known = [each.name for each in controls]
        found = [
            (name, f"is not moved here; {nearest(name, known)}")
            for name in given
            if name not in known
        ]
        found += _option_faults(options)
        if found:
            raise MovesError(*found)
        moved = {name: given[name].strip() for name in known if given.get(name, "").strip()}
        numbers = {name: int(options[name]) for name in ("seed", "replications", "replication")}
        return cls(moved, objective=options["objective"], **numbers)

    @property
    def query(self) -> str:
        """As it stands in the address; what is as the scenario has it is left out."""
        options = {name: str(getattr(self, name)) for name in DEFAULTS}
        changed = {name: text for name, text in options.items() if text != DEFAULTS[name]}
        return urlencode({**self.moved, **changed})

    def overrides(self, controls: Iterable[Control]) -> tuple[str, ...]:
        """As arguments of `--set`."""
        return tuple(
            f"{key}={self.moved[each.name]}"
            for each in controls
            if each.name in self.moved
            for key in each.keys
        )

    def run_command(self, scenario: Path, controls: Iterable[Control]) -> str:
        """What prints the page's table of policies."""
        more = ["--replications", str(self.replications), "--seed", str(self.seed)]
        return _command("run", scenario, self.overrides(controls), more)

    def advise_command(self, scenario: Path, controls: Iterable[Control]) -> str:
        """What prints the advisor's answer, and over which worlds it holds besides."""
        more = ["--objective", self.objective, "--seed", str(self.seed)]
        return _command("advise", scenario, self.overrides(controls), more)


def _command(name: str, scenario: Path, overrides: Iterable[str], more: Iterable[str]) -> str:
    moved = [part for each in overrides for part in ("--set", each)]
    return shlex.join(["cprsim", name, str(scenario), *moved, *more])


def _option_faults(options: Mapping[str, str]) -> list[tuple[str, str]]:
    found = []
    for name in ("seed", "replication"):
        try:
            check_whole(name, _whole(options[name]), 0)
        except UsageError as error:
            found.append((name, str(error)))
    try:
        check_replications(_whole(options["replications"]))  # type: ignore[arg-type]
    except UsageError as error:
        found.append(("replications", str(error)))
    if options["objective"] not in MEASURED:
        hint = nearest(options["objective"], MEASURED)
        found.append(("objective", f"objective {options['objective']!r} is not known; {hint}"))
    return found


def _whole(text: str) -> int | str:
    """The number that a text is; the text where it is none, for its fault."""
    return int(text) if text.isascii() and text.strip().lstrip("-").isdigit() else text
