"""Whose folder it is: what a job has written down, and rows that were divided otherwise."""

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.files import sync_folder
from cprsim.errors import RunError, UsageError
from cprsim.trainer.hooks.layout import Kinds, Layout
from cprsim.trainer.members.array_files import read_chain, read_small
from cprsim.trainer.members.atomic import written
from cprsim.trainer.members.manifests import Name, SpoiltError, parsed
from cprsim.trainer.members.parameters import Arrays
from cprsim.trainer.members.store import CheckpointStore

#: The file that says whose folder it is.
_CLAIM = "job.json"
#: Of the dense part.
DENSE = "dense"


@contextmanager
def room_in(path: Path) -> Iterator[None]:
    """Say in one line that a job can't begin, where its folder has no room for what it begins with.

    Raises `RunError` in place of `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise RunError(
            f"folder {path}: the first checkpoint can't be stored ({error}); make room, or give "
            "another folder"
        ) from None


class _Stretch(NamedTuple):
    """Consecutive rows of a table, and the rows of a block's arrays that hold them."""

    table: int
    first: int
    rows: int
    at: int


class JobFolder:
    """A folder of checkpoints of one process of a job.

    Attributes
    ----------
    path
        Where it is.
    claim
        What stands in it of the job: `tables` and the `generation` of their rows, which counts how
        often these were divided anew; None in a folder of no job.

    Raises
    ------
    UsageError
        Where what stands there can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claim: dict[str, Any] | None = None
        if not os.path.lexists(path / _CLAIM):
            return
        try:
            found = json.loads(read_small(path / _CLAIM))
        except (SpoiltError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not {"tables", "generation"} <= found.keys():
            raise UsageError(f"folder {path}: {_CLAIM} in it can't be read; give another")
        self.claim = found

    @property
    def generation(self) -> int:
        """Of its rows."""
        return 0 if self.claim is None else int(self.claim["generation"])

    def write(self, tables: Sequence[Any], generation: int) -> None:
        """Write down whose folder it is."""
        claim = {"tables": tables, "generation": generation}
        if self.claim != claim:
            self.path.mkdir(parents=True, exist_ok=True)
            with written(self.path / _CLAIM) as file:
                file.write(json.dumps(claim).encode())
            sync_folder(self.path)
        self.claim = claim

    def rows(self, block: int, generation: int | None = None) -> Path:
        """Where the rows of a block are."""
        return self.path / f"rows-{self.generation if generation is None else generation}-{block}"

    def drop_others(self) -> None:
        """Remove what rows of other generations have left."""
        for each in self.path.glob("rows-*-*"):
            if each.is_dir() and not each.match(f"rows-{self.generation}-*"):
                shutil.rmtree(each, ignore_errors=True)


def opened(
    path: Path, layout: Layout, now: Callable[[], Sequence[Arrays]], earlier: Sequence[Path]
) -> JobFolder:
    """The folder of this job, its rows divided as they are in this process now.

    `now`: gives what the tensors of each block hold, as bytes; rows that no checkpoint has (a table
    has grown) are stored so. `earlier`: folders of processes that the job had before, out of which
    rows and the dense part are taken if there is nothing in `path`; they are only read.

    Raises `UsageError` if it is that of another job, or nothing says of which.
    """
    folder = JobFolder(path)
    tables = json.loads(json.dumps(layout.document()))
    if folder.claim is None and not earlier:
        left = sorted(each.name for each in (*path.glob("rows-*-*"), *path.glob(DENSE)))
        if left:
            raise UsageError(
                f"folder {path}: has {left[0]}, but no {_CLAIM} that says of which job it is; "
                "bring that back, or give another folder"
            )
        folder.write(tables, 0)
        return folder
    if folder.claim is not None and folder.claim["tables"] == tables:
        folder.drop_others()
        return folder
    sources = [folder] if folder.claim is not None else [JobFolder(each) for each in earlier]
    for source in sources:
        if source.claim is None:
            raise UsageError(f"earlier: {source.path} has no checkpoints of hooks; leave it out")
        _check_same_job(source, tables, path, moved=folder.claim is None)
    _divide_anew(folder, sources, layout, now())
    folder.write(tables, folder.generation + (folder.claim is not None))
    folder.drop_others()
    return folder


def _check_same_job(source: JobFolder, tables: Sequence[Any], path: Path, moved: bool) -> None:
    """Rows are of the same kinds, and none is left behind, unless other processes may have it."""
    assert source.claim is not None
    kinds = {table: each for table, _, _, each in tables}
    other = any(kinds.get(table, each) != each for table, _, _, each in source.claim["tables"])
    if not moved:
        other = other or not _covers(tables, source.claim["tables"])
    if other:
        raise UsageError(
            f"folder {path}: has checkpoints of another job (tables differ); give another folder"
        )


def _covers(tables: Sequence[Any], before: Sequence[Any]) -> bool:
    """Whether all rows that there were are there; both are in order, with no neighbours apart."""
    return all(
        any(
            table == one and first <= start and start + rows <= first + there
            for table, first, there, _ in tables
        )
        for one, start, rows, _ in before
    )


def _divide_anew(
    folder: JobFolder, sources: Sequence[JobFolder], layout: Layout, now: Sequence[Arrays]
) -> None:
    """Store what the sources hold in the blocks of this process, at a step that all of them have.

    Nothing counts until the folder's claim says so.
    """
    step, found = _common(sources)
    generation = folder.generation + (folder.claim is not None)
    mine = _stretches(layout.document())
    for number, (kinds, wanted) in enumerate(mine.items()):
        arrays = tuple(each.copy() for each in now[number])
        for source in sources:
            held = _stretches(source.claim["tables"] if source.claim else [])
            if kinds not in held:
                continue
            theirs = found[source.rows(list(held).index(kinds))]
            for each in wanted:
                for other in held[kinds]:
                    _copy(each, other, arrays, theirs)
        shutil.rmtree(folder.rows(number, generation), ignore_errors=True)
        CheckpointStore(folder.rows(number, generation)).write(step, arrays)
    if folder.claim is None:
        dense = found[sources[0].path / DENSE]
        CheckpointStore(folder.path / DENSE).write(step, dense)


def _copy(to: _Stretch, of: _Stretch, arrays: Arrays, theirs: Arrays) -> None:
    if to.table != of.table:
        return
    first, end = max(to.first, of.first), min(to.first + to.rows, of.first + of.rows)
    if first < end:
        here, there = first - to.first + to.at, first - of.first + of.at
        for mine, other in zip(arrays, theirs, strict=True):
            mine[here : here + end - first] = other[there : there + end - first]


def _stretches(tables: Sequence[Any]) -> dict[Kinds, list[_Stretch]]:
    """By kind, in the order of blocks: where in the block's arrays which rows are."""
    found: dict[Kinds, list[_Stretch]] = {}
    for table, first, rows, of in tables:
        kinds = tuple((kind, tuple(shape)) for kind, shape in of)
        before = found.setdefault(kinds, [])
        at = before[-1].at + before[-1].rows if before else 0
        before.append(_Stretch(table, first, rows, at))
    return dict(sorted(found.items()))


