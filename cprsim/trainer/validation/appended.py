"""Saves of chosen rows as a store appends and merges them, counted before anything is trained.

Which rows are used when is in the samples, and failures are pinned to steps. So the members' own
trackers say how many rows each save takes of each server, and the store's own rule when that merges
them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from cprsim.basics.machine import cores
from cprsim.contract import Tracking
from cprsim.policies.priority import MOST_APPENDED
from cprsim.rows.trackers.contract import TrackerName
from cprsim.scenario import Scenario
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


class Chain(NamedTuple):
    """What a load reads beside a whole file: so many files of chosen rows, and their rows in all.

    None of who has merged.
    """

    files: int
    rows: int


NOTHING = Chain(0, 0)


class ReadingTime(NamedTuple):
    """What reading appended files takes, s: that there are any, each of them, each of its rows."""

    any_s: float = 0.0
    file_s: float = 0.0
    row_s: float = 0.0

    def of(self, read: Collection[Chain]) -> float:
        """By the slowest of those that read at once, and share cores."""
        return sharing(len(read)) * max(map(self._of_one, read), default=0.0)

    def _of_one(self, chain: Chain) -> float:
        return bool(chain.files) * self.any_s + chain.files * self.file_s + chain.rows * self.row_s


def merging_at_once_s(merge_s: float, reading: ReadingTime, merged: Collection[Chain]) -> float:
    """What servers that merge these at once take, s: each so long, and what is read."""
    return sharing(len(merged)) * merge_s + reading.of(merged)


def sharing(servers: int) -> float:
    """How many times as long servers that read or merge at once take as one: they share cores."""
    return float(servers) if servers <= 1 else max(servers / cores(), 1.0)


class Appended(NamedTuple):
    """What saves of chosen rows come to.

    `rows`: of each save and server, shape (saves, servers). `merged`: what each server merges that
    does at a save, of each save. `read`: what each of the lost servers reads, of each failure.
    `dim`: of a row.
    """

    rows: NDArray[np.int64]
    merged: Sequence[Sequence[Chain]]
    read: Sequence[Sequence[Chain]]
    dim: int

    def reading_s(self, reading: ReadingTime) -> float:
        """What lost servers take to read what was appended, in all, s."""
        return sum(map(reading.of, self.read))

    def merging_s(self, merge_s: float, reading: ReadingTime) -> float:
        """What merging takes in all, s."""
        return sum(merging_at_once_s(merge_s, reading, each) for each in self.merged)

    @property
    def of_fullest(self) -> float:
        """Rows that a save takes of the server of which it takes most, on average."""
        return max(float(self.rows.max(axis=1).mean()), 1.0)

    def merges_after(self, rows: int) -> int:
        """After how many saves a server of so many rows merges, were all saves as long."""
        size = chosen_size(max(round(self.rows.mean()), 1), self.dim)
        alike = chains(repeat((size, 0), MOST_APPENDED), whole_size(rows, self.dim))
        return next((merged.files for _, merged in alike if merged), MOST_APPENDED)


def of_scenario(
    scenario: Scenario,
    tracking: Tracking,
    data: Data,
    period: int,
    steps: int,
    kills: Sequence[Kill] = (),
    seed: int = 0,
) -> Appended:
    """Of so many steps of a scenario's run, of which a save follows each `period`-th.

    Parameters
    ----------
    scenario
        How many servers there are, and which tables are tracked.
    tracking
        What the trackers are like. SCAR's are taken to choose among as many rows as MFU's do, since
        only training says which.
    data
        Its samples are those of the run.
    period, steps
        From save to save, and in all.
    kills
        Those that are struck start with a new tracker.
    seed
        Of the run: of evictions from the lists of SSU.
    """
    rows, servers = scenario.context.rows, scenario.cluster.parameter_servers
    assert rows is not None  # or nothing could be tracked
    placement = Placement(tuple(table.rows for table in data.tables), servers)
    name: TrackerName = "ssu" if tracking.tracker == "ssu" else "mfu"

    def new(server: int) -> ShardTracker:
        return ShardTracker(
            name,
            torch.empty(placement.rows_of(server), 1),
            [placement.range_of(table, server) for table in rows.tracked_tables],
            tracking.fraction,
            tracking.subsample,
            member_seed(seed, server),
        )

    trackers = list(map(new, range(servers)))
    saved: list[list[int]] = []
    lost: list[tuple[int, Sequence[int]]] = []  # after how many saves, and who
    for step in range(steps):
        for kill in kills:
            if kill.executed == step:
                lost.append((len(saved), kill.hit.servers))
                for server in kill.hit.servers:
                    trackers[server] = new(server)
        if step and step % period == 0:
            saved.append([_saved(tracker) for tracker in trackers])
        ids = placement.ids(data.batch(step).sparse).reshape(-1)
        for server, tracker in enumerate(trackers):
            mine = ids[ids % servers == server] // servers
            tracker.observe(*np.unique(mine, return_counts=True))
    whole = [placement.rows_of(server) for server in range(servers)]
    return _in_stores(
        np.array(saved, np.int64).reshape(-1, servers), whole, lost, data.tables[0].dim
    )


def _saved(tracker: ShardTracker) -> int:
    """Save the rows that it chooses; how many they are."""
    rows = tracker.select()
    tracker.saved(rows)
    return len(rows)


def _in_stores(
    rows: NDArray[np.int64],
    whole: Sequence[int],
    lost: Sequence[tuple[int, Sequence[int]]],
    dim: int,
) -> Appended:
    """What saves of these rows, (saves, servers), are in stores of servers with so many in all."""
    of_servers = [
        list(chains(((chosen_size(each, dim), each) for each in of), whole_size(held, dim)))
        for held, of in zip(whole, rows.T.tolist(), strict=True)
    ]
    at_saves = zip(*of_servers, strict=True)
    merged = [[each.merged for each in at if each.merged] for at in at_saves]
    read = [
        [of_servers[each][saves - 1].left if saves else NOTHING for each in hit]
        for saves, hit in lost
    ]
    return Appended(rows, merged, read, dim)


class AfterSave(NamedTuple):
    """After a save: what is left appended, and what was merged with it, if anything was."""

    left: Chain
    merged: Chain | None


def chains(saves: Iterable[tuple[int, int]], whole: int) -> Iterator[AfterSave]:
    """What each save comes to, of so many bytes and rows; `whole`: bytes of everything."""
    files, rows, size = 0, 0, 0
    for of_save, in_it in saves:
        files, rows, size = files + 1, rows + in_it, size + of_save
        if is_merged(size, whole):
            yield AfterSave(NOTHING, Chain(files, rows))
            files, rows, size = 0, 0, 0
        else:
            yield AfterSave(Chain(files, rows), None)


def whole_size(rows: int, dim: int) -> int:
    """Of a file of all of so many rows, bytes: the rows, and Adagrad's number of each."""
    return rows * (dim + 1) * _BYTES + 2 * _HEADER_BYTES


def chosen_size(rows: int, dim: int) -> int:
    """Of a file of so many chosen ones, bytes: which they are stands in it, too."""
    return whole_size(rows, dim) + rows * _BYTES + _HEADER_BYTES
