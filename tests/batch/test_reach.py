"""No shipped system is left out of what the engines are compared on."""

from cprsim.contract.registry import policy_class, systems
from tests.drawn import SYSTEMS


def shipped(system: str) -> bool:
    """Return whether a system is one of this package, not of another or of a test."""
    policy = policy_class(system)
    return policy is not None and policy.__module__.startswith("cprsim.policies.")


def test_policies_are_drawn_of_every_system() -> None:
    assert set(SYSTEMS) == {system for system in systems() if shipped(system)}
