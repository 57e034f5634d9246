"""The folders of a job's processes, and the start of the job from them.

A job starts new, as it was, or with other processes or more rows than its checkpoints.
"""

import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cprsim.basics.files import sync_folder
from cprsim.errors import UsageError
from cprsim.trainer.hooks.layout import RowRange, stored_blocks
from cprsim.trainer.hooks.ranks import Ranks, everyone
from cprsim.trainer.store.files import read_small, written
from cprsim.trainer.store.manifests import SpoiltError
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
        return (self.path / _STOPPED).exists()

    def set_stopped(self, stopped: bool) -> None:
        """Note it, or that the job continues; a disk that has no room for the note ends nothing."""
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
        held = "; ".join(_in_words(_rows_of([self])))
        return f"{self.folder} (shards {shards or 'none'}: {held or 'no rows'})"

    @property
    def dense(self) -> Path:
        """The folder of its dense part."""
        return self.folder / f"dense-{self.generation}"

    @property
    def rows(self) -> list[tuple[Path, list[RowRange]]]:
        """The folder and the rows of each of its blocks."""
        blocks = enumerate(stored_blocks(self.tables))
        return [(self.folder / f"rows-{self.generation}-{n}", rows) for n, rows in blocks]

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


class JobStart(NamedTuple):
    """The start that all processes agreed on.

    `generation`: of the checkpoints that are read or written from now on. `processes`: those of
    now. `begun`: whether there are checkpoints of the job. `sources`: the checkpoints that are read
    in place of the own ones, where rows were divided otherwise or grew; that of this folder first.
    `takes_counts`: whether this process continues from the counts of those. `grown`: rows of this
    process that no checkpoint has, in words.
    """

    generation: int
    processes: list[JobProcess]
    job: str
    begun: bool
    sources: Sequence[JobProcess] = ()
    takes_counts: bool = False
    grown: Sequence[str] = ()

    def claim_of(self, mine: JobProcess, policy: str) -> Claim:
        """The claim of a process's folder from now on."""
        processes = [
            each.document(os.path.relpath(each.folder, mine.folder)) for each in self.processes
        ]
        return Claim(self.generation, mine.tables, policy, processes, self.job, mine.id)


def agreed_start(
    mine: JobProcess, folder: JobFolder, earlier: Sequence[Path], policy: str, ranks: Ranks
) -> JobStart:
    """Agree with all processes, which all call this, on how the job starts.

    `mine`, `folder`: this process and its folder. `earlier`: folders that it was given of processes
    before. `policy`: the system that saves from now on. `ranks`: the processes of the job.

    Raises
    ------
    UsageError
        In all processes, with nothing written: where something that was stored could not be read or
        would be left out, or folders are of other jobs or of another system.
    """
    document = mine.document(str(mine.folder)) | {
        "earlier": [os.path.abspath(each) for each in earlier],  # noqa: PTH100 - links stay
        "claim": None if folder.claim is None else list(folder.claim),
        "unclaimed": folder.unclaimed,
        "fault": folder.fault,
    }
    said = everyone(ranks, document)
    processes = [JobProcess.of(each) for each in said]
    _check_folders(processes, said)
    # Of generation -1 are folders in which a start was killed before all had stored theirs.
    claims = [
        (each.folder, Claim(*its["claim"]))
        for each, its in zip(processes, said, strict=True)
        if its["claim"] and its["claim"][0] >= 0
    ]
    moved = not claims
    if moved:
        job = str(said[0]["token"])
        given = sorted({Path(path) for each in said for path in each["earlier"]})
        claims = [(path, _claim_in(path)) for path in given]
    else:
        job = claims[0][1].job
        _check_job(claims, policy)
    if not claims:
        return JobStart(0, processes, job, False)
    sources = _sources(claims)
    generation = max(each.generation for each in sources)
    own = [each for each in sources if each.id == mine.id]
    # Folders may lie on machines of their own: others are read only where rows come from them.
    stays = not moved and _keep_rows(sources, processes)
    before = {each.id: each.tables for each in sources}
    same = not moved and before == {each.id: each.tables for each in processes}
    read = own if stays else sources
    if not _has_begun(read, len(sources), processes, ranks):
        return JobStart(generation + (not same), processes, job, False)
    if same:
        return JobStart(generation, processes, job, True)
    _check_rows(sources, processes)
    return JobStart(
        0 if moved else generation + 1,
        processes,
        job,
        True,
        sorted((each for each in read if each.whole_steps), key=lambda each: each.id != mine.id),
        stays or processes[0].id == mine.id,
        _in_words(_without(_rows_of([mine]), _rows_of(sources))),
    )


def _claim_in(path: Path) -> Claim:
    folder = JobFolder(path)
    if folder.fault:
        raise UsageError(folder.fault)
    if folder.claim is None:
        raise UsageError(f"earlier: {path} has no checkpoints of hooks; leave it out")
    return folder.claim


def _sources(claims: Sequence[tuple[Path, Claim]]) -> list[JobProcess]:
    """The processes that the newest claim of each job lists."""
    found: list[JobProcess] = []
    known = {claim.id: path for path, claim in claims}
    for job in dict.fromkeys(claim.job for _, claim in claims):
        of_job = [(path, claim) for path, claim in claims if claim.job == job]
        path, newest = _followed(*max(of_job, key=lambda each: each[1].generation))
        for each in newest.processes:
            listed = Path(os.path.normpath(path / each["folder"]))
            folder = known.get(each["id"], listed)
            found.append(JobProcess.of(each | {"folder": folder}, newest.generation))
    return found


