"""The files of `advise --out`: the answer first, what it rests on last."""

import math
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cprsim.basics.manifest import json_bytes, with_manifest
from cprsim.basics.units import SECONDS, format_exact, percent
from cprsim.contract.registry import systems
from cprsim.figures import page_bytes, save_bytes
from cprsim.report import html
from cprsim.report.answer import answer_lines, detail_lines, robust_lines
from cprsim.report.basis import ScenarioSource, inputs, repeat
from cprsim.report.outputs import about, trace_sha256
from cprsim.report.screen import answer_table, configuration

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.advice.robustness import Robustness

#: What `advise --out` may write.
NAMES = (
    "scenario.toml",
    "answer.json",
    "answer.png",
    "pareto.png",
    "robust.png",
    "report.html",
    "manifest.json",
)
_OF_FLEET = "A fleet: values drawn for each job are shown as the middle of their law."


def contents(
    advice: "Advice", robust: "Robustness | None", source: ScenarioSource | None = None
) -> dict[str, bytes | None]:
    """Name and bytes of each of `NAMES`, None for no such file; the same answer, the same bytes.

    `robust`: how the choice holds elsewhere, if that was played. `source`: the scenario file that
    the answer comes from, for what its comments say; of a fleet, the fleet itself.
    """
    # The file that repeats the answer: as resolved, but for a fleet, which draws its values.
    as_given = advice.of_fleet and source is not None
    scenario = source.text if as_given and source else advice.scenario.to_toml()
    held = None if robust is None else robust.document()
    document = advice.document() | {"robustness": held}
    drawn = {name: advice.figure(name) for name in ("answer", "pareto")}
    if robust is not None:
        drawn["robust"] = robust.figure(advice.scenario.title)
    files = {
        "scenario.toml": scenario.encode(),
        "answer.json": json_bytes(document),
        **{f"{name}.png": save_bytes(figure, "png") for name, figure in drawn.items()},
    }
    command = _command(advice, source)
    known = about(scenario, trace_sha256(advice.scenario), command=command, seed=advice.seed)
    pictures = {name: page_bytes(figure) for name, figure in drawn.items()}
    asked = {each.name: each.plan for each in advice.found if each.candidate.given}
    given = {name: asked[name] for name in advice.scenario.policies if name in asked}
    first = [html.paragraph(_OF_FLEET)] * advice.of_fleet
    how = "as given" if as_given else "as resolved"
    files["report.html"] = html.page(
        advice.scenario.title or "cprsim advise",
        _sections(advice, robust, pictures),
        [inputs(advice.scenario, given, source, first), repeat(command, known, scenario, how)],
    )
    return dict.fromkeys(NAMES) | with_manifest(files, known)


def _sections(
    advice: "Advice", robust: "Robustness | None", pictures: Mapping[str, bytes]
) -> dict[str, list[str]]:
    """The parts of the page by their headings: what the command prints, with pictures."""
    first, *more = answer_lines(advice)
    said = [html.paragraph(first, "short"), *map(html.paragraph, more)]
    said += [html.code(configuration(advice))] * (advice.best is not None)
    sensitivity = list[str]()
    if robust is not None:
        described = f"Bars of what {robust.choice} loses where one input is another."
        caption = "The recommended policy, with its settings, where inputs are others."
        sensitivity += map(html.paragraph, robust_lines(advice, robust))
        sensitivity.append(html.picture(pictures["robust"], described, caption))
    table = answer_table(advice)
    _, _, caption = str(table.title).partition("\n")
    shares = "; ".join(f"{e.name} {percent(e.measures['overhead'].mean)} %" for e in advice.found)
    by_cause = "Overhead of each candidate by cause, its losses and its resources."
    against = "Overhead against losses and resources. Grey strip: none."
    candidates = [
        html.terminal_table(" ".join(caption.split()), table),
        html.picture(pictures["answer"], f"Bars of overhead by cause: {shares}.", by_cause),
        html.picture(
            pictures["pareto"], f"Points, overhead against learning lost: {shares}.", against
        ),
    ]
    notes = [line.removeprefix("Note: ") for line in detail_lines(advice)]
    return {
        "Answer": said,
        "Sensitivity": sensitivity,
        "Candidates": candidates,
        "Notes": [html.points(notes)] * bool(notes),
    }


def _command(advice: "Advice", source: ScenarioSource | None) -> str:
    """The command that asks for the same."""
    criteria = advice.criteria
    words = ["cprsim", "advise", "scenario.toml"]
    if criteria.objective != "time":
        words += ["--objective", criteria.objective]
    for bound in criteria.asked:
        words += [f"--{bound.option.replace('_', '-')}", f"{bound.most!r}"]
    if math.isfinite(criteria.max_memory):
        words += ["--max-memory", f"{criteria.max_memory!r}"]
    if math.isfinite(criteria.max_spares):
        words += ["--max-spares", f"{criteria.max_spares:g}"]
    words += ["--deployable"] * criteria.deployable
    limited = criteria.max_interval_s < math.inf
    words += [
        "--max-interval",
        format_exact(criteria.max_interval_s, SECONDS) if limited else "never",
    ]
    words += ["--sure", f"{criteria.confidence!r}", "--within", f"{criteria.within!r}"]
    asked = {each.candidate.system for each in advice.found}
    asked |= {each.system for each in advice.refused}
    if asked != {*systems()}:
        words += [part for name in systems() if name in asked for part in ("--system", name)]
    if advice.of_fleet and source is not None:
        words += [part for each in source.overrides for part in ("--set", each)]
    return shlex.join([*words, "--seed", str(advice.seed), "--out", "again"])
