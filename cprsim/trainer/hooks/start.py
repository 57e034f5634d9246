"""How a job starts: new, as it was, or with other processes or more rows than its checkpoints."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from cprsim.errors import UsageError
from cprsim.trainer.hooks.job_folder import DENSE, Claim, JobFolder, dense_in, row_spans, rows_in
from cprsim.trainer.hooks.layout import Kinds
from cprsim.trainer.hooks.nested import packed, unpacked
from cprsim.trainer.hooks.ranks import Ranks
from cprsim.trainer.members.store import checkpoints_in

#: Rows of each table, as spans from a first row to one behind the last.
Rows: TypeAlias = Mapping[int, Sequence[tuple[int, int]]]


class JobProcess(NamedTuple):
    """A process of the job: its folder, the numbers of its shards, its rows (`Claim.tables`).

    `earlier`: the folders that it was given of processes before.
    """

    folder: Path
    shards: list[int]
    tables: list[Any]
    earlier: tuple[Path, ...] = ()

    def __str__(self) -> str:
        shards = ", ".join(map(str, self.shards))
        held = "; ".join(_in_words(_rows_of([self])))
        return f"{self.folder} (shards {shards or 'none'}: {held or 'no rows'})"


class Source(NamedTuple):
    """The checkpoints of one process before, which this start reads and does not change."""

    process: JobProcess
    generation: int
    older: bool

    @property
    def dense(self) -> Path:
        """The folder of its dense part."""
        path = self.process.folder
        return path / DENSE if self.older else dense_in(path, self.generation)

    @property
    def rows(self) -> list[Path]:
        """The folder of each of its blocks."""
        blocks = range(len(row_spans(self.process.tables)))
        return [rows_in(self.process.folder, number, self.generation) for number in blocks]

    @property
    def all(self) -> list[Path]:
        """The folders of both."""
        return [self.dense, *self.rows]

    @property
    def steps(self) -> set[int]:
        """The steps of which all that it holds has a checkpoint."""
        return set.intersection(*({each.step for each in _on_disk(store)} for store in self.all))


class JobStart(NamedTuple):
    """What the processes agreed on.

    `generation`: of the checkpoints that are read or written from now on. `processes`: those of
    now. `begun`: whether there are checkpoints of the job. `sources`: the checkpoints that are read
    in place of the own ones, where rows were divided otherwise or grew. `grown`: rows of this
    process that no checkpoint has, in words.
    """

    generation: int
    processes: list[JobProcess]
    begun: bool
    sources: list[Source]
    grown: list[str]


def agreed_start(mine: JobProcess, folder: JobFolder, policy: str, ranks: Ranks) -> JobStart:
    """Agree with all processes, which all call this, on how the job starts.

    `folder`: that of `mine`. `policy`: the system that saves from now on.

    Raises
    ------
    UsageError
        In all processes: where something that was stored could not be read or would be left out,
        or another system has saved it.
    """
    here = {"folder": str(mine.folder), "shards": mine.shards, "tables": mine.tables}
    before = {
        "earlier": [str(each) for each in mine.earlier],
        "claim": None if folder.claim is None else list(folder.claim),
        "unclaimed": folder.unclaimed,
    }
    said = everyone(ranks, here | before)
    processes = [_process(each) for each in said]
    claims = [
        (each.folder, Claim(*its["claim"]))
        for each, its in zip(processes, said, strict=True)
        if its["claim"]
    ]
    _check_policy(claims, policy)
    moved = not claims
    if moved:
        earlier = sorted({path for each in processes for path in each.earlier})
        claims = [(path, _claim_of(path)) for path in earlier]
    if not claims:
        _check_unclaimed(processes, said)
        return JobStart(0, processes, False, [], [])
    sources = _newest(claims)
    generation = max(each.generation for each in sources)
    as_it_was = [(each.process.folder, each.process.tables) for each in sources]
    now = [(each.folder, each.tables) for each in processes]
    same = not moved and not sources[0].older and sorted(as_it_was, key=str) == sorted(now, key=str)
    # The folders of others may be on other machines, and are not read where none has to be.
    read = [each for each in sources if each.process.folder == mine.folder] if same else sources
    if not _has_begun(read, ranks):
        return JobStart(generation + (not same), processes, False, [], [])
    if same:
        return JobStart(generation, processes, True, [], [])
    _check(sources, processes)
    grown = _in_words(_without(_rows_of([mine]), _rows_of(each.process for each in sources)))
    return JobStart(0 if moved else generation + 1, processes, True, sources, grown)


def everyone(ranks: Ranks, mine: Mapping[str, Any]) -> list[Any]:
    """What each process says, in an order that all share. All call it."""
    token, heard, found = uuid4().hex, False, []
    for _ in range(round(ranks.total(1))):
        said = ranks.copied(None if heard else packed({**mine, "token": token}))
        assert said is not None
        found.append(unpacked(said))
        heard = heard or found[-1]["token"] == token
    return found


def claim_of(start: JobStart, mine: JobProcess, policy: str) -> Claim:
    """What the folder of this process says of the job from now on."""
    processes = [
        {
            "folder": os.path.relpath(each.folder, mine.folder),
            "shards": each.shards,
            "tables": each.tables,
        }
        for each in start.processes
    ]
    return Claim(start.generation, mine.tables, policy, processes)


def _process(said: Mapping[str, Any]) -> JobProcess:
    earlier = tuple(map(Path, said.get("earlier", ())))
    return JobProcess(Path(said["folder"]), said["shards"], said["tables"], earlier)


def _claim_of(path: Path) -> Claim:
    claim = JobFolder(path).claim
    if claim is None:
        raise UsageError(f"earlier: {path} has no checkpoints of hooks; leave it out")
    return claim


def _newest(claims: Sequence[tuple[Path, Claim]]) -> list[Source]:
    """The processes that the newest of these claims lists, or those of an older version."""
    listing = [(path, claim) for path, claim in claims if claim.processes is not None]
    if not listing:
        return [
            Source(JobProcess(path, [], claim.tables), claim.generation, older=True)
            for path, claim in claims
        ]
    path, newest = max(listing, key=lambda each: each[1].generation)
    found = [
        _process(each | {"folder": os.path.normpath(path / each["folder"])})
        for each in newest.processes or ()
    ]
    # The job may have gone on from these folders in one of them.
    for each in found:
        claim = JobFolder(each.folder).claim
        if claim is not None and claim.generation > newest.generation:
            return _newest([(each.folder, claim)])
    return [Source(each, newest.generation, older=False) for each in found]


def _has_begun(sources: Sequence[Source], ranks: Ranks) -> bool:
    """Return whether the job has checkpoints, as all processes find it.

    Raises `UsageError` in all processes where some have one, and others none.
    """
    lost = [str(each.process) for each in sources if not each.steps]
    if ranks.least(int(not lost)):
        return True
    last = max(
        (each.step for of in sources for store in of.all for each in _on_disk(store)), default=0
    )
    if not ranks.least(-last):  # killed before all had their first
        return False
    all_lost = [each for said in everyone(ranks, {"lost": lost}) for each in said["lost"]]
    raise UsageError(
        f"no checkpoint is left in {all_lost[0]}, which the job had; bring it back, or begin in "
        "another folder"
    )


def _check_policy(claims: Sequence[tuple[Path, Claim]], policy: str) -> None:
    for path, claim in claims:
        if claim.policy not in {None, policy}:
            raise UsageError(
                f"folder {path}: its checkpoints are of a policy {claim.policy!r}, not "
                f"{policy!r}; give that policy, or a new folder and this one as `earlier`"
            )


def _check_unclaimed(processes: Sequence[JobProcess], said: Sequence[Mapping[str, Any]]) -> None:
    for each, its in zip(processes, said, strict=True):
        if its["unclaimed"]:
            raise UsageError(
                f"folder {each.folder}: has {its['unclaimed']}, but no job.json that says of which "
                "job it is; bring that back, or give another folder"
            )


def _check(sources: Sequence[Source], processes: Sequence[JobProcess]) -> None:
    """Raise `UsageError` unless all rows that were stored are here, and of the same kinds."""
    before, now = _rows_of(each.process for each in sources), _rows_of(processes)
    path = processes[0].folder
    kinds, others = _kinds(each.process for each in sources), _kinds(processes)
    if any(kinds.get(table, kind) != kind for table, kind in others.items()):
        raise UsageError(
            f"folder {path}: has checkpoints of another job (tables differ); give another folder"
        )
    if left := _in_words(_without(before, now)):
        raise UsageError(
            f"shards(): no process gives {left[0]}, which the checkpoints in "
            f"{_folders(sources)} have; give all rows, or another folder"
        )
    if sources[0].older and (missing := _in_words(_without(now, before))):
        raise UsageError(
            f"folder {path}: {missing[0]} are in no checkpoint, and those of an older version do "
            "not say whether other processes had them; give their folders as `earlier`, or start "
            "once with the tables as they were"
        )


def _folders(sources: Sequence[Source]) -> str:
    return ", ".join(str(each.process.folder) for each in sources)


def _rows_of(processes: Iterable[JobProcess]) -> Rows:
    found = defaultdict(list)
    for each in processes:
        for table, first, rows, _ in each.tables:
            found[table].append((first, first + rows))
    return found


def _kinds(processes: Iterable[JobProcess]) -> dict[int, Kinds]:
    return {table: kinds for each in processes for table, _, _, kinds in each.tables}


def _without(rows: Rows, others: Rows) -> Rows:
    """Those of `rows` that are not in `others`."""
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


def _in_words(rows: Rows) -> list[str]:
    return [
        f"rows {first:,} to {end - 1:,} of table {table}"
        for table, spans in sorted(rows.items())
        for first, end in spans
    ]


def _on_disk(folder: Path) -> list[Any]:
    return checkpoints_in(folder) if folder.is_dir() else []
