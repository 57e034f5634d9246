"""With the keys of newer rules at the values of the rules before them, the numbers come back."""

from pathlib import Path

import pytest

from cprsim.batch.engine import simulate
from cprsim.scenario import load_scenario
from cprsim.sim.engine import COLUMNS

SCENARIOS = Path(__file__).parents[1] / "scenarios"
#: Rules that have changed, as they were under model version 2.
BEFORE = ("failures.while_waiting=false", "failures.ages=new")
#: Costs that no scenario gave then, and what they were.
FREE_COPIES = {"slowdown": "0.0", "takeover": "0 s"}
OF_ECREC = {"coding": "0.030961538461538457"}  # 2.6 % and its growth to 55 GB a server
COSTS: dict[str, dict[str, dict[str, str]]] = {
    "quickstart": {"async": {"snapshot": "5 s"}, "replication": FREE_COPIES},
    "all-systems": {
        "check-n-run": {"tracking": "0.0"},
        "partial-experts": {"snapshot": "0 s"},
        "cpr-mfu": {"slowdown": "0.0"},
        "accepted-loss": {"snapshot": "0 s"},
        "replication": FREE_COPIES,
        "ecrm": OF_ECREC,
        "ecrec": OF_ECREC | {"commit": OF_ECREC["coding"], "replication": "0.13"},
        "hot-swap": {"stall": "0 s"},
    },
    "peer-memory": {},
}
#: Wall-clock seconds and PLS of 24 replications of seed 5 together, played by model version 2.
PLAYED = {
    "quickstart": {
        "full": (9192060.238614809, 0.0),
        "async": (8530839.087370567, 0.0),
        "cpr": (8401562.556254964, 0.4262995244273756),
        "replication": (8356437.115563941, 0.0),
    },
    "all-systems": {
        "full": (22754805.334147952, 0.0),
        "async": (21249991.31561342, 0.0),
        "check-n-run": (21231757.464475326, 0.0),
        "tiered": (21131889.840204045, 0.0),
        "partial-experts": (21116211.626426272, 0.0),
        "partial": (21773663.73390712, 0.04387330556806218),
        "cpr": (20912553.70412711, 2.4775888622060727),
        "cpr-mfu": (20913304.304127105, 2.476216163517801),
        "accepted-loss": (20748940.757191792, 0.5406969299005175),
        "replication": (20998035.551833566, 0.0),
        "ecrm": (21782369.107309207, 0.0),
        "ecrec": (25435649.024767116, 0.0),
        "peer-memory": (21231550.9595773, 0.0),
        "hot-swap": (20874870.052301176, 0.0),
    },
    "peer-memory": {
        "full": (11746500.534535006, 0.0),
        "peer-memory": (10558326.384001002, 0.0),
        "stalling": (11211539.479200516, 0.0),
        "too-often": (21632529.07628002, 0.0),
        "one-copy": (10805976.543961741, 0.0),
    },
}


@pytest.mark.parametrize("name", PLAYED)
def test_by_the_rules_before_the_numbers_are_those_of_before(name: str) -> None:
    path = SCENARIOS / f"{name}.toml"
    resolved = [
        f"policies.{each}.pls_interval=E6"
        for each, policy in load_scenario(path).policies.items()
        if policy.system.startswith("cpr-")
    ]
    costs = [
        f"policies.{policy}.{key}={value}"
        for policy, keys in COSTS[name].items()
        for key, value in keys.items()
    ]
    scenario = load_scenario(path, [*BEFORE, *resolved, *costs])
    total = simulate(scenario, list(scenario.policies), range(24), 5).sum(axis=0)
    found = {
        each: tuple(total[i, [COLUMNS.index("wall"), COLUMNS.index("pls")]].tolist())
        for i, each in enumerate(scenario.policies)
    }

    # The last digits are those of exp and log, which differ between machines.
    assert found.keys() == PLAYED[name].keys()
    for each, both in PLAYED[name].items():
        assert found[each] == pytest.approx(both, rel=1e-9), each
