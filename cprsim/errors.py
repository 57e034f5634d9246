"""Errors that cprsim raises on purpose, by the name that your code imports."""

from cprsim.basics.errors import (
    CprsimError,
    LogError,
    NowhereError,
    PlanError,
    PolicyError,
    RunError,
    ScenarioError,
    UnitError,
    UsageError,
)

__all__ = [
    "CprsimError",
    "LogError",
    "NowhereError",
    "PlanError",
    "PolicyError",
    "RunError",
    "ScenarioError",
    "UnitError",
    "UsageError",
]
