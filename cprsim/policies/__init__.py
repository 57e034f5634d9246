"""Policies: one file a system, all found by name through the registry."""

from cprsim.contract.registry import policy_class, register, systems

__all__ = ["policy_class", "register", "systems"]
