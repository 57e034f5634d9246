"""Sections of pages: what a result rests on, and how to get it again."""

from collections.abc import Mapping
from typing import Any

from cprsim.contract import Plan
from cprsim.report import html
from cprsim.report.assumptions import assumptions
from cprsim.report.source import ScenarioSource
from cprsim.scenario import Scenario


def inputs(
    scenario: Scenario, plans: Mapping[str, Plan], source: ScenarioSource | None
) -> list[str]:
    """What the file says of itself, and a table of what was given and what follows from it."""
    head = [] if source is None else source.head
    said = (
        [html.paragraph("The scenario file says of itself:"), *map(_quoted, head)] if head else []
    )
    told = (
        "Given values are inputs, of which the file's notes say what is measured, calibrated or "
        "assumed; derived ones follow from them, and so do the intervals that policies plan. What "
        "isn't listed is at its default, which the scenario at the end shows."
    )
    rows = [tuple(each) for each in assumptions(scenario, plans, source)]
    headings = ("quantity", "value", "where from", "note")
    return [
        *said,
        html.paragraph(told),
        html.table("Inputs, and what follows from them", headings, rows, "words"),
    ]


def repeat(
    command: str, manifest: Mapping[str, Any], scenario: str, how: str = "as resolved"
) -> list[str]:
    """The command, the versions of all that took part, and the file that it is given.

    `how` that file stands there.
    """
    git = manifest["git"]
    commit = "" if git is None else f", commit {git['commit'][:12]}{' with changes' * git['dirty']}"
    libraries = ", ".join(f"{name} {number}" for name, number in manifest["libraries"].items())
    versions = f"cprsim {manifest['cprsim']}{commit}; Python {manifest['python']}; {libraries}."
    return [
        html.paragraph("In the folder of this page, with the same versions:"),
        html.code(command),
        html.paragraph(versions),
        html.paragraph(f"scenario.toml, {how}:"),
        html.code(scenario),
    ]


def _quoted(text: str) -> str:
    return f"<blockquote>{html.paragraph(text)}</blockquote>\n"
