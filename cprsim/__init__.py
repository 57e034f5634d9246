"""Costs of failures for a recommendation-model training job, and savings of each policy.

scenario = cprsim.load_scenario("scenarios/criteo-kaggle.toml")
result = cprsim.run(scenario, replications=1000)
result.summary              # a row a policy
cprsim.advise(scenario)     # which policy, with which settings, how sure
cprsim.decide(scenario)     # full recovery or partial, by the CPR paper's equations alone
cprsim.fit("failures.csv")  # a log made into a failure model
cprsim.sweep(scenario, "out", {"failures.mean": "log(1 h, 100 h, 9)"}).table  # many points
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cprsim.basics.version import __version__ as __version__

if TYPE_CHECKING:
    from cprsim.advice.advice import Advice as Advice
    from cprsim.advice.advising import advise as advise
    from cprsim.advice.decision import Decision as Decision
    from cprsim.advice.decision import decide as decide
    from cprsim.clusters.run import run_cluster as run_cluster
    from cprsim.clusters.spec import load_cluster as load_cluster
    from cprsim.contract import Policy as Policy
    from cprsim.fitting.fit_log import fit as fit
    from cprsim.fitting.mtbf import mtbf_by_nodes as mtbf_by_nodes
    from cprsim.policies import register as register
    from cprsim.runs.fleet import Fleet as Fleet
    from cprsim.runs.fleet import load_fleet as load_fleet
    from cprsim.runs.fleet import load_job as load_job
    from cprsim.runs.fleet_play import run_fleet as run_fleet
    from cprsim.runs.fleet_result import FleetResult as FleetResult
    from cprsim.runs.result import Result as Result
    from cprsim.runs.runner import run as run
    from cprsim.scenario import Scenario as Scenario
    from cprsim.scenario import load_scenario as load_scenario
    from cprsim.sweeps.stored import Sweep as Sweep
    from cprsim.sweeps.sweep import sweep as sweep


# Names and the modules they come from, imported at first use, since pandas and SciPy take
# a second that `cprsim --help` should not.
_HOMES = {
    "Advice": "cprsim.advice.advice",
    "Decision": "cprsim.advice.decision",
    "Fleet": "cprsim.runs.fleet",
    "FleetResult": "cprsim.runs.fleet_result",
    "Policy": "cprsim.contract",
    "Result": "cprsim.runs.result",
    "Scenario": "cprsim.scenario",
    "Sweep": "cprsim.sweeps.stored",
    "advise": "cprsim.advice.advising",
    "decide": "cprsim.advice.decision",
    "fit": "cprsim.fitting.fit_log",
    "load_cluster": "cprsim.clusters.spec",
    "load_fleet": "cprsim.runs.fleet",
    "load_job": "cprsim.runs.fleet",
    "load_scenario": "cprsim.scenario",
    "mtbf_by_nodes": "cprsim.fitting.mtbf",
    "register": "cprsim.policies",
    "run": "cprsim.runs.runner",
    "run_cluster": "cprsim.clusters.run",
    "run_fleet": "cprsim.runs.fleet_play",
    "sweep": "cprsim.sweeps.sweep",
}
__all__ = [*_HOMES]  # noqa: PLE0604  (these are strings)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
