"""The rows of a process, by table, and their numbers in the process."""

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cprsim.errors import UsageError
from cprsim.rows.model import RowModel
from cprsim.rows.trackers import RowIds
from cprsim.trainer.hooks.adapter import TablePart
from cprsim.trainer.hooks.given import check_given
from cprsim.trainer.hooks.nested import joined
from cprsim.trainer.hooks.observer import HooksWarning
from cprsim.trainer.store.files import Arrays

#: What loaders write where a sample has fewer lookups than there is room for: no row.
PADDING = -1
#: Of each tensor of a part, its type and the shape of a row.
Kinds: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


class RowRange(NamedTuple):
    """Rows `first` to `first + rows` of a table; in the process their numbers begin at `start`."""

    shard: int
    table: int
    first: int
    rows: int
    kinds: Kinds
    start: int

    @property
    def numbers(self) -> range:
        """The numbers of its rows in the process."""
        return range(self.start, self.start + self.rows)


#: The tensors of each part, as they are now.
Live: TypeAlias = Mapping[RowRange, tuple[Tensor, ...]]


class RowBlock(NamedTuple):
    """Parts whose rows are alike, of whatever shards, so that one file has room for all of them.

    What a save takes is files, so there are as few as there can be, and they don't know of shards:
    the same rows are in the same place of a file, however many shards they lie in.
    """

    parts: tuple[RowRange, ...]

    @property
    def numbers(self) -> range:
        """The numbers of its rows in the process."""
        return range(self.parts[0].start, self.parts[-1].numbers.stop)

    def copied(self, live: Live, numbers: RowIds | None) -> tuple[Arrays, NDArray[np.int64] | None]:
        """Copy what its tensors hold now, rows of all parts one after the other.

        Of all rows, or of those of these numbers in the process; then with their places in it.
        """
        if numbers is None:
            return joined([live[part] for part in self.parts]), None
        chosen = []
        for part in self.parts:
            ids = _within(numbers, part.numbers) - part.start
            chosen.append(tuple(each[ids] for each in live[part]))
        return joined(chosen), _within(numbers, self.numbers) - self.numbers.start


def _within(numbers: RowIds, rows: range) -> RowIds:
    first, end = np.searchsorted(numbers, (rows.start, rows.stop))
    return numbers[first:end]


class Layout:
    """The rows that a process holds, numbered block by block, table by table.

    `shards`: what `ShardAdapter.shards` gives. `servers`: how many shards the job has in all
    processes. `model`: the tables of the scenario; None if it has none.
    """

    def __init__(
        self, shards: Mapping[int, Sequence[TablePart]], servers: int, model: RowModel | None
    ) -> None:
        check_given(shards, servers, model)
        self.blocks = _blocks(
            (_kinds(each), each.table, each.first, len(each.weights), shard)
            for shard, given in shards.items()
            for each in given
        )
        self.parts = tuple(part for block in self.blocks for part in block.parts)
        self.shards = tuple(sorted(shards))
        self.rows = sum(part.rows for part in self.parts)
        self.numbers = _Lookup(self.parts).numbers

    def tensors(
        self, shards: Mapping[int, Sequence[TablePart]]
    ) -> dict[RowRange, tuple[Tensor, ...]]:
        """The tensors of each part, as the adapter gives them now."""
        found = {}
        for shard, given in shards.items():
            for each in given:
                found[shard, each.table, each.first, len(each.weights), _kinds(each)] = (
                    each.weights.detach(),
                    *(state.detach() for state in each.state),
                )
        was = {part[:5] for part in self.parts}
        if found.keys() != was:
            shard, table, *_ = min(was ^ found.keys())
            raise UsageError(
                "shards(): gives tensors of other shapes or types than at the start, first of "
                f"table {table} in shard {shard}; make the state of the optimiser before "
                "restore(), and new hooks if the tables themselves have changed"
            )
        return {part: found[part[:5]] for part in self.parts}

    def document(self, shard: int | None = None) -> list[Any]:
        """Return the rows as a folder of checkpoints has them, block by block, or those of a shard.

        Of each stretch of a table its number, first row, rows, and types and shapes of a row; not
        which shards it lies in, for files don't depend on that.
        """
        found: list[list[Any]] = []
        for part in self.parts:
            if shard is not None and part.shard != shard:
                continue
            kinds = [[kind, list(shape)] for kind, shape in part.kinds]
            last = found[-1] if found else None
            if (
                last
                and last[0] == part.table
                and last[1] + last[2] == part.first
                and last[3] == kinds
            ):
                last[2] += part.rows
            else:
                found.append([part.table, part.first, part.rows, kinds])
        return found


def stored_blocks(tables: Sequence[Any]) -> tuple[RowBlock, ...]:
    """The blocks of a process, of shard -1.

    `tables`: as `Layout.document` has them, which says nothing of shards.
    """
    return _blocks(
        (tuple((kind, tuple(shape)) for kind, shape in of), table, first, rows, -1)
        for table, first, rows, of in tables
    )


