"""`report.html` of a run: its conclusion, how sure that is, and folded what it rests on."""

import math
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from cprsim.basics.units import format_duration
from cprsim.figures import page_bytes
from cprsim.figures.timeline import timelines
from cprsim.report import html
from cprsim.report.basis import ScenarioSource, inputs, repeat
from cprsim.report.conclusion import certified, conclusion, findings
from cprsim.report.tables import (
    accuracy_table,
    causes_table,
    resources_table,
    run_table,
    wall_table,
)
from cprsim.runs.result import Result
from cprsim.runs.selection.words import interval
from cprsim.runs.vocabulary import Vocabulary
from cprsim.sim.history.recorder import record


def report(
    result: Result,
    breakdown: bytes,
    manifest: Mapping[str, Any],
    source: ScenarioSource | None = None,
    words: Vocabulary | None = None,
) -> bytes:
    """The page of a run.

    `breakdown`: the picture of where the time goes, of `cprsim.figures.page_bytes`. `manifest`:
    versions and the like, as in `manifest.json`. `source`: the scenario's file, whose comments go
    into the page. `words`: terms in which a table says where the wall clock goes.
    """
    title = result.scenario.title or "cprsim run"
    sections = {
        "Conclusion": _conclusion(result),
        "Where the time goes": [
            html.picture(
                breakdown,
                f"Bars of overhead by cause: {_shares(result.summary['overhead'].items())}.",
                "Mean overhead by cause. Grey: with lost updates trained again. Right: updates "
                "lost.",
            )
        ],
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
    table = run_table(result).table
    _, _, caption = str(table.title).partition("\n")
    parts = [html.terminal_table(caption, table)]
    wall = None if words is None else wall_table(result, words)
    more = wall, causes_table(result), resources_table(result), accuracy_table(result)
    return parts + [html.terminal_table(str(each.title), each) for each in more if each is not None]


def _shares(of: Iterable[tuple[Any, float]]) -> str:
    return "; ".join(f"{name} {share:.2%}" for name, share in of)


def _causes(result: Result) -> list[str]:
    """Return the costs of each cause of failures, under the first policy; none without causes."""
    if result.scenario.failures.causes is None:
        return []
    costs = _shares(zip(result.causes["cause"], result.causes["overhead"], strict=True))
    caption = "What failures of each cause cost, in the mean of a job. All policies: Results."
    drawn = page_bytes(result.figure("causes"))
    return [html.picture(drawn, f"Bars of overhead by cause of failure: {costs}.", caption)]


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
    """For each policy but the one with the lowest overhead, by how much it exceeds that."""
    caption = (
        "Paired differences on the same failures, with intervals of 95 % for all of them together"
    )
    measures = {"overhead": caption}
    if (result.summary["overhead_retrained"] > result.summary["overhead"]).any():
        measures["overhead_retrained"] = f"{caption}; every lost update trained again"
    parts = []
    for measure, about in measures.items():
        found, names, means = (
            certified(result, measure),
            list(result.plans),
            result.summary[measure],
        )
        shown = f"{measure.replace('_', ' ')}, %"
        headings = ("policy", shown, f"more than {names[found.best or 0]}", "verdict")
        rows = [
            (names[i], f"{100 * means[names[i]]:.2f}", interval(each), each.standing)
            for each in found.rivals
            for i in [each.candidate]
        ]
        if rows:
            parts.append(html.table(about, headings, rows))
    return parts or [html.paragraph("Only one policy was run.")]


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
