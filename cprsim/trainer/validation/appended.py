"""Saves of chosen rows as a store appends and merges them, counted before anything is trained.

Which rows are used when is in the samples, and failures are pinned to steps. So the members' own
trackers say how many rows each save takes of each server, and the store's own rule when that merges
them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from cprsim.contract import Tracking
from cprsim.policies.priority import MOST_APPENDED
from cprsim.rows.trackers.contract import TrackerName
from cprsim.trainer.data import Data
from cprsim.trainer.members.placement import Placement
from cprsim.trainer.members.store import is_merged
from cprsim.trainer.members.trackers import ShardTracker
from cprsim.trainer.training import member_seed
from cprsim.trainer.validation.pinned import Kill

#: Of a row's number, and of each of its own.
_BYTES = 4
#: Before each array in a file.
_HEADER_BYTES = 128


class Appended(NamedTuple):
    """What saves of chosen rows come to.

    `rows`: of each save and server, shape (saves, servers). `lengths`: how many a load reads beside
    a whole one once they are stored, shape (saves, servers); 0 of who has merged. `read`: the most
    that one of the lost servers read, of each failure. `dim`: of a row.
    """

    rows: NDArray[np.int64]
    lengths: NDArray[np.int64]
    read: Sequence[int]
    dim: int

    @property
    def merging(self) -> int:
        """Saves at which one server merges, or several."""
        return int((self.lengths == 0).any(axis=1).sum())

    def merges_after(self, rows: int) -> int:
        """After how many saves a server of so many rows merges, were all saves as long."""
        size = chosen_size(max(round(self.rows.mean()), 1), self.dim)
        alike = lengths(repeat(size, MOST_APPENDED), whole_size(rows, self.dim))
        return next((number for number, length in enumerate(alike, 1) if not length), MOST_APPENDED)


def appended(
    data: Data,
    tracking: Tracking,
    tracked: Sequence[int],
    servers: int,
    period: int,
    steps: int,
    kills: Sequence[Kill] = (),
    seed: int = 0,
) -> Appended:
    """Play trackers of so many steps, of which each `period`-th is followed by a save.

    Parameters
    ----------
    data
        Its samples are those of the run.
    tracking, tracked
        What the trackers are like, and of which tables.
    servers, period
        How many there are, and steps from save to save.
    steps
        Of the run, or its first ones.
    kills
        Those that are struck start with a new tracker.
    seed
        Of the run: of evictions from the lists of SSU. SCAR's are taken to choose among as many
        rows as MFU's do, since only training says which.
    """
    placement = Placement(tuple(table.rows for table in data.tables), servers)
    name: TrackerName = "ssu" if tracking.tracker == "ssu" else "mfu"

    def new(server: int) -> ShardTracker:
        return ShardTracker(
            name,
            torch.empty(placement.rows_of(server), 1),
            [placement.range_of(table, server) for table in tracked],
            tracking.fraction,
            tracking.subsample,
            member_seed(seed, server),
        )

    trackers = list(map(new, range(servers)))
    rows: list[list[int]] = []
    struck: list[tuple[int, Sequence[int]]] = []  # after so many saves
    for step in range(steps):
        for kill in kills:
            if kill.executed == step:
                struck.append((len(rows), kill.hit.servers))
                for server in kill.hit.servers:
                    trackers[server] = new(server)
        if step and step % period == 0:
            chosen = [tracker.select() for tracker in trackers]
            rows.append(list(map(len, chosen)))
            for tracker, each in zip(trackers, chosen, strict=True):
                tracker.saved(each)
        ids = placement.ids(data.batch(step).sparse).reshape(-1)
        for server, tracker in enumerate(trackers):
            mine = ids[ids % servers == server] // servers
            tracker.observe(*np.unique(mine, return_counts=True))
    found = np.array(rows, np.int64).reshape(-1, servers)
    dim = data.tables[0].dim
    of_servers = [
        [0, *lengths([chosen_size(each, dim) for each in of], whole_size(held, dim))]
        for held, of in zip(map(placement.rows_of, range(servers)), found.T.tolist(), strict=True)
    ]
    read = [max((of_servers[each][saves] for each in hit), default=0) for saves, hit in struck]
    return Appended(found, np.array(of_servers, np.int64)[:, 1:].T, read, dim)


def lengths(sizes: Iterable[int], whole: int) -> Iterator[int]:
    """After each save of so many bytes, how many a load reads beside a whole one of `whole`."""
    length, size = 0, 0
    for each in sizes:
        length, size = length + 1, size + each
        if is_merged(size, whole):
            length, size = 0, 0
        yield length


def whole_size(rows: int, dim: int) -> int:
    """Of a file of all of so many rows, bytes: the rows, and Adagrad's number of each."""
    return rows * (dim + 1) * _BYTES + 2 * _HEADER_BYTES


def chosen_size(rows: int, dim: int) -> int:
    """Of a file of so many chosen ones, bytes: which they are stands in it, too."""
    return whole_size(rows, dim) + rows * _BYTES + _HEADER_BYTES
