"""The state of many runs at once: a lane each."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: What is kept of each run. Times and progress as in `cprsim.sim`: `due_s`: progress at which the
#: next save is due; `rest_s`: what is left of a save that a failure fell into; `final`: whether
#: that is the one after the end; `base_s`: progress when saves were last counted anew, and `round`
#: how many there were since; the last one was at progress `saved_s`, when training had taken
#: `saved_slowdown_s` longer and `saved_lost` of all updates were lost for good. `lands_s`: when the
#: last byte of a save in the background is stored, infinite for none; `pending_...` as `saved_...`.
FIELDS = (
    *("now_s", "progress_s", "slowdown_s", "due_s", "rest_s", "final", "next_s"),
    *("base_s", "round", "saved_s", "saved_slowdown_s", "saved_lost"),
    *("lands_s", "pending_s", "pending_slowdown_s", "pending_lost"),
    *("save_s", "stall_s", "load_s", "reschedule_s", "detect_s", "lost_s"),
    *("pls", "updates_lost", "failures", "saves", "finals"),
)


class Lanes:
    """Runs under way: `number[i]` is which one lane i is, `values` a row for each of `FIELDS`."""

    __slots__ = ("number", "values", *FIELDS)

    now_s: Floats
    progress_s: Floats
    slowdown_s: Floats
    due_s: Floats
    rest_s: Floats
    final: Floats
    next_s: Floats
    base_s: Floats
    round: Floats
    saved_s: Floats
    saved_slowdown_s: Floats
    saved_lost: Floats
    lands_s: Floats
    pending_s: Floats
    pending_slowdown_s: Floats
    pending_lost: Floats
    save_s: Floats
    stall_s: Floats
    load_s: Floats
    reschedule_s: Floats
    detect_s: Floats
    lost_s: Floats
    pls: Floats
    updates_lost: Floats
    failures: Floats
    saves: Floats
    finals: Floats

    def __init__(self, number: Integers, values: Floats) -> None:
        self.number, self.values = number, values
        # Views of the rows: what is written to a field is written to `values`, so fields are
        # changed in place (`x[:] = ...`, `+=`) and never assigned.
        for i, field in enumerate(FIELDS):
            setattr(self, field, values[i])

    @classmethod
    def start(cls, count: int) -> Self:
        """So many runs at time 0."""
        lanes = cls(np.arange(count), np.zeros((len(FIELDS), count)))
        lanes.lands_s[:] = np.inf
        return lanes

    def __len__(self) -> int:
        return self.number.size

    def take(self, which: Mask) -> "Lanes":
        """Some of them: copies, or these very lanes where that is all of them."""
        # No copy where nothing is left out, which is the common case; so whoever changes what was
        # taken must put it back, and `put` knows these very lanes by identity.
        if which.all():
            return self
        places = np.flatnonzero(which)
        values = np.empty((len(FIELDS), places.size))
        for mine, taken in zip(self.values, values, strict=True):
            # Row by row is several times as fast as all at once, and what isn't checked is as well.
            mine.take(places, out=taken, mode="clip")
        # The number is that of the run, not of the row: arrays that are kept for all runs (shards,
        # cursors, rebuilds) are indexed by it, since lanes leave as their runs end.
        return Lanes(self.number[places], values)

    def put(self, which: Mask, taken: "Lanes") -> None:
        """Write back what `take` gave for `which`."""
        if taken is self:
            return
        places = np.flatnonzero(which)
        for mine, theirs in zip(self.values, taken.values, strict=True):
            mine[places] = theirs
