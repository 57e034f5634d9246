"""Made-up answers of `advise`, as tables of candidates and of other worlds."""

import math
from typing import Any

import pandas as pd

from cprsim.contract.ledger import OVERHEAD_CAUSES

WITHIN = 0.001


def candidate(
    standing: str = "worse", lost: float = 0.0, machine: float | None = None, **causes: float
) -> dict[str, Any]:
    """A row: `lost` is PLS, and twice the updates lost; `causes` add up to its overhead."""
    causes = dict.fromkeys(OVERHEAD_CAUSES, 0.0) | causes
    overhead = sum(causes.values())
    row: dict[str, Any] = {
        "system": "full",
        "origin": "",
        "given": True,
        "settings": "interval 2 h, copies 2",
        "standing": standing,
        "sure": True,
        **causes,
    }
    for name, mean in (
        ("overhead", overhead),
        ("pls", lost),
        ("updates_lost", 2 * lost),
        ("overhead_retrained", overhead + 2 * lost),
        ("machine_overhead", overhead if machine is None else machine),
    ):
        row |= {name: mean, f"{name}_low": 0.9 * mean, f"{name}_high": 1.1 * mean}
    return row


def answers(rows: dict[str, dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")
    return table.assign(origin=[row["origin"] or name for name, row in rows.items()])


#: Of each standing one, as far apart as overheads are.
ALL = answers(
    {
        "chosen one": candidate("chosen", 0.006, save=0.0002, load=0.0003),
        "just as good": candidate("same", 0.02, save=0.0002, load=0.0003),
        "not worse": candidate("tied", 0.001, machine=0.04, save=0.0005, load=0.0001),
        "who knows": candidate("open", 0.03, save=0.0008) | {"sure": False},
        "near its bound": candidate("worse", 0.099, save=0.01, detect=0.002) | {"sure": False},
        "a name of many words, tuned": candidate(save=0.05, lost=0, slowdown=0.02),
        "slow": candidate(save=0.1, stall=0.1),
        "lossy": candidate("over", 0.2, save=0.0001, reschedule=0.0001),
        "$x_1$ lossier": candidate("over", 0.4, save=0.0004),
    }
)
NEAR = answers({"a": candidate("chosen", save=0.02, load=0.01), "b": candidate(save=0.05)})
MANY = answers(
    {
        f"policy {i}": candidate("chosen" if i == 0 else "worse", 0.001 * i, save=0.001 * (i + 1))
        | {"origin": f"origin {i % 9}", "given": i % 3 == 0}
        for i in range(40)
    }
)
PRICED = answers(
    {
        name: candidate(standing, 0.01, 0.02 + cost / 1e5, save=0.001 * cost / 5000)
        | {"cost": cost, "cost_low": cost - 60.0, "cost_high": cost + 60.0}
        for name, standing, cost in (("a", "chosen", 5000.0), ("b", "worse", 5600.0))
    }
)
#: What is drawn: the table, and bounds by measure.
CASES: dict[str, tuple[pd.DataFrame, dict[str, float]]] = {
    "all": (ALL, {"pls": 0.1}),
    "near": (NEAR, {}),
    "many": (MANY, {"updates_lost": 0.05}),
    "priced": (PRICED, {"pls": 0.02}),
    "one": (NEAR.iloc[:1], {"pls": 0.0}),
    "nobody": (ALL[ALL["standing"] == "over"], {"pls": 0.0}),
    "nothing": (answers({"a": candidate("chosen"), "b": candidate("same")}), {"pls": 0.02}),
}


def world(factor: float, loses: float = 0.0, **changed: Any) -> dict[str, Any]:
    """A row of `Robustness.table` in which `a` is the best, unless that is changed."""
    row = {"factor": factor, "value": f"{20 * factor:g} h", "least": "a", "loses": loses}
    row |= {"keeps": True, "sure": True} | changed
    row |= {"loses_low": 0.9 * row["loses"], "loses_high": 1.1 * row["loses"]}
    return row | {"holds": row["keeps"] and row["loses"] <= WITHIN}


LEVERS = pd.DataFrame(
    [
        {"lever": "MTBF"} | world(0.25, -0.01, least="b", keeps=False),
        {"lever": "MTBF"} | world(0.5, 0.002, least="b"),
        {"lever": "MTBF"} | world(1.0),
        {"lever": "MTBF"} | world(4.0),
        {"lever": "parameter servers"} | world(0.25, math.nan, least="c", keeps=False),
        {"lever": "parameter servers"} | world(1.0),
    ]
)
