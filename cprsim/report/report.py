"""`report.html`: the answer, how sure that is, and folded what it rests on."""

import math
import shlex
from collections.abc import Mapping
from typing import Any

from cprsim.basics.units import format_duration
from cprsim.contract.vocabulary import Vocabulary
from cprsim.figures import page_bytes
from cprsim.figures.timeline import timelines
from cprsim.history.recorder import record
from cprsim.report import html
from cprsim.report.basis import inputs, repeat
from cprsim.report.conclusion import certified, conclusion, findings
from cprsim.report.source import ScenarioSource
from cprsim.report.tables import (
    RunTable,
    WallTable,
    accuracy_table,
    causes_table,
    resources_table,
)
from cprsim.runs.result import Result
from cprsim.selection.words import interval


def report(
    result: Result,
    breakdown: bytes,
    manifest: Mapping[str, Any],
    source: ScenarioSource | None = None,
    words: Vocabulary | None = None,
) -> bytes:
    """The page.

    Parameters
    ----------
    result
        What is reported.
    breakdown
        The picture of where the time goes, of `cprsim.figures.page_bytes`.
    manifest
        Versions and the like, as in `manifest.json`.
    source
        The file that the scenario was read from, whose comments go into the page.
    words
        Terms in which a table says where the wall clock goes.
    """
    title = result.scenario.title or "cprsim run"
    sections = {
        "Conclusion": _conclusion(result),
        "Where the time goes": [_breakdown(result, breakdown)],
        "Causes of failures": _causes(result),
        "Results": _tables(result, words),
        "Differences": _paired(result),
        "Example run": _timelines(result),
    }
    rests = inputs(result.scenario, result.plans, source)
    return html.page(title, sections, [rests, _reproduction(result, manifest)])


def _conclusion(result: Result) -> list[str]:
    job, cluster = result.scenario.job, result.scenario.cluster
    mtbf_s = result.scenario.context.mtbf_s
    fails = "no failures"
    if math.isfinite(mtbf_s):
        fails = f"one failure per {format_duration(mtbf_s)}"
    about = (
        f"Job: {format_duration(job.useful_time_s)} of training, {cluster.parameter_servers:,} "
        f"parameter servers, {cluster.trainers:,} trainers, {fails}. Policies: "
        f"{', '.join(result.plans)}."
    )
    said = [html.paragraph(conclusion(result), "short"), html.paragraph(about)]
    more = findings(result)
    return [*said, html.points(more)] if more else said


def _tables(result: Result, words: Vocabulary | None) -> list[str]:
    table = RunTable(result).wide()
    _, _, caption = str(table.title).partition("\n")
    parts = [html.terminal_table(caption, table)]
    wall = None if words is None else WallTable(result, words).wide()
    more = wall, causes_table(result), resources_table(result), accuracy_table(result)
    return parts + [html.terminal_table(str(each.title), each) for each in more if each is not None]


def _breakdown(result: Result, svg: bytes) -> str:
    overheads = result.summary["overhead"]
    described = "; ".join(f"{name} {share:.2%}" for name, share in overheads.items())
    caption = "Mean overhead by cause. Grey: with lost updates trained again. Right: updates lost."
    return html.picture(svg, f"Bars of overhead by cause: {described}.", caption)


def _causes(result: Result) -> list[str]:
    """What failures of each cause cost, under the first policy; nothing without causes."""
    if result.scenario.failures.causes is None:
        return []
    costs = zip(result.causes["cause"], result.causes["overhead"], strict=True)
    described = "; ".join(f"{cause} {share:.2%}" for cause, share in costs)
    caption = "What failures of each cause cost, in the mean of a job. All policies: Results."
    drawn = page_bytes(result.figure("causes"))
    return [html.picture(drawn, f"Bars of overhead by cause of failure: {described}.", caption)]


def _timelines(result: Result) -> list[str]:
    """One replication, which is neither a lucky nor an unlucky one, under all policies."""
    reference = reference_policy(result)
    number = result.kept.median(reference)
    histories = [record(result.scenario, name, result.seed, number) for name in result.plans]
    drawn = page_bytes(timelines(histories))
    walls = "; ".join(f"{each.policy} {format_duration(each.ledger.wall)}" for each in histories)
    caption = (
        f"Replication {number}, whose overhead under {reference} is the median, under all "
        "policies; the same failures are drawn for each. Triangles: failures. Thin lanes: "
        "background work. To draw one of them:"
    )
    command = (
        f"cprsim timeline scenario.toml --policy {shlex.quote(reference)} --seed {result.seed} "
        f"--replication {number} --out timeline.png"
    )
    shown = html.picture(drawn, f"Lanes of one run under each policy, lasting: {walls}.", caption)
    return [shown, html.code(command)]


def reference_policy(result: Result) -> str:
    """Full recovery where it is among the policies, else the first of them."""
    policies = result.scenario.policies
    return next((n for n in result.plans if policies[n].system == "full"), next(iter(result.plans)))


def _paired(result: Result) -> list[str]:
    paired = (
        "Paired differences on the same failures, with intervals of 95 % for all of them together"
    )
    parts = [_differences(result, "overhead", paired)]
    if (result.summary["overhead_retrained"] > result.summary["overhead"]).any():
        again = f"{paired}; every lost update trained again"
        parts.append(_differences(result, "overhead_retrained", again))
    return [each for each in parts if each] or [html.paragraph("Only one policy was run.")]


def _differences(result: Result, measure: str, caption: str) -> str:
    """A row for each policy but the one with the least; nothing where that is the only one."""
    found, names = certified(result, measure), list(result.plans)
    means = result.summary[measure]
    rows = [
        (
            names[each.candidate],
            f"{100 * means[names[each.candidate]]:.2f}",
            interval(each),
            each.standing,
        )
        for each in found.rivals
    ]
    shown = measure.replace("_", " ")
    headings = ("policy", f"{shown}, %", f"more than {names[found.best or 0]}", "verdict")
    return html.table(caption, headings, rows) if rows else ""


def _reproduction(result: Result, manifest: Mapping[str, Any]) -> str:
    chosen = [] if list(result.plans) == list(result.scenario.policies) else list(result.plans)
    policies = "".join(f" --policy {shlex.quote(name)}" for name in chosen)
    engines = set(result.engines.values())
    engine = engines.pop() if len(engines) == 1 else "auto"
    command = (
        f"cprsim run scenario.toml{policies} "
        f"--replications {manifest['replications']} --seed {result.seed} --engine {engine} "
        "--out again"
    )
    return repeat(command, manifest, result.to_toml())
