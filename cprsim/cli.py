"""The command `cprsim`: parse, call, print. Everything slow is imported inside the commands."""

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cprsim import cli_figures, cli_study, cli_sweeps, cli_timeline, cli_train, cli_validate
from cprsim.cli_common import (
    Json,
    Overrides,
    Policies,
    Progress,
    ScenarioFile,
    load,
    print_json,
    print_table,
)

# What typer raises for a wrong command line; it has no public name in every version.
_CommandError: Any = typer.BadParameter.__bases__[0]

app = typer.Typer(
    help="What failures cost a recommendation-model training job, and what each policy saves.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def _cprsim() -> None:
    """Keep subcommands, however few there are."""


@app.command()
def run(
    scenario: ScenarioFile,
    policy: Policies = None,
    replications: Annotated[int, typer.Option(help="Failure timelines to draw.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of all random streams.")] = 0,
    engine: Annotated[str, typer.Option(help="auto, sim or batch.")] = "auto",
    workers: Annotated[int, typer.Option(help="Processes; they change no digit.")] = 1,
    overrides: Overrides = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html, results.csv ...")
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate a scenario, or a fleet of jobs: where the time goes."""
    from cprsim import files, outputs, runner
    from cprsim.fleets.fleet import Fleet
    from cprsim.fleets.fleet import load as load_either
    from cprsim.fleets.play import run_fleet

    loaded = load_either(scenario, overrides or ())
    if out is not None:
        files.check_writable(out, outputs.NAMES)
    chosen = policy, replications, seed, engine, workers
    result: Any
    with Progress("simulating", "replications", silent=as_json) as progress:
        if isinstance(loaded, Fleet):
            result = run_fleet(loaded, *chosen, progress.update)
        else:
            result = runner.run(loaded, *chosen, progress.update)
    if out is not None:
        from cprsim.report.source import Source

        source = Source(scenario.read_text(encoding="utf-8-sig"), tuple(overrides or ()))
        files.write_all(out, outputs.contents(result, source))
        _say_what_is_left_out(result, out)
    if as_json:
        print_json(result.document())
    else:
        _show_run(result)


def _say_what_is_left_out(result: Any, out: Path) -> None:
    """The rows of a run whose rows aren't kept; those of another run don't stay in their place."""
    from cprsim.digest import Digest

    if isinstance(result.kept, Digest):
        (out / "results.csv").unlink(missing_ok=True)
        typer.echo(f"cprsim: {out / 'results.csv'} isn't there: {result.kept.told}", err=True)


def _show_run(result: Any) -> None:
    """Tables of a run of a scenario or a fleet."""
    from cprsim import tables
    from cprsim.fleets.result import FleetResult

    of_fleet = isinstance(result, FleetResult)
    print_table(tables.FleetTable(result) if of_fleet else tables.RunTable(result))
    taken = tables.resources_table(result)
    if taken is not None:
        print_table(taken)
    predicted = None if of_fleet else tables.accuracy_table(result)
    if predicted is not None:
        print_table(predicted)
    left_out = tables.given_up_line(result) if of_fleet else None
    if left_out is not None:
        typer.echo(left_out)


@app.command()
def advise(
    scenario: ScenarioFile,
    target_pls: Annotated[
        float | None, typer.Option(help="Portion of lost samples to accept, e.g. 0.1.")
    ] = None,
    quality: Annotated[
        str, typer.Option(help="What the target bounds: pls, or updates lost by priority saving.")
    ] = "pls",
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Full recovery or partial? CPR's decision."""
    from cprsim import advice

    loaded = load(scenario, overrides)
    advised = advice.advise(loaded, target_pls, quality)  # type: ignore[arg-type]
    if as_json:
        print_json(advised.document())
    else:
        from cprsim.tables import advice_line, advice_table

        print_table(advice_table(advised, loaded.title))
        typer.echo(advice_line(advised))


@app.command()
def fit(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A failure log; .gz and .xz too.")],
    reader: Annotated[str, typer.Option(help="csv, lanl, fta, intervals or spot.")] = "csv",
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
        str | None, typer.Option(help="Shares of the time from first to last failure: 0.5:1.")
    ] = None,
    coalesce: Annotated[
        str | None, typer.Option(help='Failures so close in time are one, e.g. "5 min".')
    ] = None,
    ties: Annotated[str, typer.Option(help="drop or keep gaps of 0 s.")] = "drop",
    population: Annotated[
        int | None, typer.Option(help="Nodes of the system, where the log doesn't tell.")
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print a [failures] block.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw into a .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit failure laws to a log, and say whether they are any good."""
    from cprsim import tables
    from cprsim.errors import UsageError
    from cprsim.fitting.fit import fit as fit_log
    from cprsim.fitting.mtbf import mtbf_by_nodes

    if toml and as_json:
        raise UsageError("--toml and --json print one document each; choose one")
    _check(plot)
    taken: dict[str, Any] = {
        "reader": reader,
        "system": system,
        "window": window,
        "coalesce": coalesce,
        "population": population,
    }
    found: Any
    table: Any
    if view == "job" and nodes is None:
        if ties != "drop":
            raise UsageError("--ties goes with gaps that are fitted; leave it out, or give --nodes")
        found, table = mtbf_by_nodes(log, **taken), tables.mtbf_table
    else:
        found = fit_log(log, **taken, view=view, nodes=nodes, ties=ties)  # type: ignore[arg-type]
        table = tables.fit_table
    block = found.toml() if toml else None
    _draw(found, plot)
    if block is not None:
        typer.echo(block)
    else:
        _show(found, table, as_json)


@app.command()
def rows(
    scenario: Annotated[
        Path | None, typer.Argument(metavar="[SCENARIO]", help="A scenario file (TOML).")
    ] = None,
    policy: Policies = None,
    log: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Instead, a log of accesses to one table."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw into a .png, .svg or .pdf.")
    ] = None,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """What saving the hot rows more often loses, and what it costs in memory."""
    from cprsim import rowloss, tables
    from cprsim.errors import UsageError

    if (scenario is None) == (log is None):
        raise UsageError("give a scenario, or --from with a log of accesses")
    if log is not None and (policy or overrides):
        raise UsageError("--policy and --set go with a scenario; leave them out")
    _check(plot)
    found: Any
    table: Any
    if log is not None:
        found, table = rowloss.access_log(log), tables.access_table
    else:
        assert scenario is not None
        found, table = rowloss.row_losses(load(scenario, overrides), policy), tables.rows_table
    _draw(found, plot)
    _show(found, table, as_json)


app.command()(cli_sweeps.sweep)
app.command()(cli_sweeps.export)
app.command()(cli_figures.figure)
app.command()(cli_timeline.timeline)
app.command()(cli_train.train)
app.command()(cli_study.study)
app.command()(cli_validate.validate)


def _check(plot: Path | None) -> None:
    """Complain of a picture that can't be drawn, before anything else takes time."""
    if plot is not None:
        from cprsim.figures import check_picture

        check_picture(plot)


def _draw(found: Any, plot: Path | None) -> None:
    if plot is not None:
        from cprsim import files
        from cprsim.figures import save_bytes

        picture = save_bytes(found.figure(), plot.suffix.lower().removeprefix("."))
        files.write_all(plot.parent, {plot.name: picture})


def _show(found: Any, table: Any, as_json: bool) -> None:
    """What was found, as one JSON document or as its table and notes."""
    if as_json:
        print_json(found.document())
        return
    print_table(table(found))
    for note in found.notes:
        typer.echo(note)


#: What typer makes of Ctrl-C.
_INTERRUPTED = 130


def main() -> None:
    """Entry point: exit 0 when done, 1 when the run failed, 2 when the input is wrong."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± is no reason to fail
    sys.exit(_main(sys.argv[1:]))


def _main(arguments: list[str]) -> int:
    from cprsim.errors import CprsimError, RunError

    try:
        code = app(arguments or ["--help"], prog_name="cprsim", standalone_mode=False) or 0
        sys.stdout.flush()
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except _CommandError as error:
        return _complain(error.format_message(), 2)
    except CprsimError as error:
        return _complain(str(error), 1 if isinstance(error, RunError) else 2)
    except (OSError, MemoryError) as error:
        return _complain_of_the_system(error)
    return _complain("interrupted; nothing was written", 1) if code == _INTERRUPTED else code


def _complain_of_the_system(error: OSError | MemoryError) -> int:
    # What is left in stdout's buffer can't be written either: let it go where it does no harm.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, MemoryError):
        return _complain("out of memory; ask for fewer replications", 1)
    if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
        return 1
    where = f"{error.filename}: " if error.filename else ""
    return _complain(f"{where}{error.strerror or error}", 1)


def _complain(text: str, code: int) -> int:
    for line in text.splitlines():
        typer.echo(f"cprsim: {line}", err=True)
    return code


if __name__ == "__main__":
    main()
