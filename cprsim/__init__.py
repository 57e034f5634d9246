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
    from cprsim.advice.advice import Advice
    from cprsim.advice.advising import advise
    from cprsim.advice.decision import Decision, decide
    from cprsim.clusters.run import run_cluster
    from cprsim.clusters.spec import load_cluster
    from cprsim.contract import Policy
    from cprsim.fitting.fit_log import fit
    from cprsim.fitting.mtbf import mtbf_by_nodes
    from cprsim.policies import register
    from cprsim.runs.fleet import Fleet, load_fleet, load_job
    from cprsim.runs.fleet_play import run_fleet
    from cprsim.runs.fleet_result import FleetResult
    from cprsim.runs.result import Result
    from cprsim.runs.runner import run
    from cprsim.scenario import Scenario, load_scenario
    from cprsim.sweeps.stored import Sweep
    from cprsim.sweeps.sweep import sweep


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
__all__ = [
    "Advice",
    "Decision",
    "Fleet",
    "FleetResult",
    "Policy",
    "Result",
    "Scenario",
    "Sweep",
    "advise",
    "decide",
    "fit",
    "load_cluster",
    "load_fleet",
    "load_job",
    "load_scenario",
    "mtbf_by_nodes",
    "register",
    "run",
    "run_cluster",
    "run_fleet",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
