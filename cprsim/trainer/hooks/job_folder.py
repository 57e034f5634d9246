"""The folders of a job's processes, each with the claim that says of which job it is."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.basics.files import sync_folder
from cprsim.trainer.hooks.layout import RowBlock, stored_blocks
from cprsim.trainer.hooks.row_sets import in_words, spans
from cprsim.trainer.store.files import SpoiltError, read_small, written
from cprsim.trainer.store.store import checkpoints_in

_CLAIM = "job.json"
_CHECKPOINTS = re.compile(r"dense-(\d+)|rows-(\d+)-\d+")
#: The file of a job that was stopped on purpose; the next step removes it.
_STOPPED = "stopped"


class Claim(NamedTuple):
    """The job of a folder, as the file in it says.

    `generation`: how often rows were divided over other processes, or grew; -1 before the first
    checkpoint. `tables`: the rows in this folder, as `Layout.document` has them. `policy`: the
    system that saved them. `processes`: of each process the `id` of its folder and the path to it
    from this one, the numbers of its `shards`, and its `tables`. `job`, `id`: drawn once for a job
    and for a folder, since a path may lead to another folder at the next start, or on another
    machine.
    """

    generation: int
    tables: list[Any]
    policy: str
    processes: list[Any]
    job: str
    id: str


class JobFolder:
    """The folder of checkpoints of one process of a job.

    `path`: of the folder. `claim`: its claim; None if it has none. `fault`: why its claim can't be
    read; None if it can, or if there is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claim: Claim | None = None
        self.fault: str | None = None
        self._stopped = os.path.lexists(path / _STOPPED)
        if not os.path.lexists(path / _CLAIM):
            return
        try:
            self.claim = Claim(**json.loads(read_small(path / _CLAIM)))
        except (SpoiltError, ValueError, TypeError, RecursionError):
            self.fault = f"folder {path}: {_CLAIM} in it can't be read; give another"

    def write(self, claim: Claim) -> None:
        """Write the claim, if it is another."""
        if self.claim != claim:
            self.path.mkdir(parents=True, exist_ok=True)
            with written(self.path / _CLAIM) as file:
                file.write(json.dumps(claim._asdict()).encode())
            sync_folder(self.path)
        self.claim = claim

    def clear(self, generation: int) -> None:
        """Remove the checkpoints of a generation."""
        for path, its in self._checkpoints().items():
            if its == generation:
                shutil.rmtree(path, ignore_errors=True)

    def keep_only(self, generation: int) -> None:
        """Remove the checkpoints of all other generations."""
        for each in self._checkpoints().values():
            if each != generation:
                self.clear(each)

    def bytes_of_others(self, generation: int) -> int:
        """Return the bytes of the checkpoints of all other generations."""
        others = [path for path, its in self._checkpoints().items() if its != generation]
        return sum(file.stat().st_size for each in others for file in each.iterdir())

    def _checkpoints(self) -> dict[Path, int]:
        """Return the folders of checkpoints, with their generations."""
        content = self.path.iterdir() if self.path.is_dir() else ()
        named = [(path, _CHECKPOINTS.fullmatch(path.name)) for path in content]
        return {path: int(name[1] or name[2]) for path, name in named if name and path.is_dir()}

    @property
    def unclaimed(self) -> str | None:
        """The name of checkpoints in it if it has no claim; None without any."""
        found = self._checkpoints() if self.claim is None else ()
        return min((each.name for each in found), default=None)

    @property
    def stopped(self) -> bool:
        """True if the job was stopped on purpose after the step that was done last."""
        return self._stopped

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        """Note it, or that the job continues; a disk that has no room for the note ends nothing."""
        if stopped == self._stopped:
            return
        self._stopped = stopped
        with suppress(OSError):
            if stopped:
                (self.path / _STOPPED).touch()
            else:
                (self.path / _STOPPED).unlink(missing_ok=True)


class JobProcess(NamedTuple):
    """A process of the job: its folder, the numbers of its shards, its rows (`Claim.tables`).

    `id`: of its folder (`Claim.id`). `generation`: of its checkpoints there.
    """

    folder: Path
    shards: list[int]
    tables: list[Any]
    id: str
    generation: int = 0

    @classmethod
    def of(cls, said: Mapping[str, Any], generation: int = 0) -> "JobProcess":
        """Return the process of a document."""
        return cls(Path(said["folder"]), said["shards"], said["tables"], said["id"], generation)

    def document(self, path: str) -> dict[str, Any]:
        """Return it for other processes, `path` leading to its folder."""
        return {"folder": path, "shards": self.shards, "tables": self.tables, "id": self.id}

    def __str__(self) -> str:
        shards = ", ".join(map(str, self.shards))
        held = "; ".join(in_words(spans(self.tables)))
        return f"{self.folder} (shards {shards or 'none'}: {held or 'no rows'})"

    @property
    def dense(self) -> Path:
        """The folder of its dense part."""
        return self.folder / f"dense-{self.generation}"

    @property
    def rows(self) -> list[tuple[Path, RowBlock]]:
        """The folder and the rows of each of its blocks."""
        blocks = enumerate(stored_blocks(self.tables))
        return [(self.folder / f"rows-{self.generation}-{n}", block) for n, block in blocks]

    @property
    def steps(self) -> list[set[int]]:
        """The steps of all checkpoints of the dense part, and of each block."""
        folders = [self.dense, *(folder for folder, _ in self.rows)]
        return [
            {each.step for each in checkpoints_in(folder)} if folder.is_dir() else set()
            for folder in folders
        ]

    @property
    def whole_steps(self) -> set[int]:
        """The steps of which it has a checkpoint of everything; none in another's folder."""
        claim = JobFolder(self.folder).claim
        return set.intersection(*self.steps) if claim is not None and claim.id == self.id else set()
