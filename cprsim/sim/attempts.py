"""Saves that turn out void and loads that fail, in one run (semantics 31 and 32)."""

from cprsim.basics.streams import Cause, stream
from cprsim.contract import Save
from cprsim.sim.resolved import ResolvedPlan


class Attempts:
    """Says of each save and load at its end whether it was in vain.

    The n-th save to the store that comes to its end meets the n-th number of its replication under
    every policy, and so does the n-th load: each kind has a stream of its own.
    """

    def __init__(self, resolved: ResolvedPlan, seed: int, replication: int) -> None:
        self._save_fails, self._load_fails = resolved.save_fails, resolved.load_fails
        # A generator takes longer to make than a short run, and most runs need none.
        if self._save_fails:
            self._of_saves = stream(seed, replication, Cause.SAVE_VOID).random
        if self._load_fails:
            self._of_loads = stream(seed, replication, Cause.LOAD_FAILED).random

    def save_is_void(self, save: Save) -> bool:
        """Whether a save that ends now holds nothing."""
        chance = self._save_fails.get(save.tier)
        return chance is not None and self._of_saves() < chance

    def load_has_failed(self, tier: str) -> bool:
        """Whether a load from `tier` that ends now has filled nothing."""
        chance = self._load_fails.get(tier)
        return chance is not None and self._of_loads() < chance
