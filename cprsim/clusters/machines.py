"""Spare machines that all jobs share (rule 14)."""

from typing import Any


class SparePool:
    """Machines held ready: when each is ready, s, in order; it may be in repair until then."""

    def __init__(self, count: int) -> None:
        self.ready_s = [0.0] * count

    def ready(self, now_s: float) -> int:
        """Return how many are ready."""
        return sum(each <= now_s for each in self.ready_s)


class SharedSpares:
    """The pool as one job sees it, whose time counts from its start."""

    def __init__(self, pool: SparePool, start_s: float) -> None:
        self._ready_s, self._start_s = pool.ready_s, start_s

    def __getitem__(self, place: int) -> float:
        return self._ready_s[place] - self._start_s

    def __setitem__(self, place: int, ready_s: Any) -> None:
        self._ready_s[place] = float(ready_s) + self._start_s
