"""The files of `advise --out`: the answer first, what it rests on last."""

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cprsim.basics.manifest import with_manifest
from cprsim.basics.units import SECONDS, format_exact, percent
from cprsim.contract.ledger import CAUSE_LABELS
from cprsim.figures import page_bytes, save_bytes
from cprsim.policies.registry import systems
from cprsim.report import html
from cprsim.report.answer import answer_lines
from cprsim.report.basis import inputs, repeat
from cprsim.report.candidates import answer_table
from cprsim.report.configuration import configuration
from cprsim.report.decision import decision_lines, decision_table
from cprsim.report.means import money_between, share_between
from cprsim.report.outputs import about, trace_sha256
from cprsim.report.sensitivity import robust_lines
from cprsim.report.source import ScenarioSource
from cprsim.selection import words
from cprsim.selection.intervals import ROUNDING

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice
    from cprsim.advice.aims import Aim
    from cprsim.advice.robustness import Robustness
    from cprsim.runs.mean import Mean

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
#: Of `advice.TOLD`, over the columns of their means.
_HEADINGS = {
    "overhead": "overhead, %",
    "pls": "PLS, %",
    "updates_lost": "updates lost, %",
    "learning_lost": "learning lost, %",
    "overhead_retrained": "with these trained again, %",
    "machine_overhead": "machine time, %",
    "cost": "cost",
}
_OF_FLEET = "A fleet: what its jobs draw stands here in the middle of its law."


