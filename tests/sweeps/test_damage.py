"""Whatever happens to the file of a sweep: the same bytes in the end, or the one error."""

import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import cprsim
from cprsim.errors import CprsimError, RunError, UsageError
from cprsim.sweeps import driver, export, store, tasks
from cprsim.sweeps.store import NAME
from cprsim.sweeps.sweep import sweep
from tests.sweeps.cases import scenario
from tests.sweeps.damage import JOURNAL, in_bytes, in_journal, in_rows

JOB = scenario(
    policies={"full": {"system": "full"}, "partial": {"system": "partial", "interval": "1 h"}}
)
#: At the last point a policy fails, which has no plan there.
ASKED = {
    "vary": {"costs.save": ["5 min", "4 min", "0 s"]},
    "replications": 40,
    "engine": "batch",
    "policies": ["full", "partial"],
}
#: What makes all sorts of sweeps of it.
SORTS = ("done", "begun", "killed")
REFUSALS = re.compile(
    r"[^\n]*sweep\.db: (is damaged \([^\n]*\); give the same cprsim sweep again to run what is "
    r"lost, or, where that says this too, delete the file"
    r"|attempt to write a readonly database"  # a file may say of itself that it is
    r"|is no SQLite file; choose another folder"
    r"|was not made by cprsim sweep; choose another folder"
    r"|was made by (a newer|an older) cprsim; install that one, or choose another folder)"
)


def again(folder: Path, told: list[str] | None = None) -> None:
    sweep(JOB, folder, tell=(told if told is not None else []).append, **ASKED)


