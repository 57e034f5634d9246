"""A process's folder of checkpoints, and its claim: the job, its processes, the rows of each."""

import json
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.basics.files import sync_folder
from cprsim.trainer.hooks.layout import Kinds
from cprsim.trainer.members.array_files import read_small
from cprsim.trainer.members.atomic import written
from cprsim.trainer.members.manifests import SpoiltError

_CLAIM = "job.json"
#: The folder of the dense part begins so; an older version called it so.
DENSE = "dense"
_CHECKPOINTS = re.compile(rf"{DENSE}(-\d+)?|rows-\d+-\d+")
#: The file that says that a job was stopped on purpose; the next step removes it.
_STOPPED = "stopped"


class RowSpan(NamedTuple):
    """Consecutive rows of a table, which begin at row `at` of the arrays of their block."""

    table: int
    first: int
    rows: int
    at: int


class Claim(NamedTuple):
    """The job of a folder.

    `generation`: how often rows were divided over other processes, or grew; -1 before the first
    checkpoint. `tables`: the rows in this folder, as `Layout.document` has them. `policy`: the
    system that saved them. `processes`: of each process the `id` of its folder and the path to it
    from this one, the numbers of its `shards`, and its `tables`. `job`, `id`: drawn once for a job
    and for a folder, since a path may lead to another folder at the next start, or on another
    machine. Folders of an older version have `tables` and `generation` alone.
    """

    generation: int
    tables: list[Any]
    policy: str | None = None
    processes: list[Any] | None = None
    job: str | None = None
    id: str | None = None


class JobFolder:
    """The folder of checkpoints of one process of a job.

    Attributes
    ----------
    path
        Where it is.
    claim
        What it says of its job; None where it says nothing.
    fault
        Why its claim can't be read; None where it can, or where there is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claim: Claim | None = None
        self.fault: str | None = None
        if not os.path.lexists(path / _CLAIM):
            return
        try:
            self.claim = Claim(**json.loads(read_small(path / _CLAIM)))
        except (SpoiltError, ValueError, TypeError, RecursionError):
            self.fault = f"folder {path}: {_CLAIM} in it can't be read; give another"

    def write(self, claim: Claim) -> None:
        """Write the claim, where it is another."""
        if self.claim != claim:
            self.path.mkdir(parents=True, exist_ok=True)
            with written(self.path / _CLAIM) as file:
                file.write(json.dumps(claim._asdict()).encode())
            sync_folder(self.path)
        self.claim = claim

    def clear(self, generation: int) -> None:
        """Remove the checkpoints of a generation."""
        for each in self._of(generation):
            shutil.rmtree(each, ignore_errors=True)

    def keep_only(self, generation: int) -> None:
        """Remove the checkpoints of all other generations."""
        for each in self._checkpoints() - self._of(generation):
            shutil.rmtree(each, ignore_errors=True)

    def _of(self, generation: int) -> set[Path]:
        found = {*self.path.glob(f"rows-{generation}-*"), dense_in(self.path, generation)}
        return found & self._checkpoints()

    def bytes_of_others(self, generation: int) -> int:
        """The bytes of the checkpoints of all other generations."""
        others = self._checkpoints() - self._of(generation)
        return sum(file.stat().st_size for each in others for file in each.iterdir())

    def _checkpoints(self) -> set[Path]:
        found = self.path.iterdir() if self.path.is_dir() else ()
        return {each for each in found if _CHECKPOINTS.fullmatch(each.name) and each.is_dir()}

    @property
    def unclaimed(self) -> str | None:
        """The name of checkpoints in it of which no claim says what they are; None without any."""
        found = self._checkpoints() if self.claim is None else ()
        return min((each.name for each in found), default=None)

    @property
    def stopped(self) -> bool:
        """Whether the job was stopped on purpose after the step that was done last."""
        return (self.path / _STOPPED).exists()

    def set_stopped(self, stopped: bool) -> None:
        """Note it, or that the job goes on; a disk that has no room for the note ends nothing."""
        with suppress(OSError):
            if stopped:
                (self.path / _STOPPED).touch()
            else:
                (self.path / _STOPPED).unlink(missing_ok=True)


def rows_in(path: Path, block: int, generation: int) -> Path:
    """The folder, in that of a process, of the rows of a block."""
    return path / f"rows-{generation}-{block}"


def dense_in(path: Path, generation: int) -> Path:
    """The folder, in that of a process, of the dense part."""
    return path / f"{DENSE}-{generation}"


def row_spans(tables: Sequence[Any]) -> dict[Kinds, list[RowSpan]]:
    """The rows of each block, in the order of blocks, by the kinds of their tensors.

    `tables`: as `Layout.document` has them.
    """
    found: dict[Kinds, list[RowSpan]] = {}
    for table, first, rows, of in tables:
        kinds = tuple((kind, tuple(shape)) for kind, shape in of)
        before = found.setdefault(kinds, [])
        at = before[-1].at + before[-1].rows if before else 0
        before.append(RowSpan(table, first, rows, at))
    return dict(sorted(found.items()))
