"""`sensitivity`: overhead against the number of failures, and the servers that each takes."""

import pandas as pd

from cprsim.gallery.picture import Picture, drawn_by, of_scenario
from cprsim.gallery.points import CPR_SYSTEMS, at, check_fails, failing, measured, of_systems, tidy
from cprsim.scenario import Scenario

#: Failures, as multiples of the scenario's: of 2 the 20 and 40 of the CPR paper, as recalled.
_TIMES = (0.5, 1, 2, 4, 10, 20)
_SHARES = (0.125, 0.25, 0.5)


def table(scenario: Scenario, replications: int = 100) -> pd.DataFrame:
    """A row a point and policy, as `cprsim.figures.sensitivity.sensitivity` takes it.

    Every job has exactly that many failures, uniform over it: as many as the scenario's MTBF
    gives on average, where its own number isn't exact.
    """
    policies = of_systems(scenario, CPR_SYSTEMS, "sensitivity")
    check_fails(scenario, "sensitivity")
    usual = max(round(scenario.job.useful_time_s / scenario.context.mtbf_s), 1)
    hits = scenario.failures.mapping().get("hits", {})
    counts = sorted({max(round(times * usual), 1) for times in _TIMES})
    points: list[tuple[str, float, int, dict[str, object]]] = [
        ("failures", count, count, hits) for count in counts
    ]
    servers = scenario.cluster.parameter_servers
    taken = sorted({max(round(share * servers), 1) for share in _SHARES})
    points += [("share", k / servers, usual, {"parameter_servers": k}) for k in taken]

    def point(count: int, hits: object) -> Scenario:
        failures = failing(scenario, {"exactly": count, "hits": hits})
        return at(scenario, {"failures": failures, "policies": policies})

    return tidy(
        measured(point(count, who), replications, varied=varied, value=value)
        for varied, value, count, who in points
    )


PICTURE = Picture(
    "sensitivity",
    "overhead against the number of failures, and against the share of servers that each takes",
    "scenario",
    "criteo-kaggle.toml",
    of_scenario(table),
    drawn_by("sensitivity:sensitivity"),
)
