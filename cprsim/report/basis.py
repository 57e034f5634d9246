"""The basis of a result: given values, values derived from them, and how to get it again."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from cprsim.basics.units import format_duration
from cprsim.contract import Plan
from cprsim.errors import ScenarioError
from cprsim.job.tiers import REMOTE
from cprsim.report import html
from cprsim.scenario import Scenario


class ScenarioSource(NamedTuple):
    """The file's text, what the command line set in it (`key=value`), and the log's hash."""

    text: str
    overrides: tuple[str, ...] = ()
    trace_sha256: str | None = None


class Assumption(NamedTuple):
    """A quantity that the scenario doesn't say outright: its value, where it comes from, a note."""

    name: str
    value: str
    origin: str
    note: str = ""


def inputs(
    scenario: Scenario,
    plans: Mapping[str, Plan],
    source: ScenarioSource | None,
    first: Iterable[str] = (),
) -> str:
    """The scenario file with its comments, and a table of what follows from it."""
    parts = [*first]
    if source is not None:
        parts += [html.paragraph("The scenario file:"), html.code(source.text)]
        if source.overrides:
            parts.append(html.paragraph(f"Set by --set: {'; '.join(source.overrides)}."))
    about = (
        "Values of the file are inputs, of which its comments say what is measured, calibrated or "
        "assumed; derived ones follow from them, and so do the intervals that policies plan. What "
        "the file doesn't have is at its default, which the scenario at the end shows."
    )
    headings = ("quantity", "value", "where from", "note")
    table = html.table("What follows from it", headings, derived(scenario, plans), "words")
    what = "Inputs, and what follows from them"
    return html.folded("Inputs and assumptions", what, [*parts, html.paragraph(about), table])


def repeat(
    command: str, manifest: Mapping[str, Any], scenario: str, how: str = "as resolved"
) -> str:
    """The command, the versions of all that took part, and the file that it is given.

    `how`: a word on the form of that file.
    """
    git = manifest["git"]
    commit = "" if git is None else f", commit {git['commit'][:12]}{' with changes' * git['dirty']}"
    libraries = ", ".join(f"{name} {number}" for name, number in manifest["libraries"].items())
    versions = f"cprsim {manifest['cprsim']}{commit}; Python {manifest['python']}; {libraries}."
    parts = [
        html.paragraph("In the folder of this page, with the same versions:"),
        html.code(command),
        html.paragraph(versions),
        html.paragraph(f"scenario.toml, {how}:"),
        html.code(scenario),
    ]
    return html.folded("Reproduce", f"The command, versions and the scenario {how}", parts)


def derived(scenario: Scenario, plans: Mapping[str, Plan]) -> Iterator[Assumption]:
    """Yield what follows from a scenario, and from the policies of `plans`."""
    mtbf = format_duration(scenario.context.mtbf_s)
    yield Assumption("MTBF of the job", mtbf, "derived", "what policies plan with")
    model, costs = scenario.cost_model, scenario.costs
    one_load = costs.load_s is not None
    kinds = {
        "one save": (costs.save_s, partial(model.save, REMOTE)),
        "one load of everything": (costs.load_full_s, partial(model.load, REMOTE, "all", 1)),
        "one load of one server's shard": (
            costs.load_partial_s,
            partial(model.load, REMOTE, "lost", 1),
        ),
    }
    note = "from sizes and bandwidths, with the links to itself"
    for name, (measured_s, flow) in kinds.items():
        if measured_s is None and not (one_load and name != "one save"):
            with suppress(ScenarioError):  # no policy needs it
                seconds = model.seconds(flow())
                yield Assumption(name, format_duration(seconds), "derived", note)
    for name, plan in plans.items():
        note = f"{plan.recovery} recovery"
        if plan.note is not None:
            note += f"; {plan.note}"
        yield Assumption(f"{name}: saves every", format_duration(plan.interval_s), "planned", note)
        for own in plan.own_costs:
            if own.basis != "given":
                key, _, value = own.text.partition(" = ")
                yield Assumption(f"{name}: {key}", value, own.basis, own.follows)
