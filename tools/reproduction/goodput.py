"""12-gpu-goodput-mtbi: goodput of 128 nodes by cause of failure, for which there is no picture."""

from functools import cache
from typing import Any, Final, NamedTuple

import cprsim
from cprsim.scenario import load_scenario
from tools.paths import SCENARIOS
from tools.reproduction.lines import Line, Measured

SCENARIO: Final = SCENARIOS / "causes.toml"
SOURCE: Final = "12-gpu-goodput-mtbi, docs/results.md at 4812c22, stated"
#: MTBF of a node and of a node of bad firmware, h; nodes, and bad ones among them.
_NODE_H, _BAD_H, _NODES, _BAD = 3000.0, 600.0, 128, 32
#: Causes that take 30 min to be noticed, and 5 min with quick detection.
_HANGS: Final = ("link", "hang", "storage")
_OF_NODES: Final = ("off the bus", "GPU memory", "link", "host", "hang")


class Published(NamedTuple):
    """A scenario of its: goodput in percent of the wall clock, and how far off ours may be, points.

    Its goodput is of 20 runs, so known to some 0.5 points; its nodes are hit while the job is down
    as well, where ours are not, and all its machines are ready at first. That matters where the job
    mostly waits for machines.
    """

    name: str
    goodput: float
    within: float
    interval: str = "30 min"
    save: str = "5 min"
    spares: int = 4
    quick: bool = False
    bad: bool = False


PUBLISHED: Final = (
    Published("baseline", 79.6, 1.0),
    Published("interval by Daly", 85.1, 1.0, interval="91 min"),
    Published("saves of 30 s", 91.7, 1.0, save="30 s"),
    Published("hangs found in 5 min", 80.6, 1.0, quick=True),
    Published("no spares", 36.1, 3.0, spares=0),
    Published("32 bad nodes", 73.5, 2.0, bad=True),
    Published("quick saves, quick detection, 8 spares", 94.0, 1.0, "30 min", "30 s", 8, True),
)


def scenario(of: Published) -> cprsim.Scenario:
    """The shipped scenario with the values of one of its."""
    given = load_scenario(SCENARIO)
    tables = given.mapping()
    tables["costs"]["save"] = of.save
    tables["cluster"]["spares"] = of.spares
    tables["policies"]["full"]["interval"] = of.interval
    failures = tables["failures"]
    rate = 1.0
    if of.bad:
        rate = ((_NODES - _BAD) / _NODE_H + _BAD / _BAD_H) / (_NODES / _NODE_H)
    total = 0.0
    for cause in failures["causes"]:
        cause["share"] *= rate if cause["name"] in _OF_NODES else 1.0
        total += cause["share"]
        if of.quick and cause["name"] in _HANGS:
            cause["detect"] = "5 min"
    for cause in failures["causes"]:
        cause["share"] /= total
    assert given.failures.mean_s is not None
    failures["mean"] = f"{given.failures.mean_s / total!r} s"
    return cprsim.Scenario(**tables)


@cache
def played(replications: int = 256) -> dict[str, Any]:
    """Goodput of each scenario, with half of its 95 % interval, in percent."""
    found = {}
    for each in PUBLISHED:
        row = cprsim.run(scenario(each), replications=replications).summary.loc["full"]
        found[each.name] = Measured(100 * row["ettr"], 100 * (row["ettr"] - row["ettr_low"]))
    return found


def lines(found: dict[str, Any]) -> list[Line]:
    """Return its published numbers with ours."""
    return [
        Line(
            f"goodput, {each.name}",
            each.goodput,
            SOURCE,
            "prediction",
            found[each.name],
            "%",
            f"bound: {each.within:g} points",
        )
        for each in PUBLISHED
    ]
