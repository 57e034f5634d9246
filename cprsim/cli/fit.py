"""`cprsim fit`: a log made into a judged failure model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cprsim.cli.common import (
    Json,
    ProgressBar,
    echo,
    print_json,
    scenario_file,
    show,
    there,
)
from cprsim.cli.output import Force, OutputPicture, output
from cprsim.failures.logs.readers import READERS

_FORMATS = {name: each.tells for name, each in READERS.items()} | {
    "intervals": "a duration a line",
    "jobs": "a row a job with its nodes, its time and how it ended, as sacct --parsable2",
}
#: Of a table of jobs, what else is not asked.
_NOT_OF_JOBS = ("system", "window", "coalesce", "population", "exclude_worst", "columns")
_BY_ITSELF = (("view", "gaps"), ("ties", "drop"))  # options that nobody gave
_READERS = "; ".join(f"{name}: {tells}" for name, tells in _FORMATS.items()) + "."


def fit(
    log: Annotated[
        Path | None,
        typer.Argument(
            metavar="LOG",
            help="A failure log; .gz and .xz too. Without it --for holds the scenario's own law "
            "against the log that its failures.log names.",
            callback=there,
        ),
    ] = None,
    reader: Annotated[
        str | None, typer.Option(help=f"Its format; what it looks like if not given. {_READERS}")
    ] = None,
    system: Annotated[int | None, typer.Option(help="System of a log with several.")] = None,
    view: Annotated[
        str,
        typer.Option(
            help="gaps: between failures of the whole system; job: of a job on some nodes, or "
            "without --nodes the MTBF of jobs of every size; uptime: of each node."
        ),
    ] = "gaps",
    nodes: Annotated[int | None, typer.Option(help="Nodes of the job, with --view job.")] = None,
    window: Annotated[
        str | None,
        typer.Option(
            help="Part of the log: shares of the time from first to last failure, 0.5:1, or dates, "
            "2025-03-01:2025-06-01, 2025-03-01:."
        ),
    ] = None,
    coalesce: Annotated[
        str | None, typer.Option(help='Failures so close in time are one, e.g. "5 min".')
    ] = None,
    ties: Annotated[str, typer.Option(help="drop or keep gaps of 0 s.")] = "drop",
    population: Annotated[
        int | None, typer.Option(help="Nodes of the system, where the log doesn't tell.")
    ] = None,
    time_column: Annotated[
        str | None, typer.Option(help="Column of a CSV log that says when.")
    ] = None,
    node_column: Annotated[str | None, typer.Option(help="Which node.")] = None,
    end_column: Annotated[str | None, typer.Option(help="When the outage was over.")] = None,
    kind_column: Annotated[
        str | None, typer.Option(help="parameter_server (or ps) or trainer.")
    ] = None,
    rack_column: Annotated[str | None, typer.Option(help="Rack of the node.")] = None,
    cause_column: Annotated[str | None, typer.Option(help="Why it failed.")] = None,
    failure_when: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Rows of a table that are failures, of a table of jobs those interrupted; of a "
            "Prometheus log value=0 or value=1.",
        ),
    ] = None,
    left_when: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Rows of a table by which a node leaves; of a Prometheus log never: a node that "
            "vanishes has failed.",
        ),
    ] = None,
    planned: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Reasons of planned outages, which are no failures."),
    ] = None,
    not_planned: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Reasons of failures, whatever else they say."),
    ] = None,
    time_unit: Annotated[
        str | None,
        typer.Option(metavar="us|ms|s", help="Unit of times that are numbers; also ns, min, h, d."),
    ] = None,
    xid: Annotated[
        list[int] | None, typer.Option(help="Code of an Xid that is a failure too; repeatable.")
    ] = None,
    exclude_worst: Annotated[
        int, typer.Option(metavar="K", help="Leave out the K nodes that fail most often.")
    ] = 0,
    for_job: Annotated[
        Path | None,
        typer.Option(
            "--for",
            metavar="SCENARIO",
            help="Play log and law as this job would meet them.",
            callback=scenario_file,
        ),
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print a [failures] block.")] = False,
    plot: Annotated[
        Path | None, output(metavar="FILE", help="Draw into a .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit failure laws to a log, and say whether they are any good."""
    from cprsim.errors import UsageError
    from cprsim.failures.logs.recognise import recognised

    if toml and as_json:
        raise UsageError("--toml and --json print one document each; choose one")
    if for_job is not None and plot is not None:
        raise UsageError("--plot draws the fit alone; leave out --for")
    picture = None if plot is None else OutputPicture(plot, force=force, option="--plot")
    columns = {
        "time": time_column,
        "node": node_column,
        "end": end_column,
        "kind": kind_column,
        "rack": rack_column,
        "cause": cause_column,
    }
    rules = {
        "failure_when": failure_when,
        "left_when": left_when,
        "planned": planned,
        "not_planned": not_planned,
        "time_unit": time_unit,
        "xids": tuple(xid or ()),
    }
    taken: dict[str, Any] = {
        "reader": reader,
        "system": system,
        "window": window,
        "coalesce": coalesce,
        "population": population,
        "exclude_worst": exclude_worst,
        "columns": {key: name for key, name in columns.items() if name is not None},
        "rules": {key: each for key, each in rules.items() if each},
    }
    if log is not None and reader is None and not taken["columns"]:
        reader = recognised(log)
    if log is not None and reader == "jobs":
        other = {"view": view != "gaps", "nodes": nodes, "for": for_job, "plot": plot}
        _jobs(log, taken, other | {"ties": ties != "drop"}, toml, as_json)
        return
    if for_job is not None:
        taken |= {"view": view, "nodes": nodes, "ties": ties}
        if log is None:
            _own_law(for_job, taken, toml, as_json)
        else:
            _for_job(for_job, log, taken, toml, as_json)
        return
    if log is None:
        raise UsageError("which log? name one: cprsim fit LOG")
    if view == "job" and nodes is None and ties != "drop":
        raise UsageError("--ties goes with gaps that are fitted; leave it out, or give --nodes")
    with ProgressBar("fitting", silent=as_json):
        found, table = _fitted(log, taken, view, nodes, ties)
    block = found.toml() if toml else None
    if picture is not None:
        picture.draw(found.figure(), silent=as_json)
    if block is not None:
        echo(block)
    else:
        show(found, table, as_json)