def _common(sources: Sequence[JobFolder]) -> tuple[int, Mapping[Path, Arrays]]:
    """The last step of which all that the sources hold is sound, and what is in them then."""
    stores = [source.path / DENSE for source in sources]
    for source in sources:
        assert source.claim is not None
        stores += [source.rows(n) for n in range(len(_stretches(source.claim["tables"])))]
    at_most: float = math.inf
    while True:
        found = {store: _sound(store, at_most) for store in stores}
        steps = [step for step, _ in found.values()]
        if min(steps) == max(steps):
            return steps[0], {store: arrays for store, (_, arrays) in found.items()}
        at_most = min(steps)


def _sound(folder: Path, at_most: float) -> tuple[int, tuple[NDArray[np.uint8], ...]]:
    """The last sound checkpoint up to a step; nothing in the folder is changed."""
    names = [Name.of(each.name) for each in folder.iterdir()] if folder.is_dir() else []
    for name in sorted((n for n in names if n is not None), reverse=True):
        if name.kind != "json" or name.partial:
            continue
        try:
            manifest = parsed(name.serial, read_small(folder / str(name)))
            if manifest.step <= at_most:
                return manifest.step, read_chain(folder, manifest.files).arrays
        except SpoiltError:
            continue
    raise RunError(f"{folder}: no sound checkpoint is left in it; begin in another folder")
