"""The start of a job: new, as it was, or with other processes or more rows than its checkpoints."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cprsim.errors import UsageError
from cprsim.trainer.hooks.job_folder import Claim, JobFolder, JobProcess
from cprsim.trainer.hooks.ranks import Ranks, everyone
from cprsim.trainer.hooks.row_sets import Rows, by_table, common, in_words, spans, without


class JobStart(NamedTuple):
    """The start that all processes agreed on.

    `claim`: of the folder of this process from now on. `begun`: whether there are checkpoints of
    the job. `sources`: the checkpoints that are read in place of the own ones, where rows were
    divided otherwise or grew; that of this folder first. `takes_counts`: whether this process
    continues from the counts of those. `grown`: rows of this process that no checkpoint has, in
    words.
    """

    claim: Claim
    begun: bool
    sources: Sequence[JobProcess] = ()
    takes_counts: bool = False
    grown: Sequence[str] = ()


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
    listed = [each.document(os.path.relpath(each.folder, mine.folder)) for each in processes]
    claim = Claim(0, mine.tables, policy, listed, job, mine.id)
    if not claims:
        return JobStart(claim, begun=False)
    sources = _sources(claims)
    generation = max(each.generation for each in sources)
    own = [each for each in sources if each.id == mine.id]
    # Folders may lie on machines of their own: others are read only where rows come from them.
    stays = not moved and _keep_rows(sources, processes)
    before = {each.id: each.tables for each in sources}
    same = not moved and before == {each.id: each.tables for each in processes}
    read = own if stays else sources
    if not _has_begun(read, len(sources), processes, ranks):
        return JobStart(claim._replace(generation=generation + (not same)), begun=False)
    if same:
        return JobStart(claim._replace(generation=generation), begun=True)
    _check_rows(sources, processes)
    return JobStart(
        claim if moved else claim._replace(generation=generation + 1),
        True,
        sorted((each for each in read if each.whole_steps), key=lambda each: each.id != mine.id),
        stays or processes[0].id == mine.id,
        in_words(without(_rows_of([mine]), _rows_of(sources))),
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
        others = common(without(now, before[each.id]), of_all)
        if in_words(without(before[each.id], now)) or in_words(others):
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
        gone = common(without(_rows_of(read), _rows_of(there)), _rows_of(processes))
        lost = [str(each) for each in read if in_words(common(_rows_of([each]), gone))]
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
    if in_words(common(by_table(without(now, before)), by_table(before))):
        raise UsageError(
            f"folder {folders}: has checkpoints of another job (tables differ); give another folder"
        )
    if left := in_words(without(before, now)):
        raise UsageError(
            f"shards(): no process gives {left[0]}, which the checkpoints in {folders} have; give "
            "all rows, or another folder"
        )


def _rows_of(processes: Iterable[JobProcess]) -> Rows:
    return spans(table for each in processes for table in each.tables)
