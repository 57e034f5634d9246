"""A process's folder of checkpoints, and its claim: the job, its processes, the rows of each."""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.basics.files import sync_folder
from cprsim.errors import UsageError
from cprsim.trainer.hooks.layout import Kinds
from cprsim.trainer.members.array_files import read_small
from cprsim.trainer.members.atomic import written
from cprsim.trainer.members.manifests import SpoiltError

_CLAIM = "job.json"
#: The folder of the dense part begins so; an older version called it so.
DENSE = "dense"
#: The file that says that a job was stopped on purpose; the next step removes it.
_STOPPED = "stopped"


class RowSpan(NamedTuple):
    """Consecutive rows of a table, which begin at row `at` of the arrays of their block."""

    table: int
    first: int
    rows: int
    at: int


class Claim(NamedTuple):
    """What a folder says of its job.

    `generation`: how often rows were divided over other processes, or grew. `tables`: the rows in
    this folder, as `Layout.document` has them. `policy`: the system that saved them. `processes`:
    of each process its folder, relative to this one, the numbers of its `shards`, and its `tables`;
    None in folders of an older version, which have no such list.
    """

    generation: int
    tables: list[Any]
    policy: str | None = None
    processes: list[Any] | None = None


class JobFolder:
    """The folder of checkpoints of one process of a job.

    Attributes
    ----------
    path
        Where it is.
    claim
        What it says of its job; None where it says nothing.

    Raises
    ------
    UsageError
        Where its claim can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claim: Claim | None = None
        if not os.path.lexists(path / _CLAIM):
            return
        try:
            self.claim = Claim(**json.loads(read_small(path / _CLAIM)))
        except (SpoiltError, ValueError, TypeError, RecursionError):
            raise UsageError(f"folder {path}: {_CLAIM} in it can't be read; give another") from None

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

    def _checkpoints(self) -> set[Path]:
        found = (*self.path.glob("rows-*-*"), *self.path.glob(f"{DENSE}*"))
        return {each for each in found if each.is_dir()}

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
