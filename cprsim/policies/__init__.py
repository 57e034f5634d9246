"""The shipped policies; a new one is listed in `SHIPPED` of cprsim/contract/registry.py."""

from cprsim.contract.registry import policy_class, register, systems

__all__ = ["policy_class", "register", "systems"]
