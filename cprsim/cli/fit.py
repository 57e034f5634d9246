"""`cprsim fit`: a log made into a judged failure model."""

from pathlib import Path
from typing import Any

from cprsim.cli import options as opt
from cprsim.cli import paths
from cprsim.cli.common import echo, print_json
from cprsim.cli.output import OutputFile
from cprsim.failures.logs.readers import READERS

_FORMATS = {name: each.tells for name, each in READERS.items()} | {
    "intervals": "a duration a line",
    "jobs": "a row a job with its nodes, its time and how it ended, as sacct --parsable2",
}
_BY_ITSELF = {"view": "gaps", "ties": "drop"}  # of options that nobody gave
#: Options that `fit` of Python doesn't have.
_OWN = ("log", "for_job", "toml", "plot", "force", "as_json")
#: Which rows of a log are failures, and how it is read.
_RULES = ("failure_when", "left_when", "planned", "not_planned", "time_unit", "xid")
_READERS = "; ".join(f"{name}: {tells}" for name, tells in _FORMATS.items()) + "."


@opt.options(
    log=opt.argument(
        "A failure log; .gz and .xz too. Without it --for holds the scenario's own law against the "
        "log that its failures.log names.",
        "LOG",
        paths.there,
        optional=True,
    ),
    reader=opt.option(f"Its format; what it looks like if not given. {_READERS}"),
    system=opt.option("System of a log with several.", kind=int),
    view=opt.option(
        "gaps: between failures of the whole system; job: of a job on some nodes, or without "
        "--nodes the MTBF of jobs of every size; uptime: of each node.",
        default=_BY_ITSELF["view"],
    ),
    nodes=opt.option("Nodes of the job, with --view job.", kind=int),
    window=opt.option(
        "Part of the log: shares of the time from first to last failure, 0.5:1, or dates, "
        "2025-03-01:2025-06-01, 2025-03-01:."
    ),
    coalesce=opt.option('Failures so close in time are one, e.g. "5 min".'),
    ties=opt.option("drop or keep gaps of 0 s.", default=_BY_ITSELF["ties"]),
    population=opt.option("Nodes of the system, where the log doesn't say.", kind=int),
    time_column=opt.option("Column of a CSV log that says when."),
    node_column=opt.option("Which node."),
    end_column=opt.option("When the outage was over."),
    kind_column=opt.option("parameter_server (or ps) or trainer."),
    rack_column=opt.option("Rack of the node."),
    cause_column=opt.option("Why it failed."),
    failure_when=opt.option(
        "Rows of a table that are failures, of a table of jobs those interrupted; of a Prometheus "
        "log value=0 or value=1.",
        metavar="COLUMN=VALUE",
    ),
    left_when=opt.option(
        "Rows of a table by which a node leaves; of a Prometheus log never: a node that vanishes "
        "has failed.",
        metavar="COLUMN=VALUE",
    ),
    planned=opt.option("Reasons of planned outages, which are no failures.", metavar="REGEX"),
    not_planned=opt.option("Reasons of failures, whatever else they say.", metavar="REGEX"),
    time_unit=opt.option("Unit of times that are numbers; also ns, min, h, d.", metavar="us|ms|s"),
    xid=opt.many("Code of an Xid that is a failure too; repeatable.", kind=int),
    exclude_worst=opt.option(
        "Leave out the K nodes that fail most often.", kind=int, default=0, metavar="K"
    ),
    for_job=opt.option(
        "Play log and law as this job would meet them.",
        "--for",
        kind=Path,
        metavar="SCENARIO",
        callback=paths.scenario_file,
    ),
    toml=opt.flag("Print a [failures] block.", "--toml"),
    plot=opt.PLOT,
    force=opt.FORCE,
    as_json=opt.JSON,
)
def fit(asked: Any) -> None:
    """Fit failure laws to a log, and say whether they are any good."""
    from cprsim.errors import UsageError
    from cprsim.failures.logs.source import recognised

    if asked.toml and asked.as_json:
        raise UsageError("--toml and --json print one document each; choose one")
    if asked.for_job is not None and asked.plot is not None:
        raise UsageError("--plot draws the fit alone; leave out --for")
    picture = asked.picture(asked.plot, "--plot")
    # What each of them is in Python: columns by what they hold, and rules.
    taken = {name: each for name, each in vars(asked).items() if name not in _OWN}
    columns = {name.removesuffix("_column"): name for name in taken if name.endswith("_column")}
    columns = {key: each for key, name in columns.items() if (each := taken.pop(name)) is not None}
    rules = {name: each for name in _RULES if (each := taken.pop(name))}
    if "xid" in rules:
        rules["xids"] = tuple(rules.pop("xid"))
    taken |= {"columns": columns, "rules": rules}
    reader = asked.reader
    if asked.log is not None and reader is None and not columns:
        reader = recognised(asked.log)
    if asked.log is not None and reader == "jobs":
        _jobs(asked, taken | {"for": asked.for_job, "plot": asked.plot})
    elif asked.log is not None and asked.for_job is not None:
        _for_job(asked, taken)
    elif asked.for_job is not None:
        _own_law(asked, taken)
    elif asked.log is None:
        raise UsageError("which log? name one: cprsim fit LOG")
    else:
        _log(asked, taken, picture)


