"""Hypothesis strategies of scenarios, and of the policies in them."""

from tests.drawn.policies import SYSTEMS
from tests.drawn.scenarios import durations, scenarios

__all__ = ["SYSTEMS", "durations", "scenarios"]