def contents(
    advice: "Advice", robust: "Robustness | None", source: ScenarioSource | None = None
) -> dict[str, bytes | None]:
    """Name and bytes of each of `NAMES`, None for no such file; the same answer, the same bytes.

    `robust`: how the choice holds elsewhere, if that was asked. `source`: the scenario file that
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
        "answer.json": (json.dumps(document, indent=2, allow_nan=False) + "\n").encode(),
        **{f"{name}.png": save_bytes(figure, "png") for name, figure in drawn.items()},
    }
    command = _command(advice, source)
    trace = trace_sha256(advice.scenario)
    known = about(scenario, trace, command=command, seed=advice.seed)
    pictures = {name: page_bytes(figure) for name, figure in drawn.items()}
    how = "as given" if as_given else "as resolved"
    files["report.html"] = html.page(
        advice.scenario.title or "cprsim advise",
        _sections(advice, robust, pictures),
        [_inputs(advice, source), repeat(command, known, scenario, how)],
    )
    return dict.fromkeys(NAMES) | with_manifest(files, known)


def _sections(
    advice: "Advice", robust: "Robustness | None", pictures: Mapping[str, bytes]
) -> dict[str, list[str]]:
    """The parts of the page by their headings."""
    first, *more = answer_lines(advice)
    said = [html.paragraph(first, "short"), *map(html.paragraph, more)]
    refused = [(each.name, each.why) for each in advice.refused]
    left_out = html.table("Not considered", ("policy", "why"), refused, "words")
    return {
        "Answer": said + [html.code(configuration(advice))] * (advice.best is not None),
        "Sensitivity": _sensitivity(advice, robust, pictures),
        "Candidates": _candidates(advice, pictures),
        "Difference to the second best": _why(advice),
        "Notes": [html.points(advice.warnings)] * bool(advice.warnings),
        "Not considered": [left_out] * bool(refused),
        "CPR's formulas": _closed_form(advice),
    }


def _inputs(advice: "Advice", source: ScenarioSource | None) -> str:
    asked = {each.name: each.plan for each in advice.found if each.candidate.given}
    given = {name: asked[name] for name in advice.scenario.policies if name in asked}
    first = [html.paragraph(_OF_FLEET)] * advice.of_fleet
    return inputs(advice.scenario, given, source, first)


def _candidates(advice: "Advice", pictures: Mapping[str, bytes]) -> list[str]:
    table = answer_table(advice)
    _, _, caption = str(table.title).partition("\n")
    told = "; ".join(f"{e.name} {percent(e.measures['overhead'].mean)} %" for e in advice.found)
    by_cause = "Overhead of each candidate by cause, its losses and its resources."
    against = "Overhead against losses and resources. Grey strip: none."
    return [
        html.terminal_table(" ".join(caption.split()), table),
        _intervals(advice),
        html.picture(pictures["answer"], f"Bars of overhead by cause: {told}.", by_cause),
        html.picture(
            pictures["pareto"], f"Points, overhead against learning lost: {told}.", against
        ),
    ]


def _intervals(advice: "Advice") -> str:
    """Every mean of the candidates with its interval."""
    found, currency = advice.found, advice.scenario.currency
    headings = {
        name: f"{heading}, {currency}" if name == "cost" else heading
        for name, heading in _HEADINGS.items()
        if all(name in e.measures and math.isfinite(e.measures[name].mean) for e in found)
        and (name != "overhead_retrained" or advice.aim.objective == "retrained")
    }
    shown = {name: money_between if name == "cost" else _between for name in headings}
    rows = [
        (
            each.name,
            f"{each.replications:,}",
            *(write(each.measures[name]) for name, write in shown.items()),
        )
        for each in found
    ]
    columns = ("policy", _replications(advice), *headings.values())
    return html.table("Means and their 95 % intervals, simulated", columns, rows)


def _why(advice: "Advice") -> list[str]:
    """By cause, what the best and the next take; nothing where there is no next."""
    best, second, rival = advice.best, advice.runner_up, advice.certificate.runner_up
    if best is None or second is None or rival is None:
        return []
    rows = [
        (label, *map(_between, (best.causes[cause], second.causes[cause], advice.apart[cause])))
        for cause, label in CAUSE_LABELS.items()
        if max(best.causes[cause].mean, second.causes[cause].mean) > ROUNDING
    ]
    whole = best.measures["overhead"], second.measures["overhead"], advice.apart["overhead"]
    rows.append(("overhead", *map(_between, whole)))
    headings = ("of the useful time, %", best.name, second.name, "more, points")
    both = min(best.replications, second.replications)
    caption = (
        f"{best.name} and {second.name} by cause, with 95 % intervals; the difference over the "
        f"{both:,} {_replications(advice)} that both have"
    )
    sure = f"{100 * advice.certificate.confidence:g} % for all comparisons together"
    more = f"The objective of {second.name} is {words.interval(rival)} more ({sure})."
    return [html.table(caption, headings, rows), html.paragraph(more)]


def _between(mean: "Mean") -> str:
    """In percent, with its interval."""
    return percent(mean.mean) if mean.high - mean.low < ROUNDING else share_between(mean, "")


def _replications(advice: "Advice") -> str:
    return "jobs" if advice.of_fleet else "replications"


def _sensitivity(
    advice: "Advice", robust: "Robustness | None", pictures: Mapping[str, bytes]
) -> list[str]:
    if robust is None:
        return []
    described = f"Bars of what {robust.choice} loses where one input is another."
    caption = "The recommended policy, with its settings, where inputs are others."
    said = [html.paragraph(line) for line in robust_lines(advice, robust)]
    return [*said, html.picture(pictures["robust"], described, caption)]


def _closed_form(advice: "Advice") -> list[str]:
    """What CPR's formulas give, and the first-order overhead of each candidate."""
    decision = advice.decision
    if decision is None:
        return []
    table = decision_table(decision, "")
    _, _, caption = str(table.title).partition("\n")
    rows = [
        (each.name, percent(each.closed_form), percent(each.measures["overhead"].mean))
        for each in advice.found
        if math.isfinite(each.closed_form)
    ]
    return [
        *map(html.paragraph, decision_lines(decision)),
        html.terminal_table(caption, table),
        html.table(
            "Overhead, % of the useful time", ("policy", "to first order", "simulated"), rows
        ),
    ]


def _command(advice: "Advice", source: ScenarioSource | None) -> str:
    words = ["cprsim", "advise", "scenario.toml", *_options(advice.aim)]
    asked = {each.candidate.system for each in advice.found}
    asked |= {each.system for each in advice.refused}
    if asked != {*systems()}:
        words += [part for name in systems() if name in asked for part in ("--system", name)]
    if advice.of_fleet and source is not None:
        words += [part for each in source.overrides for part in ("--set", each)]
    return shlex.join([*words, "--seed", str(advice.seed), "--out", "again"])


def _options(aim: "Aim") -> Iterator[str]:
    """Those that ask for the same."""
    if aim.objective != "time":
        yield from ("--objective", aim.objective)
    for bound in aim.asked:
        yield from (f"--{bound.option.replace('_', '-')}", f"{bound.most!r}")
    if math.isfinite(aim.max_memory):
        yield from ("--max-memory", f"{aim.max_memory!r}")
    if math.isfinite(aim.max_spares):
        yield from ("--max-spares", f"{aim.max_spares:g}")
    if aim.deployable:
        yield "--deployable"
    longest = (
        format_exact(aim.max_interval_s, SECONDS) if aim.max_interval_s < math.inf else "never"
    )
    yield from ("--max-interval", longest)
    yield from ("--sure", f"{aim.confidence!r}", "--within", f"{aim.within!r}")
