"""Write scenarios/production-fleet-fits.csv: fleets that fit as well as the shipped one.

Run `python -m tools.validation.fleet.fits`, or `make validation`; a core takes ten to twenty
minutes. What *as well* means is in tools/validation/fleet/search.py; what each fleet predicts is
simulated.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import pandas as pd

from cprsim.basics.files import write_all
from cprsim.runs.fleet_play import run_fleet
from cprsim.runs.fleet_result import FleetResult
from tools.validation.fleet import facts
from tools.validation.fleet.search import Search
from tools.validation.fleet.sets import FITTED, SCENARIO, SHIPPED, fleet_of

TABLE: Final = SCENARIO.with_name(f"{SCENARIO.stem}-fits.csv")
#: The first of the fleet's jobs, to save time.
JOBS: Final = 6000
#: Sets that are looked for.
SETS: Final = 30
#: So many jobs are played again by a test, and their mean overhead is held to the table.
FEW: Final = 64
_PERCENT: Final = (
    "overhead",
    "overhead_retrained",
    "machine_overhead",
    *(f"overhead_p{each}" for each in (50, 75, 90, 95, 99)),
    "pls",
)


def played(values: Mapping[str, float], jobs: int = JOBS) -> FleetResult:
    """The first jobs of a set's fleet, under all policies."""
    return run_fleet(fleet_of(values), replications=jobs)


def all_rows(search: Search) -> Iterator[dict[str, Any]]:
    """Yield the rows of the shipped set, number 0, then of those that are found."""
    yield from rows(0, SHIPPED, search)
    for number, values in enumerate(islice(search.found(), SETS), 1):
        yield from rows(number, values, search)


def rows(number: int, values: Mapping[str, float], search: Search) -> Iterator[dict[str, Any]]:
    """A row a policy: the set, how far it is from the facts, what it predicts, in percent."""
    found = search.measured(values)
    head = {"set": number, **{each.name: values[each.name] for each in FITTED}}
    distance = {"near": search.near, "distance": facts.distance(found)}
    result, few = played(values), few_overheads(values)
    for name in result.plans:
        predicted = _predicted(result, str(name))
        yield {"policy": name, **head, **distance, **predicted, "few_overhead": few[name]}


def few_overheads(values: Mapping[str, float]) -> dict[str, float]:
    """The mean overhead of a few jobs under each policy, percent."""
    overheads = played(values, FEW).summary["overhead"]
    return {str(name): 100 * share for name, share in overheads.items()}


def _predicted(result: FleetResult, name: str) -> dict[str, float]:
    row, first = result.summary.loc[name], result.summary.iloc[0]
    scale = facts.JOBS / result.count / facts.YEAR_S
    removed = {
        key: 100 * (1 - row[of] / first[of])
        for key, of in (("removed", "overhead"), ("removed_retrained", "overhead_retrained"))
    }
    return {
        **removed,
        **{key: 100 * row[key] for key in _PERCENT},
        "machine_years": scale * row["machine_s"],
        "given_back_years": scale * row["given_back_s"],
    }


def read() -> pd.DataFrame:
    """The table that was written."""
    return pd.read_csv(TABLE)


if __name__ == "__main__":
    text = pd.DataFrame(all_rows(Search())).to_csv(index=False, float_format="%.6g")
    write_all(TABLE.parent, {TABLE.name: text.encode()})