def _followed(path: Path, claim: Claim) -> tuple[Path, Claim]:
    """The claim with which the job has gone on, in one of the folders that this one lists."""
    for each in claim.processes:
        other = Path(os.path.normpath(path / each["folder"]))
        newer = JobFolder(other).claim
        if newer and newer.job == claim.job and newer.generation > claim.generation:
            return _followed(other, newer)
    return path, claim


def _keep_rows(sources: Sequence[JobProcess], processes: Sequence[JobProcess]) -> bool:
    """Return whether the processes are those before, each with its rows, and with new ones at most.

    Then each has all that it needs in its own folder.
    """
    before = {each.id: _rows_of([each]) for each in sources}
    if before.keys() != {each.id for each in processes}:
        return False
    of_all = _rows_of(sources)
    for each in processes:
        now = _rows_of([each])
        others = _common(_without(now, before[each.id]), of_all)
        if _in_words(_without(before[each.id], now)) or _in_words(others):
            return False
    return True


def _has_begun(
    read: Sequence[JobProcess], count: int, processes: Sequence[JobProcess], ranks: Ranks
) -> bool:
    """Return whether the job has checkpoints, as all processes find it.

    `read`: those of the `count` sources that this process reads. Raises `UsageError` in all
    processes where some sources are there, and rows that are needed are not.
    """
    there = [each for each in read if each.whole_steps]
    lost = [] if there else [str(each) for each in read]
    if there and len(read) == count:
        gone = _common(_without(_rows_of(read), _rows_of(there)), _rows_of(processes))
        lost = [str(each) for each in read if _in_words(_common(_rows_of([each]), gone))]
    if ranks.least(int(not lost)):
        return True
    stored = [step for of in read for steps in of.steps for step in steps]
    if not ranks.least(-max(stored, default=0)):  # killed before all had their first
        return False
    all_lost = [each for said in everyone(ranks, {"lost": lost}) for each in said["lost"]]
    raise UsageError(
        f"no checkpoint is left in {all_lost[0]}, which the job had; bring it back, or begin in "
        "another folder"
    )


def _check_folders(processes: Sequence[JobProcess], said: Sequence[Mapping[str, Any]]) -> None:
    """Raise `UsageError` where a folder can't be used."""
    for each, its in zip(processes, said, strict=True):
        if its["fault"]:
            raise UsageError(its["fault"])
        if its["unclaimed"]:
            raise UsageError(
                f"folder {each.folder}: has {its['unclaimed']}, but no job.json that says of which "
                "job it is; bring that back, or give another folder"
            )
    (folder, times), *_ = Counter(each.id for each in processes).most_common(1)
    if times > 1:
        path = next(each.folder for each in processes if each.id == folder)
        raise UsageError(f"folder {path}: {times} processes have it; give each another")


def _check_job(claims: Sequence[tuple[Path, Claim]], policy: str) -> None:
    """Raise `UsageError` where folders are of several jobs, or of another system."""
    (first, of), *_ = claims
    for path, claim in claims:
        if claim.job != of.job:
            raise UsageError(
                f"folders {first} and {path}: are of different jobs; give folders of one job, or "
                "new ones and these as `earlier`"
            )
        if claim.policy != policy:
            raise UsageError(
                f"folder {path}: its checkpoints are of a policy {claim.policy!r}, not "
                f"{policy!r}; give that policy, or a new folder and this one as `earlier`"
            )


def _check_rows(sources: Sequence[JobProcess], processes: Sequence[JobProcess]) -> None:
    """Raise `UsageError` unless all rows that were stored are here, and of the same kinds."""
    before, now = _rows_of(sources), _rows_of(processes)
    folders = ", ".join(str(each.folder) for each in sources)
    if _in_words(_common(_by_table(_without(now, before)), _by_table(before))):
        raise UsageError(
            f"folder {folders}: has checkpoints of another job (tables differ); give another folder"
        )
    if left := _in_words(_without(before, now)):
        raise UsageError(
            f"shards(): no process gives {left[0]}, which the checkpoints in {folders} have; give "
            "all rows, or another folder"
        )


# --- Sets of rows ---

#: Of each table and the kinds of its tensors the rows, as spans from a first row to one behind the
#: last.
_Rows: TypeAlias = Mapping[tuple[int, str], Sequence[tuple[int, int]]]


def _rows_of(processes: Iterable[JobProcess]) -> _Rows:
    found: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for process in processes:
        for table, first, rows, kinds in process.tables:
            found[table, repr(kinds)].append((first, first + rows))
    return found


def _by_table(rows: _Rows) -> _Rows:
    """Return the same rows, whatever their kinds."""
    found: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for (table, _), spans in rows.items():
        found[table, ""] += spans
    return found


def _without(rows: _Rows, others: _Rows) -> _Rows:
    """Return the rows that are not among the others."""
    found = {}
    for table, spans in rows.items():
        left = sorted(spans)
        for first, end in others.get(table, ()):
            left = [
                part
                for one, stop in left
                for part in ((one, min(stop, first)), (max(one, end), stop))
                if part[0] < part[1]
            ]
        found[table] = left
    return found


def _common(rows: _Rows, others: _Rows) -> _Rows:
    """Return the rows that are among the others, too."""
    return _without(rows, _without(rows, others))


def _in_words(rows: _Rows) -> list[str]:
    """Return a text for each span: "rows 0 to 9 of table 2"; none for an empty set."""
    return [
        f"rows {first:,} to {end - 1:,} of table {table}"
        for (table, _), spans in sorted(rows.items())
        for first, end in spans
    ]
