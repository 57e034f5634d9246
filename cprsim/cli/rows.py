"""`cprsim rows`: what priority saving loses and costs."""

from pathlib import Path
from typing import Any

from cprsim.cli import options as opt
from cprsim.cli import paths


@opt.options(
    scenario=opt.argument(
        "A scenario file (TOML).", "[SCENARIO]", paths.scenario_file, optional=True
    ),
    policy=opt.POLICIES,
    log=opt.option("Instead, a log of accesses to one table.", "--from", kind=Path, metavar="FILE"),
    plot=opt.PLOT,
    force=opt.FORCE,
    overrides=opt.OVERRIDES,
    as_json=opt.JSON,
)
def rows(asked: Any) -> None:
    """Show what saving the hot rows more often loses, and what it costs in memory."""
    from cprsim.errors import UsageError

    if (asked.scenario is None) == (asked.log is None):
        raise UsageError("give a scenario, or --from with a log of accesses")
    if asked.log is not None and (asked.policy or asked.overrides):
        raise UsageError("--policy and --set go with a scenario; leave them out")
    if asked.log is not None:
        paths.check_text(asked.log)
    with asked.progress("counting"):
        from cprsim.advice.access_log import access_log
        from cprsim.advice.row_loss import row_losses
        from cprsim.report import tables
        from cprsim.scenario import load_scenario

        picture = asked.picture(asked.plot, "--plot")
        found: Any
        table: Any
        if asked.log is not None:
            found, table = access_log(asked.log), tables.access_table
        else:
            job = load_scenario(asked.scenario, asked.overrides or ())
            found, table = row_losses(job, asked.policy), tables.rows_table
    if picture is not None:
        picture.draw(found.figure())
    asked.print(found, table)
