"""Advice of a shipped scenario, which is sought once."""

import pytest

import cprsim


@pytest.fixture(scope="session")
def quickstart():
    return cprsim.advise("quickstart")