def _jobs(
    log: Path, taken: dict[str, Any], other: dict[str, Any], toml: bool, as_json: bool
) -> None:
    """Interruptions of jobs by their size, from a table of jobs."""
    from cprsim.errors import UsageError
    from cprsim.failures.logs.job_table import read_jobs
    from cprsim.report.job_records import jobs_table

    rules = dict(taken["rules"])
    asked = {key: rules.pop(key) for key in ("failure_when", "time_unit") if key in rules}
    given = other | {key: taken[key] for key in _NOT_OF_JOBS} | rules
    for name in (name for name, value in given.items() if value):
        option = f"--{name.replace('_', '-')}"
        raise UsageError(
            f"{option}: {log} is a table of jobs, of which --failure-when, --time-unit, --toml and "
            f"--json can be asked; leave out {option}, or name another --reader"
        )
    found = read_jobs(log, **asked)
    if toml:
        echo(found.toml())
    else:
        show(found, jobs_table, as_json)


def _fitted(
    log: Path, taken: dict[str, Any], view: str, nodes: int | None, ties: str
) -> tuple[Any, Any]:
    """What is found, and what makes a table of it."""
    from cprsim.fitting.fit_log import fit as fit_log
    from cprsim.fitting.mtbf import mtbf_by_nodes
    from cprsim.report import tables

    if view == "job" and nodes is None:
        return mtbf_by_nodes(log, **taken), tables.mtbf_table
    found = fit_log(log, **taken, view=view, nodes=nodes, ties=ties)  # type: ignore[arg-type]
    return found, tables.fit_table


def _for_job(path: Path, log: Path, taken: dict[str, Any], toml: bool, as_json: bool) -> None:
    """Fit, and play law and log at the length, nodes and policies of a scenario."""
    from cprsim.fitting.at_hand import at_hand
    from cprsim.fitting.for_job import fit_for
    from cprsim.report import tables
    from cprsim.report.at_hand import at_hand_table
    from cprsim.scenario import load_scenario

    with ProgressBar("fitting", silent=as_json) as progress:
        job = load_scenario(path)
        fitted = fit_for(job, log, **taken)
        progress.begin("simulating")
        found = at_hand(fitted, job)
    if toml:
        echo("\n".join([*(f"# {note}" for note in found.notes), fitted.toml()]))
    elif as_json:
        print_json(fitted.document() | {"for": found.document()})
    else:
        show(fitted, tables.fit_table, as_json)
        echo()
        show(found, at_hand_table, as_json)


def _own_law(path: Path, taken: dict[str, Any], toml: bool, as_json: bool) -> None:
    """Hold the law of a scenario against the log that it names."""
    from cprsim.errors import UsageError
    from cprsim.fitting.at_hand import its_own_law
    from cprsim.fitting.for_job import fit_named
    from cprsim.report.at_hand import at_hand_table
    from cprsim.scenario import load_scenario

    if toml:
        raise UsageError("--toml prints the law of a new fit; name its LOG")
    job = load_scenario(path)
    given = {key: each for key, each in taken.items() if (key, each) not in _BY_ITSELF}
    show(its_own_law(fit_named(job, **given), job), at_hand_table, as_json)
