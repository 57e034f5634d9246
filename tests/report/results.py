"""Results whose statistics are known."""

from collections.abc import Sequence

import numpy as np

from cprsim.contract.ledger import Ledger
from cprsim.runs.digest import ReplicationTable
from cprsim.runs.measures import Basis
from cprsim.runs.result import Result
from cprsim.runs.summaries import tidy
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS

USEFUL_S = 100_000.0


def result(
    saves: dict[str, Sequence[float]],
    lost: dict[str, float] | None = None,
    title: str = "A job",
    times: int = 1,
) -> Result:
    """Seconds of saving by policy and replication, all that overhead is made of.

    `lost`: share of updates (and PLS) that a policy loses. `times`: how often these replications
    are there.
    """
    scenario = Scenario(
        title=title,
        job={"useful_time": f"{USEFUL_S} s"},
        cluster={"parameter_servers": 4, "trainers": 2},
        costs={"save": "1 min", "load": "1 min"},
        failures={"exactly": 1},
        policies={name: {"system": "full"} for name in saves},
    )
    rows = []
    for number in list(range(len(next(iter(saves.values()))))) * times:
        ledgers = [
            Ledger(
                train=USEFUL_S,
                save=seconds[number],
                failures=1,
                wall=USEFUL_S + seconds[number],
                updates_lost=(lost or {}).get(name, 0.0),
                pls=(lost or {}).get(name, 0.0),
            )
            for name, seconds in saves.items()
        ]
        rows.append([[getattr(each, column) for column in COLUMNS] for each in ledgers])
    bases = [Basis.of(scenario, name) for name in saves]
    kept = ReplicationTable(tidy(list(saves), np.array(rows), COLUMNS, bases))
    return Result.build(scenario, kept, seed=7, engines=dict.fromkeys(saves, "sim"))
