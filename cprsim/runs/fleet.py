"""A scenario some of whose values are drawn once for each job: a fleet of jobs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from cprsim.basics.schema import faults
from cprsim.basics.streams import COHORT
from cprsim.errors import PlanError, ScenarioError
from cprsim.scenario import Scenario
from cprsim.scenario.drawn import Drawn, tables
from cprsim.scenario.drawn import KeyPath as Keys
from cprsim.scenario.mapping import load_mapping, scenario_tables


@dataclass(frozen=True)
class Fleet:
    """Jobs that differ in the values that a scenario's distributions draw.

    Parameters
    ----------
    mapping
        The tables of the scenario file.
    example
        A job with every value in the middle of its law.
    drawn
        The laws, by the keys that lead to them.
    whole
        Those of the keys that take whole numbers, to which what is drawn is rounded.

    Examples
    --------
    >>> fleet = cprsim.load_fleet("production-fleet")
    >>> len(fleet.drawn), fleet.example.cluster.parameter_servers
    (7, 18)
    """

    mapping: dict[str, Any]
    example: Scenario
    drawn: dict[Keys, Drawn]
    whole: frozenset[Keys]

    @classmethod
    def of(cls, mapping: dict[str, Any]) -> Self:
        """From the tables of a scenario file.

        Raises
        ------
        ScenarioError
            With every fault of the laws and of the sections without one; else of a job with every
            value in the middle of its law; else of those with one of them at an end of it.
        """
        drawn = _read(mapping)
        whole = _whole(mapping, drawn)
        middles = _middles(drawn, whole)
        fleet = cls(mapping, Scenario(**_with(mapping, middles)), drawn, whole)
        found = list(fleet._faults_at_the_ends(middles))
        if found:
            raise ScenarioError(*found)
        return fleet

    @property
    def title(self) -> str:
        """Title of the fleet."""
        return self.example.title

    def select(self, names: Iterable[str] | None) -> list[str]:
        """The policies of these names, all by default; raise `ScenarioError` for unknown ones."""
        return self.example.select(names)

    def draws(self, seed: int, jobs: Iterable[int]) -> Iterator[dict[Keys, Any]]:
        """Yield the draws of jobs, by number: values as in a scenario file, by their keys."""
        known: tuple[int, dict[Keys, list[Any]]] | None = None
        for job in jobs:
            number, row = divmod(job, COHORT)
            if known is None or known[0] != number:
                cohort = {p: law.cohort(seed, number, dotted(p)) for p, law in self.drawn.items()}
                known = number, cohort
            yield {
                path: law.written(known[1][path][row], path in self.whole)
                for path, law in self.drawn.items()
            }

    def jobs(self, seed: int, jobs: Iterable[int]) -> Iterator[Scenario]:
        """Jobs by number; what one is depends on the seed and its number alone.

        Raises
        ------
        ScenarioError
            For a job that can't be: its number, what it drew, and what is wrong with that.
        """
        jobs = list(jobs)
        for job, values in zip(jobs, self.draws(seed, jobs), strict=True):
            try:
                yield self._job(values)
            except ScenarioError as error:
                drew = ", ".join(f"{dotted(path)} = {value}" for path, value in values.items())
                raise ScenarioError(
                    f"job {job}, which drew {drew}: {'; '.join(error.args)}"
                ) from None

    def job(self, seed: int, job: int) -> Scenario:
        """The job of that number."""
        return next(self.jobs(seed, [job]))

    def to_toml(self) -> str:
        """The fleet as a file, defaults included."""
        import tomli_w  # noqa: PLC0415  (only those who write need it)

        laws = dict(tables(self.mapping))
        return tomli_w.dumps(_with(self.example.mapping(), laws))

    def _job(self, values: dict[Keys, Any]) -> Scenario:
        return Scenario(**_with(self._parts, values))

    @cached_property
    def _parts(self) -> dict[str, Any]:
        """The tables, but for sections and policies without a law, which are validated already."""
        parts = dict(self.mapping)
        sections = {path[0] for path in self.drawn}
        for name in parts.keys() - sections - {"title", "policies"}:
            parts[name] = getattr(self.example, name)
        policies = {path[1] for path in self.drawn if path[0] == "policies"}
        parts["policies"] = {
            name: table if name in policies else self.example.policies[name]
            for name, table in self.mapping["policies"].items()
        }
        return parts

    def _faults_at_the_ends(self, middles: dict[Keys, Any]) -> Iterator[str]:
        for path, law in self.drawn.items():
            for end, value in law.ends.items():
                written = law.written(value, path in self.whole)
                try:
                    currency = self._job({**middles, path: written}).currency
                except ScenarioError as error:
                    for fault in error.args:
                        reason = fault.removeprefix(f"{dotted(path)}: ")
                        yield f"{dotted(path)}.{end}: {reason}"
                else:
                    if currency != self.example.currency:
                        yield (
                            f"{dotted(path)}.{end}: is in {currency}, where another job's is in "
                            f"{self.example.currency}; give all prices in one currency"
                        )


def load_fleet(path: str | Path, overrides: Iterable[str] = ()) -> Fleet:
    """Read the scenario file of a fleet; as `load_scenario` else.

    Returns
    -------
    Fleet
        The laws from which the values of its jobs are drawn.

    Examples
    --------
    >>> cprsim.load_fleet("production-fleet").title
    'Production fleet, full recovery and CPR (fitted)'
    """
    mapping = scenario_tables(load_mapping(path, overrides))
    return Fleet.of(mapping)


def load(path: str | Path, overrides: Iterable[str] = ()) -> Scenario | Fleet:
    """A fleet where a value of the file is drawn for each job, else a scenario."""
    return of_tables(scenario_tables(load_mapping(path, overrides)))


def of_tables(mapping: dict[str, Any]) -> Scenario | Fleet:
    """Return what `load` does, from the tables of a file."""
    return Fleet.of(mapping) if any(tables(mapping)) else Scenario(**mapping)


def of_job(mapping: dict[str, Any]) -> Scenario | Fleet:
    """Return what `of_tables` does; the tables may name no policies, or impossible ones."""
    alone = mapping | {"policies": {"any": {"system": "full"}}}
    if mapping.get("policies"):
        try:
            return of_tables(mapping)
        except PlanError:
            if not isinstance(of_tables(alone), Scenario):
                raise
            return Scenario.read(mapping)  # planning them says why they are impossible
    job = of_tables(alone)
    if isinstance(job, Fleet):
        return replace(
            job, mapping=mapping | {"policies": {}}, example=job.example.with_policies({})
        )
    return job.with_policies({})


def load_job(path: str | Path, overrides: Iterable[str] = ()) -> Scenario | Fleet:
    """Return what `load` does, from a file that may name no policies: for `cprsim.advise`.

    Returns
    -------
    Scenario or Fleet
        A fleet where a value of the file is drawn for each job.

    Examples
    --------
    >>> cprsim.load_job("quickstart").title
    'Quickstart: a four-day job on 10 parameter servers'
    """
    return of_job(scenario_tables(load_mapping(path, overrides)))


def dotted(path: Keys) -> str:
    """The keys that lead to a value, as people write them."""
    return ".".join(path)


def _read(mapping: dict[str, Any]) -> dict[Keys, Drawn]:
    """The laws of a scenario's tables; their faults, and those of other sections, in one error."""
    drawn, found, faulty = {}, [], set()
    for path, table in tables(mapping):
        try:
            drawn[path] = Drawn.model_validate(table)
        except ValidationError as error:
            found += faults(error, Drawn, dotted(path))
            faulty.add(path[0])
    if found:
        raise ScenarioError(*found, *_faults_beside(mapping, drawn, faulty))
    return drawn


