"""`cprsim rows`: what priority saving loses and costs."""

from pathlib import Path
from typing import Any

from cprsim.cli import paths
from cprsim.cli.common import ProgressBar, show
from cprsim.cli.options import (
    FORCE,
    JSON,
    OVERRIDES,
    PLOT,
    POLICIES,
    argument,
    option,
    options,
)
from cprsim.cli.output import OutputPicture


@options(
    scenario=argument("A scenario file (TOML).", "[SCENARIO]", paths.scenario_file, optional=True),
    policy=POLICIES,
    log=option("Instead, a log of accesses to one table.", "--from", kind=Path, metavar="FILE"),
    plot=PLOT,
    force=FORCE,
    overrides=OVERRIDES,
    as_json=JSON,
)
def rows(
    *,
    scenario: Path | None,
    policy: list[str] | None,
    log: Path | None,
    plot: Path | None,
    force: bool,
    overrides: list[str] | None,
    as_json: bool,
) -> None:
    """What saving the hot rows more often loses, and what it costs in memory."""
    from cprsim.errors import UsageError

    if (scenario is None) == (log is None):
        raise UsageError("give a scenario, or --from with a log of accesses")
    if log is not None and (policy or overrides):
        raise UsageError("--policy and --set go with a scenario; leave them out")
    if log is not None:
        paths.check_text(log)
    with ProgressBar("counting", silent=as_json):
        from cprsim.advice import row_loss
        from cprsim.report import tables
        from cprsim.scenario import load_scenario

        job: Any = None if scenario is None else load_scenario(scenario, overrides or ())
        picture = None if plot is None else OutputPicture(plot, force=force, option="--plot")
        found: Any = row_loss.access_log(log) if log else row_loss.row_losses(job, policy)
        table = tables.access_table if log else tables.rows_table
    if picture is not None:
        picture.draw(found.figure(), silent=as_json)
    show(found, table, as_json)
