"""`cprsim rows`: what priority saving loses and costs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cprsim.cli.common import (
    Json,
    Overrides,
    Policies,
    ProgressBar,
    check_text,
    load,
    scenario_file,
    show,
)
from cprsim.cli.output import Force, OutputPicture, output

if TYPE_CHECKING:
    from cprsim.scenario import Scenario


def rows(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCENARIO]", help="A scenario file (TOML).", callback=scenario_file
        ),
    ] = None,
    policy: Policies = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Instead, a log of accesses to one table.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, output(metavar="FILE", help="Draw into a .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """What saving the hot rows more often loses, and what it costs in memory."""
    from cprsim.errors import UsageError

    if (scenario is None) == (log is None):
        raise UsageError("give a scenario, or --from with a log of accesses")
    if log is not None and (policy or overrides):
        raise UsageError("--policy and --set go with a scenario; leave them out")
    if log is not None:
        check_text(log)
    with ProgressBar("counting", silent=as_json):
        job = None if scenario is None else load(scenario, overrides)
        picture = None if plot is None else OutputPicture(plot, force=force, option="--plot")
        found, table = _found(job, log, policy)
    if picture is not None:
        picture.draw(found.figure(), silent=as_json)
    show(found, table, as_json)


def _found(job: "Scenario | None", log: Path | None, policies: list[str] | None) -> tuple[Any, Any]:
    """What is lost, or a log, and what makes a table of it."""
    from cprsim.estimates import row_loss
    from cprsim.report import tables

    if job is not None:
        return row_loss.row_losses(job, policies), tables.rows_table
    assert log is not None
    return row_loss.access_log(log), tables.access_table
