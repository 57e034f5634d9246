"""The scenario file that the page is about, and the job that a question makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cprsim.app.controls import Control, controls_of
from cprsim.app.whatif import WhatIf
from cprsim.errors import ScenarioError
from cprsim.report.outputs import trace_sha256
from cprsim.report.source import ScenarioSource
from cprsim.scenario import Scenario
from cprsim.scenario.mapping import mapping_of, scenario_tables, scenario_text


@dataclass(frozen=True)
class Subject:
    """A scenario file as it was read once, and what of it can be moved."""

    path: Path
    text: str
    title: str
    policies: tuple[str, ...]
    controls: tuple[Control, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Of a file.

        Raises
        ------
        ScenarioError
            With every fault of it.
        """
        text = scenario_text(path)
        written = scenario_tables(mapping_of(text, path))
        scenario = Scenario(**written)
        title, names = scenario.title or path.stem, tuple(scenario.policies)
        return cls(path, text, title, names, controls_of(scenario, written))

    def scenario(self, asked: WhatIf) -> Scenario:
        """The job that is asked about; raise `ScenarioError` with every fault."""
        overrides = asked.overrides(self.controls)
        return Scenario(**scenario_tables(mapping_of(self.text, self.path, overrides)))

    def source(self, asked: WhatIf) -> ScenarioSource:
        """For what the file's comments say."""
        trace = trace_sha256(self.scenario(asked))
        return ScenarioSource(self.text, asked.overrides(self.controls), trace)


def faults_at(
    error: ScenarioError, controls: Sequence[Control], asked: WhatIf
) -> tuple[dict[str, str], list[str]]:
    """What is wrong, by the name of the control that it is wrong at; and what is at none."""
    moved = [each for each in controls if each.name in asked.moved]
    at: dict[str, str] = {}
    others = []
    for fault in error.args:
        path, _, what = str(fault).partition(": ")
        control = next((each for each in moved if _is_at(path, each)), None)
        if control is None and len(moved) == 1:  # the file itself is sound
            at.setdefault(moved[0].name, str(fault))
        elif control is None:
            others.append(str(fault))
        else:
            at.setdefault(control.name, what)
    return at, others


def _is_at(path: str, control: Control) -> bool:
    """Whether a fault at that path is one of what the control sets, or of its policy."""
    if path.startswith("--set "):
        return any(path.startswith(f"--set '{key}=") for key in control.keys)
    near = path == f"policies.{control.group}" and control.group
    return bool(near) or any(path == key or path.startswith(f"{key}.") for key in control.keys)