def _faults_beside(
    mapping: dict[str, Any], drawn: dict[Keys, Drawn], faulty: set[str]
) -> Iterator[str]:
    """Faults of the sections that have no faulty law."""
    rest = {name: table for name, table in mapping.items() if name not in faulty}
    drawn = {path: law for path, law in drawn.items() if path[0] not in faulty}
    try:
        Scenario.read(_with(rest, _middles(drawn, _whole(rest, drawn))))
    except ScenarioError as error:
        for fault in error.args:
            if fault.split(".")[0].split(":")[0] not in faulty:
                yield fault


def _whole(mapping: dict[str, Any], drawn: dict[Keys, Drawn]) -> frozenset[Keys]:
    """Keys that take whole numbers: those that take no other."""
    middles = _middles(drawn)
    try:
        Scenario.read(_with(mapping, middles))
    except ScenarioError as error:
        refused = {fault.partition(": ")[0] for fault in error.args}
        return frozenset(
            path
            for path, value in middles.items()
            if isinstance(value, float) and dotted(path) in refused
        )
    return frozenset()


def _middles(drawn: dict[Keys, Drawn], whole: frozenset[Keys] = frozenset()) -> dict[Keys, Any]:
    """Every value in the middle of its law."""
    return {path: law.written(law.middle, path in whole) for path, law in drawn.items()}


def _with(mapping: dict[str, Any], values: Mapping[Keys, Any]) -> dict[str, Any]:
    """A copy of nested tables, with other values at the places that the keys lead to."""
    for path, value in values.items():
        mapping = _put(mapping, path, value)
    return mapping


def _put(node: Any, path: Keys, value: Any) -> Any:
    copied: Any = list(node) if isinstance(node, list) else dict(node)
    place: Any = int(path[0]) if isinstance(node, list) else path[0]
    copied[place] = value if len(path) == 1 else _put(node[place], path[1:], value)
    return copied