class _Lookup:
    """Finds the numbers of rows, for all tables in one go."""

    def __init__(self, parts: Sequence[RowRange]) -> None:
        ordered = sorted(parts, key=lambda part: (part.table, part.first))
        least: dict[int, int] = {}
        most: dict[int, int] = {}
        for part in ordered:
            least.setdefault(part.table, part.first)
            most[part.table] = part.first + part.rows
        # Tables one after the other, each as long as the last of its rows here says.
        bases = list(itertools.accumulate(most.values(), initial=0))[:-1]
        base = dict(zip(most, bases, strict=True))
        begins = _integers(base[part.table] + part.first for part in ordered)
        self._place = {table: place for place, table in enumerate(most)}
        self._least, self._most = _integers(least.values()), _integers(most.values())
        self._base, self._begins = _integers(bases), begins
        self._ends = begins + _integers(part.rows for part in ordered)
        self._shift = _integers(part.start for part in ordered) - begins
        self._whole = len(ordered) == len(base)  # each table is one part
        self._strange: set[int] = set()  # tables of which it was said that rows aren't here
        self._last: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        self._spread: list[Tensor] = []

    def numbers(self, lookups: Mapping[int, Tensor]) -> Tensor:
        """The numbers in the process of rows that were looked up, shape (lookups,), on the CPU."""
        if not isinstance(lookups, Mapping):
            raise UsageError(
                f"lookups(): gives a {type(lookups).__name__}; give {{table: row numbers}}"
            )
        unknown = sorted(lookups.keys() - self._place.keys())
        if unknown:
            raise UsageError(
                f"lookups(): table {unknown[0]} is not here; shards() gives {list(self._place)}"
            )
        if not lookups:
            return torch.empty(0, dtype=torch.int64)
        given = [torch.as_tensor(ids).reshape(-1) for ids in lookups.values()]
        given = [ids if len(ids) else ids.long() for ids in given]  # [] is of floats, and no row
        ids = torch.cat(given).cpu()
        if ids.is_floating_point() or ids.dtype == torch.bool:
            raise UsageError(f"lookups(): row numbers of {ids.dtype}: give integers")
        key = (tuple(lookups), tuple(map(len, given)))
        if key != self._last:
            self._last, self._spread = key, self._spread_over(*key)
        least, most, base, *shifts = self._spread
        wrong = (ids < least) | (ids >= most)
        joined = ids + base
        if not self._whole:
            # What lies in no part at all was found above; 0 is for that.
            parts = torch.bucketize(joined, self._ends, right=True) * ~wrong
            wrong |= joined < self._begins[parts]
            shifts = [self._shift[parts]]
        found = joined + shifts[0]
        if wrong.any():
            self._warn_of(
                ids, _integers(lookups).repeat_interleave(_integers(map(len, given))), wrong
            )
            return found[~wrong]
        return found

    def _warn_of(self, ids: Tensor, tables: Tensor, wrong: Tensor) -> None:
        """Warn of a row that is not here, once a table; padding is no row."""
        strange = wrong & (ids != PADDING)
        for at in strange.nonzero().flatten().tolist():
            table = int(tables[at])
            if table not in self._strange:
                self._strange.add(table)
                warnings.warn(
                    f"lookups(): row {int(ids[at])} of table {table} is not here and is left out, "
                    "as others of that table will be; see the part of it that shards() gives",
                    HooksWarning,
                    stacklevel=5,
                )

    def _spread_over(self, tables: tuple[int, ...], counts: tuple[int, ...]) -> list[Tensor]:
        """Return the data of tables, once for each lookup; most batches are as long as the last."""
        places = _integers(self._place[table] for table in tables)
        known = [self._least, self._most, self._base, *([self._shift] if self._whole else [])]
        return [each[places].repeat_interleave(_integers(counts)) for each in known]


def _integers(values: Iterable[int]) -> Tensor:
    return torch.tensor(list(values), dtype=torch.int64)


def _kinds(part: TablePart) -> Kinds:
    return tuple(
        (str(each.dtype).removeprefix("torch."), tuple(each.shape[1:]))
        for each in (part.weights, *part.state)
    )


def _blocks(parts: Iterable[tuple[Kinds, int, int, int, int]]) -> tuple[RowBlock, ...]:
    """Number the rows of parts block by block, table by table.

    `parts`: of each the kinds of its tensors, its table, first row, rows and shard.
    """
    alike: dict[Kinds, list[tuple[int, int, int, int]]] = {}
    for kinds, table, first, rows, shard in parts:
        alike.setdefault(kinds, []).append((table, first, rows, shard))
    blocks, start = [], 0
    for kinds, members in sorted(alike.items()):
        ranges = []
        for table, first, rows, shard in sorted(members):
            ranges.append(RowRange(shard, table, first, rows, kinds, start))
            start += rows
        blocks.append(RowBlock(tuple(ranges)))
    return tuple(blocks)
