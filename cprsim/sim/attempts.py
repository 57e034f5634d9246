"""Saves that turn out void and loads that fail, in one run (semantics 31 to 33)."""

from bisect import bisect_right

from cprsim.basics.distributions import Distribution
from cprsim.basics.streams import Cause, stream
from cprsim.contract import Save
from cprsim.failures.notice import NoticeDraws
from cprsim.failures.silent import SilentFaults
from cprsim.job.platform import Outages, Storage
from cprsim.sim.resolved import ResolvedPlan


class Attempts:
    """Says of each save and load at its end whether it was in vain.

    The n-th save to the store that comes to its end meets the n-th number of its replication under
    every policy, and so does the n-th load: each kind has a stream of its own. `torn`: whether the
    last save that came to its end is, which a load will tell. `faults`: silent ones, if any.
    `notices`: those that are answered, if any.
    """

    torn = False

    def __init__(self, resolved: ResolvedPlan, seed: int, replication: int) -> None:
        silent = resolved.silent
        self.faults = None if silent is None else SilentFaults(silent, seed, replication)
        self.notices = None
        if resolved.notices is not None:
            self.notices = NoticeDraws(resolved.notices, seed, replication, resolved.nodes)
        storage = resolved.costs.storage
        self._tiers: frozenset[str] = frozenset()  # of the store, where that can fail
        if storage is None or not storage.fails:
            return  # generators take longer to make than a short run, and most runs need none
        self._tiers = frozenset(t.name for t in resolved.plan.tiers if t.medium == "store")
        self._storage: Storage = storage
        self._checked = resolved.plan.checksum
        if storage.torn:
            self._of_torn = stream(seed, replication, Cause.SAVE_TORN).random
        self._of_saves = stream(seed, replication, Cause.SAVE_VOID).random
        self._of_loads = stream(seed, replication, Cause.LOAD_FAILED).random
        self._away = None if storage.outages is None else _Away(storage.outages, seed, replication)

    def can_be_vain(self, tier: str) -> bool:
        """Whether what is asked of that tier can be."""
        return tier in self._tiers

    def save_is_void(self, save: Save, start_s: float, now_s: float) -> bool:
        """Whether a save that began at `start_s` and ends now holds nothing."""
        self.torn = False
        if save.tier not in self._tiers:
            return False
        torn = self._storage.torn > 0 and self._of_torn() < self._storage.torn
        self.torn = torn and not self._checked
        void = torn and self._checked
        return self._of_saves() < self._storage.save_fails or self._was_away(start_s, now_s) or void

    def load_has_failed(self, tier: str, start_s: float, now_s: float) -> bool:
        """Whether a load from `tier` that began at `start_s` and ends now has filled nothing."""
        if tier not in self._tiers:
            return False
        return self._of_loads() < self._storage.load_fails or self._was_away(start_s, now_s)

    def _was_away(self, start_s: float, now_s: float) -> bool:
        return self._away is not None and self._away.within(start_s, now_s)


class _Away:
    """When the store is away, as far as anybody has asked."""

    def __init__(self, outages: Outages, seed: int, replication: int) -> None:
        self._outages = outages
        # Apart, so that another law of how long they last has the store fail after the same times.
        self._of_gaps = stream(seed, replication, Cause.OUTAGE)
        self._of_lengths = stream(seed, replication, Cause.OUTAGE, entity=1)
        self._starts_s: list[float] = []
        self._ends_s = [0.0]  # of none, before the first
        self._draw()

    def within(self, start_s: float, end_s: float) -> bool:
        """Whether it was for a part of that time; what takes none is never in vain for it."""
        while self._ends_s[-1] <= end_s:
            self._draw()
        if start_s == end_s:
            return False
        return self._starts_s[bisect_right(self._ends_s, start_s) - 1] < end_s

    def _draw(self) -> None:
        lasts = self._outages.lasts
        if isinstance(lasts, Distribution):
            lasts = float(lasts.sample(self._of_lengths, 1)[0])
        start_s = self._ends_s[-1] + float(self._of_gaps.exponential(self._outages.every_s))
        self._starts_s.append(start_s)
        self._ends_s.append(start_s + lasts)
