"""Whose folder it is: what a job has written down, and rows that were divided otherwise."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.basics.files import sync_folder
from cprsim.errors import RunError, UsageError
from cprsim.trainer.hooks.layout import Kinds, Layout
from cprsim.trainer.hooks.nested import packed, unpacked
from cprsim.trainer.members.array_files import read_chain, read_small
from cprsim.trainer.members.atomic import written
from cprsim.trainer.members.manifests import Manifest, SpoiltError
from cprsim.trainer.members.parameters import Arrays
from cprsim.trainer.members.store import CheckpointStore, checkpoints_in

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
    """Store what the sources hold in the blocks of this process, at each step that all have.

    Not at the last alone, which other processes of the job may not have. Nothing counts until the
    folder's claim says so.
    """
    generation = folder.generation + (folder.claim is not None)
    rows = [folder.rows(number, generation) for number in range(len(layout.blocks))]
    stores = [*rows, folder.path / DENSE] if folder.claim is None else rows
    for each in stores:  # of one that was killed here
        shutil.rmtree(each, ignore_errors=True)
    steps = _common(sources)
    for step, found in _sound(sources, steps):
        images = [
            _divided(sources, found, kinds, wanted, now[number])
            for number, (kinds, wanted) in enumerate(_stretches(layout.document()).items())
        ]
        if folder.claim is None:
            dense = [found[source.path / DENSE] for source in sources]
            images.append(_dense_of_one(dense, takes_all=0 in layout.shards))
        for store, arrays in zip(stores, images, strict=True):
            CheckpointStore(store).write(step, arrays, returns_to=steps)


def _divided(
    sources: Sequence[JobFolder],
    found: Mapping[Path, Arrays],
    kinds: Kinds,
    wanted: Sequence[_Stretch],
    now: Arrays,
) -> Arrays:
    """The arrays of a block: rows of the sources, and what there is now where they have none."""
    arrays = tuple(each.copy() for each in now)
    for source in sources:
        held = _stretches(source.claim["tables"] if source.claim else [])
        if kinds not in held:
            continue
        theirs = found[source.rows(list(held).index(kinds))]
        for each in wanted:
            for other in held[kinds]:
                _copy(each, other, arrays, theirs)
    return arrays


def _dense_of_one(dense: Sequence[Arrays], takes_all: bool) -> Arrays:
    """The dense part of the first process, and accounts of all: one goes on from these, others not.

    What each process counts by itself is summed over processes (`TrainerHooks.job_summary`).
    """
    whole = unpacked(dense[0])
    job = whole["job"]
    all_said = [job, *(unpacked(each)["job"] for each in dense[1:])] if takes_all else []
    job["lost_steps"] = sum(each["lost_steps"] for each in all_said)
    for name in ("made", "lost", "unsaved"):
        job["updates"][name] = sum(each["updates"][name] for each in all_said)
    for name in ("bytes_saved", "bytes_loaded"):
        job["counts"][name] = sum(each["counts"][name] for each in all_said)
    return packed(whole)


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


def _stores(sources: Sequence[JobFolder]) -> list[Path]:
    """Of all that the sources hold."""
    stores = [source.path / DENSE for source in sources]
    for source in sources:
        assert source.claim is not None
        stores += [source.rows(n) for n in range(len(_stretches(source.claim["tables"])))]
    return stores


def _common(sources: Sequence[JobFolder]) -> list[int]:
    """The steps of which all stores of the sources have a checkpoint, ascending."""
    return sorted(set.intersection(*({m.step for m in _on_disk(s)} for s in _stores(sources))))


def _sound(
    sources: Sequence[JobFolder], steps: Sequence[int]
) -> Iterator[tuple[int, Mapping[Path, Arrays]]]:
    """Those of the steps of which all is sound, and what is in the stores then.

    Raises `RunError` where there is none; nothing in the folders is changed.
    """
    stores, any_sound = _stores(sources), False
    for step in steps:
        with suppress(SpoiltError):
            found = {store: _read(store, step) for store in stores}
            any_sound = True
            yield step, found
    if not any_sound:
        raise RunError(
            f"{', '.join(str(source.path) for source in sources)}: no sound checkpoint is left of "
            "all of it; begin in another folder"
        )


def _read(folder: Path, step: int) -> Arrays:
    for manifest in _on_disk(folder):
        if manifest.step == step:
            with suppress(SpoiltError):
                return read_chain(folder, manifest.files).arrays
    raise SpoiltError(f"{folder}: none of step {step} is sound")


def _on_disk(folder: Path) -> list[Manifest]:
    return checkpoints_in(folder) if folder.is_dir() else []
