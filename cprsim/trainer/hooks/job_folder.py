"""A process's folder of checkpoints, and its claim: the job, its processes, the rows of each."""

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.basics.files import sync_folder
from cprsim.trainer.store.files import read_small, written
from cprsim.trainer.store.manifests import SpoiltError

_CLAIM = "job.json"
_CHECKPOINTS = re.compile(r"dense-\d+|rows-\d+-\d+")
#: The file that says that a job was stopped on purpose; the next step removes it.
_STOPPED = "stopped"


class Claim(NamedTuple):
    """The job of a folder.

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

    `path`: where it is. `claim`: what it says of its job; None where it says nothing. `fault`: why
    its claim can't be read; None where it can, or where there is none.
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
        for each in self._checkpoints() - self._of_others(generation):
            shutil.rmtree(each, ignore_errors=True)

    def keep_only(self, generation: int) -> None:
        """Remove the checkpoints of all other generations."""
        for each in self._of_others(generation):
            shutil.rmtree(each, ignore_errors=True)

    def bytes_of_others(self, generation: int) -> int:
        """The bytes of the checkpoints of all other generations."""
        others = self._of_others(generation)
        return sum(file.stat().st_size for each in others for file in each.iterdir())

    def _of_others(self, generation: int) -> set[Path]:
        return {each for each in self._checkpoints() if each.name.split("-")[1] != str(generation)}

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
        """True if the job was stopped on purpose after the step that was done last."""
        return (self.path / _STOPPED).exists()

    def set_stopped(self, stopped: bool) -> None:
        """Note it, or that the job continues; a disk that has no room for the note ends nothing."""
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
    return path / f"dense-{generation}"
