"""`ett-ladder`: what each lever gives back of a job's time, one after the other and alone."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.contract.vocabulary import VOCABULARIES
from cprsim.report.gallery.picture import PictureSource, Titled, register
from cprsim.runs.engines import chosen
from cprsim.runs.runner import run
from cprsim.scenario import Scenario
from cprsim.scenario.levers import Levers, load_levers
from cprsim.scenario.mapping import leaves

#: The row without any lever.
AS_IT_IS: Final = "as it is"


def table(levers: Levers, replications: int = 400) -> Titled:
    """Return a row a lever and way of pulling it, as `cprsim.figures.breakdown.ladder` takes it.

    Of the scenario's first policy. All rows meet the same failures, as far as their law is the
    same.
    """
    names = [*levers.sets]
    pulled = [
        ((), "together"),
        *((tuple(names[: i + 1]), "together") for i in range(len(names))),
        *(((name,), "alone") for name in names),
    ]
    runs = len({which for which, _ in pulled})
    found = {which: measured(levers.scenario(which), replications, runs) for which, _ in pulled}
    rows = [
        {"lever": which[-1] if which else AS_IT_IS, "way": way, "sets": _sets(levers, which)}
        | found[which]
        for which, way in pulled
    ]
    return Titled(levers.scenario().title, pd.DataFrame(rows), "breakdown:ladder")


@register("ett-ladder", "levers", "ett-ladder.toml")
def of_file(source: PictureSource) -> Titled:
    """The time that each lever of a scenario gives back, one after the other and alone."""
    return table(load_levers(source.path))


def measured(scenario: Scenario, replications: int, runs: int) -> dict[str, Any]:
    """Return shares of the wall clock, half the interval of what counts, and updates lost.

    `runs`: how many such are made, by which the engine is chosen.
    """
    name = next(iter(scenario.policies))
    engine = chosen(scenario, [name], "auto", runs * replications)[name]
    row: Any = run(scenario, name, replications, engine=engine).summary.iloc[0]
    shares = VOCABULARIES["cprsim"].shares(row)
    ett = shares["train"]
    half = (row["overhead_high"] - row["overhead"]) * ett**2  # ett is 1 / (1 + overhead)
    causes = {cause: shares[cause] for cause in OVERHEAD_CAUSES}
    return {"ett": ett, "ett_half": half, **causes, "updates_lost": row["updates_lost"]}


def _sets(levers: Levers, which: Sequence[str]) -> str:
    """Return what the last of these levers sets, in words."""
    if not which:
        return ""
    return ", ".join(
        f"{value}" if parts[-1] == "system" else f"{parts[-1]} {value}"
        for parts, value in leaves(levers.sets[which[-1]])
    )
