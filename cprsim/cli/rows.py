"""`cprsim rows`: what priority saving loses and costs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cprsim.cli.common import (
    Json,
    Overrides,
    Policies,
    check_plot,
    draw,
    load,
    scenario_file,
    show,
    text_log,
)


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
            callback=text_log,
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw into a .png, .svg or .pdf.")
    ] = None,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """What saving the hot rows more often loses, and what it costs in memory."""
    from cprsim.errors import UsageError
    from cprsim.estimates import row_loss
    from cprsim.report import tables

    if (scenario is None) == (log is None):
        raise UsageError("give a scenario, or --from with a log of accesses")
    if log is not None and (policy or overrides):
        raise UsageError("--policy and --set go with a scenario; leave them out")
    check_plot(plot)
    found: Any
    table: Any
    if log is not None:
        found, table = row_loss.access_log(log), tables.access_table
    else:
        assert scenario is not None
        found, table = row_loss.row_losses(load(scenario, overrides), policy), tables.rows_table
    draw(found, plot, silent=as_json)
    show(found, table, as_json)