def _log(asked: Any, taken: dict[str, Any], picture: OutputFile | None) -> None:
    """Print the laws of a log, or the MTBF of jobs of every size."""
    from cprsim.errors import UsageError

    of_every_size = taken["view"] == "job" and taken["nodes"] is None
    if of_every_size and taken["ties"] != "drop":
        raise UsageError("--ties goes with gaps that are fitted; leave it out, or give --nodes")
    with asked.progress("fitting"):
        from cprsim.fitting import display
        from cprsim.fitting.fit_log import fit as fit_log
        from cprsim.fitting.mtbf import mtbf_by_nodes

        found: Any
        table: Any
        if of_every_size:
            for name in ("view", "nodes", "ties"):
                del taken[name]
            found, table = mtbf_by_nodes(asked.log, **taken), display.mtbf_table
        else:
            found, table = fit_log(asked.log, **taken), display.fit_table
    block = found.toml() if asked.toml else None
    if picture is not None:
        picture.draw(found.figure())
    if block is not None:
        echo(block)
    else:
        asked.print(found, table)


def _jobs(asked: Any, taken: dict[str, Any]) -> None:
    """Print interruptions of jobs by their size, from a table of jobs."""
    from cprsim.errors import UsageError
    from cprsim.failures.logs.job_table import read_jobs
    from cprsim.fitting.display import jobs_table

    rules = taken.pop("rules")
    known = {key: rules.pop(key) for key in ("failure_when", "time_unit") if key in rules}
    given = {key: taken[key] for key in ("view", "nodes", "for", "plot", "ties") if key in taken}
    given |= {key: each for key, each in (taken | rules).items() if key != "reader"}
    for name in (key for key, each in given.items() if each and _BY_ITSELF.get(key) != each):
        option = f"--{name.replace('_', '-')}"
        raise UsageError(
            f"{option}: {asked.log} is a table of jobs, of which --failure-when, --time-unit, "
            f"--toml and --json can be given; leave out {option}, or name another --reader"
        )
    found = read_jobs(asked.log, **known)
    if asked.toml:
        echo(found.toml())
    else:
        asked.print(found, jobs_table)


def _for_job(asked: Any, taken: dict[str, Any]) -> None:
    """Fit, and play law and log at the length, nodes and policies of a scenario."""
    from cprsim.fitting.display import comparison_table, fit_table
    from cprsim.fitting.fit_log import fit_for
    from cprsim.fitting.law_versus_log import of_new_law
    from cprsim.scenario import load_scenario

    with asked.progress("fitting") as progress:
        job = load_scenario(asked.for_job)
        fitted = fit_for(job, asked.log, **taken)
        progress.begin("simulating")
        found = of_new_law(fitted, job)
    if asked.toml:
        # A job that says how long it waits does not wait for repairs.
        block = fitted.toml("reschedule" not in job.costs.model_fields_set)
        echo("\n".join([*(f"# {note}" for note in found.notes), block]))
    elif asked.as_json:
        print_json(fitted.document() | {"for": found.document()})
    else:
        asked.print(fitted, fit_table)
        echo()
        asked.print(found, comparison_table)


def _own_law(asked: Any, taken: dict[str, Any]) -> None:
    """Print how the law of a scenario compares with the log that it names."""
    from cprsim.errors import UsageError
    from cprsim.fitting.display import comparison_table
    from cprsim.fitting.fit_log import fit_for
    from cprsim.fitting.law_versus_log import of_own_law
    from cprsim.scenario import load_scenario

    if asked.toml:
        raise UsageError("--toml prints the law of a new fit; name its LOG")
    job = load_scenario(asked.for_job)
    given = {key: each for key, each in taken.items() if _BY_ITSELF.get(key) != each}
    asked.print(of_own_law(fit_for(job, **given), job), comparison_table)
