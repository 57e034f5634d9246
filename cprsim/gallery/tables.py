"""What is drawn of points around a scenario: servers, failures, and targets of CPR."""

from typing import Final

import pandas as pd

from cprsim.errors import UsageError
from cprsim.fitting.mtbf import STEP_S, independent_s
from cprsim.gallery.points import (
    CPR_SYSTEMS,
    at_mtbf,
    check_fails,
    failing,
    measured,
    of_systems,
    tidy,
)
from cprsim.policies.cpr import Cpr
from cprsim.scenario import Scenario

#: Servers, as multiples of the scenario's.
_SERVERS: Final = (1, 2, 4, 8, 16)
#: Failures, as multiples of the scenario's: of 2 the 20 and 40 of the CPR paper, as recalled.
_FAILURES: Final = (0.5, 1, 2, 4, 10, 20)
#: Servers that each failure takes, as shares of all.
_SHARES: Final = (0.125, 0.25, 0.5)
#: Targets on the portion of lost samples.
_TARGETS: Final = (0.005, 0.01, 0.02, 0.05, 0.1)


def scaling(scenario: Scenario, replications: int = 100) -> pd.DataFrame:
    """Return a row a model, number of servers and policy, for `cprsim.figures.scaling.scaling`.

    Failures are exponential; the scenario's own MTBF is that of both models at its own size.
    """
    policies = of_systems(scenario, CPR_SYSTEMS, "scaling")
    check_fails(scenario, "scaling")
    servers = scenario.cluster.parameter_servers
    return tidy(
        measured(
            at_mtbf(scenario, mtbf_s, {"cluster.parameter_servers": size, "policies": policies}),
            replications,
            model=model,
            servers=size,
            mtbf_s=mtbf_s,
        )
        for size in (servers * times for times in _SERVERS)
        for model, mtbf_s in mtbf_by_model(scenario.context.mtbf_s, servers, size).items()
    )


def mtbf_by_model(mtbf_s: float, servers: int, size: int) -> dict[str, float]:
    """Return the MTBF of a job on `size` servers by model, seconds, given that on `servers`.

    `linear`: in inverse proportion. `independent`: each server fails in an hour with the same
    chance p, and a job on n of them with 1 - (1 - p)^n (Maeng et al., MLSys 2021).
    """
    chance = 1 - (1 - min(STEP_S / mtbf_s, 1.0)) ** (1 / servers)
    return {"linear": mtbf_s * servers / size, "independent": independent_s(chance, size)}


def sensitivity(scenario: Scenario, replications: int = 100) -> pd.DataFrame:
    """Return a row a point and policy, for `cprsim.figures.scaling.sensitivity`.

    Every job has exactly that many failures, uniform over it: as many as the scenario's MTBF
    gives on average, where its own number isn't exact.
    """
    policies = of_systems(scenario, CPR_SYSTEMS, "sensitivity")
    check_fails(scenario, "sensitivity")
    usual = max(round(scenario.job.useful_time_s / scenario.context.mtbf_s), 1)
    hits = scenario.failures.mapping().get("hits", {})
    counts = sorted({max(round(times * usual), 1) for times in _FAILURES})
    points: list[tuple[str, float, int, dict[str, object]]] = [
        ("failures", count, count, hits) for count in counts
    ]
    servers = scenario.cluster.parameter_servers
    taken = sorted({max(round(share * servers), 1) for share in _SHARES})
    points += [("share", k / servers, usual, {"parameter_servers": k}) for k in taken]

    def point(count: int, hits: object) -> Scenario:
        failures = failing(scenario, {"exactly": count, "hits": hits})
        return scenario.with_values({"failures": failures, "policies": policies})

    return tidy(
        measured(point(count, who), replications, varied=varied, value=value)
        for varied, value, count, who in points
    )


def tradeoff(scenario: Scenario, replications: int = 100) -> pd.DataFrame:
    """Return a row a target and CPR policy, and one for full recovery, as `tradeoff` draws them."""
    cpr = {name: p for name, p in scenario.policies.items() if isinstance(p, Cpr)}
    if not cpr:
        raise UsageError(
            "figure tradeoff: the scenario has no CPR policy whose target could be varied; add "
            'one, e.g. system = "cpr-vanilla"'
        )
    full = {name: p for name, p in scenario.policies.items() if p.system == "full"}
    points = []
    if full:
        points.append(measured(scenario.with_values({"policies": full}), replications, target=0.0))
    for target in _TARGETS:
        # An interval of their own would be stronger than the target.
        update = {"target_pls": target, "interval": None}
        policies = {name: policy.model_copy(update=update) for name, policy in cpr.items()}
        there = scenario.with_values({"policies": policies})
        points.append(measured(there, replications, target=target))
    return tidy(points)
