"""Counts of updates of rows that are in no checkpoint, and of those lost for good."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from cprsim.rows.trackers import RowIds


class UpdateCount:
    """Counts updates of a process since they were saved, each once.

    `places`: what is counted one by one: rows, 4 bytes each, where lookups are known;
    shards, which are saved whole, where there is none. `since`: updates of each place since it was
    saved, int32, shape (places,), always the same tensor. `lost`: updates that are lost for good.
    """

    def __init__(self, places: int) -> None:
        self.since = torch.zeros(places, dtype=torch.int32)
        self._cleared: tuple[RowIds | None, Tensor] | None = None
        self.lost = self._made = self._steps = 0

    def did(self, places: Tensor | None = None) -> None:
        """A step has updated these places, as often as they are named; None: each once."""
        self._steps += 1
        if places is None:
            self.since += 1
            self._made += len(self.since)
        else:
            self.since.index_add_(0, places, torch.ones_like(places, dtype=torch.int32))
            self._made += len(places)

    def saved(self, chosen: RowIds | None, sure: bool) -> None:
        """Note that these places, or all, are saved; if not `sure`, `settle` says whether so."""
        # A slice where it can be: no copy of what is only to be cleared.
        at = slice(None) if chosen is None else torch.as_tensor(chosen)
        self._cleared = None if sure else (chosen, self.since[at].clone())
        self.since[at] = 0

    def settle(self, stored: bool) -> None:
        """Note whether the last save that was not sure is stored."""
        if self._cleared is not None and not stored:
            chosen, counts = self._cleared
            at = slice(None) if chosen is None else torch.as_tensor(chosen)
            self.since[at] += counts
        self._cleared = None

    def lose(self, places: Iterable[range]) -> None:
        """These are as they were saved: what came after is lost."""
        for each in places:
            self.lost += int(self.since[each.start : each.stop].sum())
            self.since[each.start : each.stop] = 0

    def return_to(self, before: Mapping[str, int], steps: int, fresh: bool) -> None:
        """All is as it was in a checkpoint, whose counts `document` gave.

        What came after is done again, but for so many `steps`, which are lost: about as many
        updates as the steps before had. `fresh`: this process knows of no losses itself.
        """
        self._made, self._steps = before["made"], before["steps"]
        if fresh:
            self.lost = before["lost"]
        self.lost += before["unsaved"] + round(steps * self._made / max(self._steps, 1))
        self.since.zero_()
        self._cleared = None

    def document(self, chosen: RowIds | None) -> dict[str, int]:
        """Return the counts for a checkpoint of these places, or of all."""
        unsaved = 0
        if chosen is not None:
            unsaved = int(self.since.sum()) - int(self.since[torch.as_tensor(chosen)].sum())
        return {"made": self._made, "steps": self._steps, "lost": self.lost, "unsaved": unsaved}

    def lost_and_all(self, steps: int) -> tuple[float, float]:
        """Updates that were lost, and those of a job of so many steps if all are like these."""
        return float(self.lost), steps * self._made / max(self._steps, 1)


def share(lost: float, of: float) -> float:
    """`updates_lost`: of all updates; 0 where there are none."""
    return lost / of if of else 0.0
