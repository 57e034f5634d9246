"""The runs of a study: its block in a scenario, and every run that follows from it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Annotated, Any

import pandas as pd
from pydantic import BeforeValidator, Field

from cprsim.basics.schema import Section
from cprsim.basics.version import __version__
from cprsim.errors import ScenarioError
from cprsim.scenario import Scenario
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.studies.findings import comparisons
from cprsim.trainer.studies.paired import enough

#: Raised when the trainer's numbers change, so that no study mixes old runs with new ones.
VERSION = 2

_Count = Annotated[int, Field(ge=1)]
_Listed = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)


class StudyPart(Section):
    """Runs at all combinations of its values.

    `policies`: names of policies of the scenario. `failures`: numbers of failures of a run.
    `servers_hit`: numbers of servers that fail at once.
    """

    policies: Annotated[
        tuple[str, ...], _Listed, Field(min_length=1, examples=[["full", "partial"]])
    ]
    failures: Annotated[tuple[_Count, ...], _Listed, Field(min_length=1, examples=[[1, 4]])]
    servers_hit: Annotated[tuple[_Count, ...], _Listed, Field(min_length=1)] = (1,)


class StudySection(Section):
    """The block `[study]` of a scenario.

    `seeds`: runs of each kind, and of the one without failures that each is compared with; with
    more than 20 of them the exact test would take too long. `parts`: tables of policies and
    failures, each with a name.
    """

    seeds: Annotated[int, Field(ge=2, le=20)] = 12
    parts: Annotated[
        dict[str, StudyPart],
        Field(min_length=1, examples=[{"few": {"policies": ["partial"], "failures": [1, 2]}}]),
    ]


@dataclass(frozen=True)
class Run:
    """One run of the trainer.

    `scenario`, `section`: what is trained; `failures` of the scenario are those of this run.
    `policy`: the only one of the scenario. `failures`, `servers_hit`: how many there are in the
    job, and servers that each of them hits. `seed`: of the samples, the model, and the failures.
    """

    scenario: Scenario
    section: TrainerSection
    policy: str
    failures: int
    servers_hit: int
    seed: int

    @cached_property
    def key(self) -> str:
        """Hash of all that the result depends on, versions included.

        What is left at its default isn't part of it, so that a new option makes no run a new one.
        """
        of = self.scenario
        parts = (of.job, of.model, of.cluster, of.storage, of.costs, of.failures, self.section)
        given = [_given(part) for part in (*parts, of.policies[self.policy])]
        if self.section.recorded is not None:  # samples count by content, not by name
            given[-2] |= {"data": self.section.recorded.sha256}
        taken = [VERSION, __version__, given, self.seed]
        return hashlib.sha256(json.dumps(taken, sort_keys=True).encode()).hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        """The columns of a table that are known before it has run."""
        return {
            "seed": self.seed,
            "policy": self.policy,
            "system": self.scenario.policies[self.policy].system,
            "failures": self.failures,
            "servers_hit": self.servers_hit,
            "servers": self.scenario.cluster.parameter_servers,
        }


def study_section(table: object) -> StudySection:
    """The block, checked; raise `ScenarioError` with every fault."""
    if table is None:
        raise ScenarioError(
            "study: the block [study] is missing, with seeds and [study.parts.NAME]"
        )
    return StudySection.checked(table, "study")


def runs(scenario: Scenario, section: TrainerSection, study: StudySection) -> list[Run]:
    """All runs, seed by seed, each once; the one without failures is the first of its seed.

    Raises
    ------
    ScenarioError
        For a policy that the scenario doesn't have, or more servers hit than there are.
    """
    if section.failures != "at-step":
        raise ScenarioError(
            f"trainer.failures: {section.failures!r} makes accuracy depend on how fast the machine "
            'is; a study needs "at-step"'
        )
    points = [(1, 0, next(iter(study.parts.values())).policies[0])]
    for part in study.parts.values():
        points += product(part.servers_hit, part.failures, part.policies)
    kinds = [_run(scenario, section, *point) for point in dict.fromkeys(points)]
    return [replace(each, seed=seed) for seed in range(study.seeds) for each in kinds]


def notes(planned: Sequence[Run]) -> list[str]:
    """Return the seeds that each comparison needs to find anything, before there are runs."""
    table = pd.DataFrame([run.facts for run in planned])
    return [enough(what, count, table["seed"].nunique()) for what, count in comparisons(table)]


def _run(
    scenario: Scenario, section: TrainerSection, servers_hit: int, failures: int, policy: str
) -> Run:
    (name,) = scenario.select([policy])
    mapping = scenario.mapping()
    mapping["policies"] = {name: mapping["policies"][name]}
    mapping["failures"] = {"exactly": failures, "hits": {"parameter_servers": servers_hit}}
    return Run(Scenario(**mapping), section, name, failures, servers_hit, 0)


def _given(section: Section | None) -> dict[str, Any]:
    if section is None:
        return {}
    return section.model_dump(mode="json", by_alias=True, exclude_defaults=True)
