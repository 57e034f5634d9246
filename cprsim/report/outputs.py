"""The files of `run --out`: replications, scenario as resolved, manifest, picture, report."""

import hashlib
from typing import TYPE_CHECKING, Any

from cprsim.basics.manifest import sha256, versions, with_manifest
from cprsim.basics.spreadsheet import csv_bytes
from cprsim.contract.ledger import RARE_CAUSES, told_causes
from cprsim.runs.digest import ReplicationTable
from cprsim.runs.result import Result
from cprsim.scenario import Scenario

if TYPE_CHECKING:
    from cprsim.report.basis import ScenarioSource
    from cprsim.runs.vocabulary import Vocabulary

#: What `run --out` may write.
NAMES = (
    "results.csv",
    "scenario.toml",
    "manifest.json",
    "breakdown.png",
    "fleet-breakdown.png",
    "report.html",
)


def contents(
    result: Result,
    source: "ScenarioSource | None" = None,
    words: "Vocabulary | None" = None,
) -> dict[str, bytes | None]:
    """Name and bytes of each of `NAMES`, None for no such file; the same result, the same bytes.

    There is no results.csv of replications that are not kept. `source`: the scenario file that the
    result comes from, for its comments. `words`: the vocabulary in which the report says where the
    wall clock goes.
    """
    from cprsim.figures import page_bytes, save_bytes  # noqa: PLC0415  (matplotlib is slow to import)
    from cprsim.report.report import report  # noqa: PLC0415

    scenario = result.to_toml()
    trace = trace_sha256(result.scenario) if source is None else source.trace_sha256
    known = about(
        scenario,
        trace,
        policies=list(result.plans),
        replications=result.count,
        seed=result.seed,
        engines=result.engines,
    )
    files = {"scenario.toml": scenario.encode()}
    if isinstance(result.kept, ReplicationTable):
        # Without causes that only some scenarios have, where this one has none of them.
        table = result.kept.table
        shown = told_causes(lambda cause: table[f"{cause}_s"].any())
        left_out = [f"{each}_s" for each in RARE_CAUSES if each not in shown]
        files["results.csv"] = csv_bytes(table.drop(columns=left_out))
    drawn = {name: result.figure(name) for name in result.PICTURES}
    files |= {f"{name}.png": save_bytes(figure, "png") for name, figure in drawn.items()}
    if type(result) is Result:  # a report is of one job
        files["report.html"] = report(result, page_bytes(drawn["breakdown"]), known, source, words)
    of_others = dict.fromkeys(NAMES)  # what a run of another kind has left
    return of_others | with_manifest(files, known)


def trace_sha256(scenario: Scenario) -> str | None:
    """Return the SHA-256 of the replayed log, if there is one."""
    trace = scenario.failures.trace
    return None if trace is None else sha256(trace)


def about(scenario: str, trace_sha256: str | None, **more: Any) -> dict[str, Any]:
    """Return what it takes to get the same result again; `scenario`: the text of its file."""
    return {
        **versions(),
        "scenario_sha256": hashlib.sha256(scenario.encode()).hexdigest(),
        "trace_sha256": trace_sha256,
        **more,
    }