def exported(folder: Path) -> bytes:
    return export.exported(cprsim.Sweep(folder), "csv")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A sweep that is done."""
    folder = tmp_path_factory.mktemp("whole")
    again(folder)
    return folder


@dataclass(frozen=True)
class Origin:
    """Files to be damaged, what they export, and what they do in the end."""

    folder: Path
    exported: bytes
    in_the_end: bytes


@pytest.fixture(scope="module")
def origins(tmp_path_factory) -> dict[str, Origin]:
    """Sweeps that are done, begun, and killed while they commit."""
    return {sort: origin(sort, tmp_path_factory.mktemp("sort")) for sort in SORTS}


def origin(sort: str, folder: Path) -> Origin:
    done = folder / "done"
    again(done)
    if sort == "begun":
        begin(folder / "begun")
        return Origin(folder / "begun", exported(folder / "begun"), exported(done))
    if sort == "killed":
        kill(done, folder / "killed")
        return Origin(folder / "killed", exported(done), exported(done))
    return Origin(done, exported(done), exported(done))


def begin(folder: Path) -> None:
    """End it after two of three points."""
    seen: list[object] = []

    def stop(progress: object) -> None:
        seen.append(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(JOB, folder, progress=stop, **ASKED)


def kill(done: Path, killed: Path) -> None:
    """Leave what somebody does who is killed while he commits: a hot journal."""
    before = shutil.copytree(done, killed.parent / "before")
    connection = sqlite3.connect(before / NAME, isolation_level=None)
    connection.execute("PRAGMA cache_size = 2")  # pages go to the file before the commit
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE results SET data = data || data")
    connection.execute("DELETE FROM points")
    shutil.copytree(before, killed)
    connection.close()
    assert (killed / NAME).read_bytes() != (done / NAME).read_bytes()
    assert (killed / JOURNAL).exists()


@pytest.fixture
def quick(monkeypatch, whole) -> None:
    """What is the same in all sweeps is done once, and nobody waits for a disk."""
    from cprsim.sweeps import sweep as module

    points, engines, connect = [], [], store._connect
    read, chosen, versions = module.read_points, module.chosen, module.versions()

    def once(kept, function):
        def called(*arguments):
            return kept[0] if kept else kept.append(function(*arguments)) or kept[0]

        return called

    def hasty(*arguments):
        connection = connect(*arguments)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    monkeypatch.setattr(module, "read_points", once(points, read))
    monkeypatch.setattr(module, "chosen", once(engines, chosen))
    monkeypatch.setattr(module, "versions", lambda: versions)
    monkeypatch.setattr(store, "_connect", hasty)


def refusal(use: Callable[[], bool | None]) -> str:
    """Why that is refused; else it has to be true, where it says so."""
    try:
        kept = use()
    except CprsimError as error:
        return str(error)
    assert kept is not False
    return ""


def outcome(folder: Path, of: Origin) -> str:
    """Read a file that may be damaged, go on with it; what came of it."""
    # A reader takes a point whose end is missing for one that is still to be done.
    read = refusal(lambda: lines(exported(folder)) <= lines(of.exported))
    done = refusal(lambda: again(folder))
    for told in {read, done} - {""}:
        assert REFUSALS.fullmatch(told), told
    if done:  # also where all can be read, and nothing be written beside it
        return "refused"
    assert exported(folder) == of.in_the_end
    return "run again" if read else "unharmed"


def lines(table: bytes) -> set[bytes]:
    """Whole numbers have decimals where the point that failed is there, and none where not."""
    return {*table.replace(b".0,", b",").splitlines()}


def harmed(harm: str, seed: int, of: Origin, folder: Path) -> str:
    """Damage a copy; how."""
    shutil.copytree(of.folder, folder)
    chance = random.Random(f"{harm} {seed}")
    if harm == "journal":
        return in_journal(folder, chance)
    return {"bytes": in_bytes, "rows": in_rows}[harm](folder / NAME, chance)


def damaged(harm: str, seeds: range, origins: dict[str, Origin], folder: Path) -> Counter[str]:
    """What came of as many damaged files."""
    found: Counter[str] = Counter()
    sorts = ["killed"] if harm == "journal" else [sort for sort in SORTS if sort != "killed"]
    for seed in seeds:
        sort = sorts[seed % len(sorts)]
        how = harmed(harm, seed, origins[sort], folder / str(seed))
        try:
            found[outcome(folder / str(seed), origins[sort])] += 1
        except BaseException as error:
            error.add_note(f"{harm} {seed}, {sort}: {how}")
            raise
        shutil.rmtree(folder / str(seed))
    return found


@pytest.mark.parametrize(
    ("harm", "seeds"),
    [
        ("rows", range(100)),
        *(
            pytest.param(harm, range(count), marks=pytest.mark.slow)
            for harm, count in (("bytes", 120), ("journal", 60))
        ),
        *(
            pytest.param(harm, range(1000, 1000 + count), marks=pytest.mark.nightly)
            for harm, count in (("bytes", 1200), ("rows", 500), ("journal", 300))
        ),
    ],
)
def test_a_damaged_file_is_run_again_or_refused(origins, quick, tmp_path, harm, seeds, counted):
    found = damaged(harm, seeds, origins, tmp_path)

    counted(f"{harm}, {len(seeds)} damaged sweeps: {dict(found)}")
    assert found.total() == len(seeds)
    assert found["run again"] > 0


def told_after(folder: Path, *statements: str) -> list[str]:
    """What the same sweep tells after these changes of its file."""
    connection = sqlite3.connect(folder / NAME, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    told: list[str] = []
    again(folder, told)
    return told


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ("UPDATE results SET data = x'00' WHERE number = 1", True),
        ("UPDATE results SET document = document || ' '", True),
        ("UPDATE results SET number = 7 WHERE number = 1", True),
        ("DELETE FROM results", False),
        ("DELETE FROM points WHERE number = 1", False),
        ("UPDATE points SET document = '{}'", False),
    ],
)
def test_a_point_that_is_damaged_or_missing_is_run_again(whole, quick, tmp_path, changed, is_told):
    shutil.copy(whole / NAME, tmp_path)
    told = told_after(tmp_path, changed)

    assert told == [f"{tmp_path / NAME}: was damaged; running again what is lost"] * is_told
    assert exported(tmp_path) == exported(whole)
    assert told_after(tmp_path) == []


def test_only_points_that_are_damaged_are_run_again(whole, quick, tmp_path, monkeypatch):
    shutil.copy(whole / NAME, tmp_path)
    played = []

    def perform(task):
        played.append(task.point)
        return tasks.perform(task)

    monkeypatch.setattr(driver, "perform", perform)
    told_after(tmp_path, "UPDATE results SET hash = x'00' WHERE number = 1")

    assert played == [1]


def test_a_file_whose_definition_is_lost_is_refused_and_left_as_it_is(whole, quick, tmp_path):
    shutil.copy(whole / NAME, tmp_path)
    with pytest.raises(UsageError) as error:
        told_after(tmp_path, "UPDATE definition SET document = document || ' '")

    assert str(error.value) == (
        f"{tmp_path / NAME}: is damaged (row 0 of definition is not as it was written); give the "
        "same cprsim sweep again to run what is lost, or, where that says this too, delete the file"
    )
    with pytest.raises(UsageError) as of_reader:
        exported(tmp_path)
    assert str(of_reader.value) == str(error.value)


def test_an_error_of_the_disk_is_no_damage(whole, tmp_path, monkeypatch):
    shutil.copy(whole / NAME, tmp_path)

    def fails(*_):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
        raise error

    monkeypatch.setattr(store, "_holds_sweep", fails)
    with pytest.raises(RunError) as error:
        exported(tmp_path)

    assert str(error.value) == f"{tmp_path / NAME}: disk I/O error"


def test_a_reader_takes_what_is_not_finished_for_no_damage(tmp_path, monkeypatch):
    monkeypatch.setattr("cprsim.sweeps.sweep._COMMIT_S", -1.0)
    lengths = []

    def meanwhile(_progress) -> None:
        lengths.append(len(cprsim.Sweep(tmp_path).table))

    sweep(JOB, tmp_path, progress=meanwhile, **ASKED)

    # A commit and a look after each of three points.
    assert lengths == [2, 4, 6, 6]
