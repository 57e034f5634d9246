"""`scaling`: overhead against the number of servers, under the CPR paper's two MTBF models."""

import pandas as pd

from cprsim.fitting.mtbf import STEP_S, independent_s
from cprsim.gallery.picture import Picture, drawn_by, of_scenario
from cprsim.gallery.points import CPR_SYSTEMS, at_mtbf, check_fails, measured, of_systems, tidy
from cprsim.scenario import Scenario

#: Servers, as multiples of the scenario's.
_TIMES = (1, 2, 4, 8, 16)


def table(scenario: Scenario, replications: int = 100) -> pd.DataFrame:
    """A row a model, number of servers and policy, as `cprsim.figures.scaling.scaling` takes it.

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
        for size in (servers * times for times in _TIMES)
        for model, mtbf_s in mtbf_by_model(scenario.context.mtbf_s, servers, size).items()
    )


def mtbf_by_model(mtbf_s: float, servers: int, size: int) -> dict[str, float]:
    """MTBF of a job on `size` servers, seconds, by model, given that on `servers` of them.

    `linear`: in inverse proportion. `independent`: each server fails in an hour with the same
    chance p, and a job on n of them with 1 - (1 - p)^n (Maeng et al., MLSys 2021).
    """
    chance = 1 - (1 - min(STEP_S / mtbf_s, 1.0)) ** (1 / servers)
    return {"linear": mtbf_s * servers / size, "independent": independent_s(chance, size)}


PICTURE = Picture(
    "scaling",
    "overhead against the number of servers, if the MTBF falls with it in two ways",
    "scenario",
    "criteo-kaggle.toml",
    of_scenario(table),
    drawn_by("scaling:scaling"),
)
