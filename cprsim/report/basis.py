"""What a result rests on: what was given, what follows from it, and how to get it again."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from cprsim.basics.schema import Section
from cprsim.basics.units import format_duration
from cprsim.contract import Plan
from cprsim.errors import ScenarioError
from cprsim.job.tiers import REMOTE
from cprsim.report import html
from cprsim.scenario import Scenario

_TABLE = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+")
_KEY = re.compile(r"\s*([\w.-]+)\s*=")
#: A comment at the end of a line, behind quoted text that may hold a #.
_COMMENT = re.compile(r"""^(?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*#(.*)$""")
_CONTINUED = "  "  # a comment that begins so goes on with that of the line before
_SECTIONS = ("job", "model", "cluster", "storage", "costs", "failures", "accuracy", "prices")


@dataclass(frozen=True)
class ScenarioSource:
    """The file's text, what the command line set besides (`key=value`), and the log's hash."""

    text: str
    overrides: tuple[str, ...] = ()
    trace_sha256: str | None = None

    @property
    def head(self) -> list[str]:
        """Paragraphs of the comment that the file begins with."""
        lines = []
        for line in self.text.splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.removeprefix("#").strip())
        return [" ".join(part.split()) for part in "\n".join(lines).split("\n\n") if part.strip()]

    @property
    def overridden(self) -> set[str]:
        """Keys that the command line set."""
        return {each.partition("=")[0].strip() for each in self.overrides}

    @cached_property
    def comments(self) -> dict[str, str]:
        """What stands behind a key or the heading of a table, by its dotted path."""
        found: dict[str, str] = {}
        table = path = ""
        for line in self.text.splitlines():
            heading, key = _TABLE.match(line), _KEY.match(line)
            comment = _COMMENT.match(line)
            said = comment[1] if comment and (heading or key) else ""
            if said.startswith(_CONTINUED) and path in found:
                found[path] += f" {said.strip()}"
                continue
            if heading:
                path = table = heading[1]
            elif key:
                path = f"{table}.{key[1]}" if table else key[1]
            if said.strip():
                found[path] = said.strip()
        return found


class Assumption(NamedTuple):
    """A quantity, its value, where it comes from, and what the file says of it."""

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
    """What the file says of itself, and a table of what was given and what follows from it."""
    head = [] if source is None else source.head
    said = [html.paragraph("The scenario file says of itself:")] * bool(head)
    said += [f"<blockquote>{html.paragraph(text)}</blockquote>\n" for text in head]
    told = (
        "Given values are inputs, of which the file's notes say what is measured, calibrated or "
        "assumed; derived ones follow from them, and so do the intervals that policies plan. What "
        "isn't listed is at its default, which the scenario at the end shows."
    )
    rows = assumptions(scenario, plans, source)
    headings = ("quantity", "value", "where from", "note")
    what = "Inputs, and what follows from them"
    table = html.table(what, headings, rows, "words")
    parts = [*first, *said, html.paragraph(told), table]
    return html.folded("Inputs and assumptions", what, parts)


def repeat(
    command: str, manifest: Mapping[str, Any], scenario: str, how: str = "as resolved"
) -> str:
    """The command, the versions of all that took part, and the file that it is given.

    `how` that file stands there.
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


def assumptions(
    scenario: Scenario, plans: Mapping[str, Plan], source: ScenarioSource | None
) -> list[Assumption]:
    """What the scenario and the policies of `plans` give, then what was derived from it."""
    return [*_given(scenario, plans, source), *_derived(scenario, plans)]


def _given(
    scenario: Scenario, names: Iterable[str], source: ScenarioSource | None
) -> Iterator[Assumption]:
    sections: dict[str, Section | None] = {name: getattr(scenario, name) for name in _SECTIONS}
    sections |= {f"policies.{name}": scenario.policies[name] for name in names}
    overridden = set() if source is None else source.overridden
    comments = {} if source is None else source.comments
    for table, section in sections.items():
        if section is None:
            continue
        given = section.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude_unset=True
        )
        for key, value in given.items():
            path = f"{table}.{key}"
            if any(each == path or each.startswith(f"{path}.") for each in overridden):
                yield Assumption(path, _shown(value), "set by --set")
            else:
                note = comments.get(path, "")
                if key == "system":
                    note = "; ".join(filter(None, (comments.get(table), note)))
                yield Assumption(path, _shown(value), "given", note)


def _shown(value: object) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        named = [each["name"] for each in value if isinstance(each, dict) and each.get("name")]
        return ", ".join(named if len(named) == len(value) else map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _derived(scenario: Scenario, plans: Mapping[str, Plan]) -> Iterator[Assumption]:
    """What the scenario doesn't say outright."""
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
            if own.basis != "given":  # those are among what the scenario gives
                key, _, value = own.text.partition(" = ")
                yield Assumption(f"{name}: {key}", value, own.basis, own.follows)
