"""`cprsim advise`: full recovery or partial."""

from typing import Annotated

import typer

from cprsim.cli.common import Json, Overrides, ScenarioFile, load, print_json, print_table


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
    from cprsim.estimates import advice

    loaded = load(scenario, overrides)
    advised = advice.advise(loaded, target_pls, quality)  # type: ignore[arg-type]
    if as_json:
        print_json(advised.document())
    else:
        from cprsim.report.tables import advice_line, advice_table, beyond_line, retrained_line

        print_table(advice_table(advised, loaded.title))
        for line in beyond_line(advised), advice_line(advised), retrained_line(advised):
            if line is not None:
                typer.echo(line)
