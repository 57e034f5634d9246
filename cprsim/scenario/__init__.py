"""Scenario files: TOML in, frozen sections in SI units out, and back.

All faults of a file are found and reported at once, each as `dotted.path: what is wrong; the way
out`.
"""

from cprsim.scenario.scenario import Scenario, load_scenario, scenario_of

__all__ = ["Scenario", "load_scenario", "scenario_of"]
