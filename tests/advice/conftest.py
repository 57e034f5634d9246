"""Advice of shipped scenarios, which is sought once."""

from functools import cache
from pathlib import Path

import pytest

import cprsim
from cprsim.advice.advice import Advice

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@cache
def advised(name: str) -> Advice:
    return cprsim.advise(cprsim.load_scenario(SCENARIOS / f"{name}.toml"))


@pytest.fixture(scope="session")
def quickstart():
    return advised("quickstart")
