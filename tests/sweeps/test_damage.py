"""Whatever happens to the file of a sweep: the same bytes in the end, or the one error."""

import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import cprsim
from cprsim.basics.spreadsheet import csv_bytes
from cprsim.errors import CprsimError, RunError, UsageError
from cprsim.sweeps import driver, store, tasks
from cprsim.sweeps.store import NAME
from cprsim.sweeps.sweep import sweep
from tests.sweeps.cases import scenario

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
REFUSALS = re.compile(
    r"[^\n]*sweep\.db: (is damaged \([^\n]*\); give the same cprsim sweep again to run what is "
    r"lost, or, where that says this too, delete the file"
    r"|attempt to write a readonly database"  # a file may say of itself that it is
    r"|is no SQLite file; choose another folder"
    r"|was not made by cprsim sweep; choose another folder"
    r"|was made by (a newer|an older) cprsim; install that one, or choose another folder)"
)
PAGE = 4096


def again(folder: Path, told: list[str] | None = None) -> None:
    sweep(JOB, folder, tell=(told if told is not None else []).append, **ASKED)


def exported(folder: Path) -> bytes:
    return csv_bytes(cprsim.Sweep(folder).table)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A sweep that is done."""
    folder = tmp_path_factory.mktemp("whole")
    again(folder)
    return folder


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


# --- Damage at random ----------------------------------------------------------------------------


def in_bytes(path: Path, chance: random.Random) -> str:
    """Change bytes of a file, put one of its pages in the place of another, or cut it."""
    content, how = bytearray(path.read_bytes()), chance.choice(["flipped", "copied", "cut"])
    if how == "flipped":  # some in the header, or anywhere
        most = chance.choice([100, len(content)])
        for _ in range(chance.choice([1, 2, 50])):
            content[chance.randrange(most)] ^= 1 << chance.randrange(8)
    elif how == "copied":
        one, other = (PAGE * chance.randrange(len(content) // PAGE) for _ in range(2))
        content[one : one + PAGE] = content[other : other + PAGE]
    else:
        del content[chance.choice([chance.randrange(len(content)), len(content) - PAGE]) :]
    path.write_bytes(content)
    return how


def in_rows(path: Path, chance: random.Random) -> str:
    """Delete rows, change a value, or put one row's values into another's; hashes stay."""
    with sqlite3.connect(path) as connection:
        table = chance.choice(["definition", "points", "results"])
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table}")]
        column, (row, other) = chance.choice(columns), chance.choices(rows, k=2)
        where = f"WHERE rowid = {row}"
        change = {
            "deleted": f"DELETE FROM {table} {where}",
            "emptied": f"DELETE FROM {table}",
            "cut": f"UPDATE OR IGNORE {table} SET {column} = substr({column}, 2) {where}",
            "text": f"UPDATE OR IGNORE {table} SET {column} = 'some' {where}",
            "copied": f"UPDATE OR REPLACE {table} SET {column} = "
            f"(SELECT {column} FROM {table} WHERE rowid = {other}) {where}",
        }
        how = chance.choice(list(change))
        with suppress(sqlite3.IntegrityError):  # no such value: the file stays as it is
            connection.execute(change[how])
    connection.close()
    return f"{table} {how}"


def refusal(use: Callable[[], bool | None]) -> str:
    """Why that is refused; else it has to be true, where it says so."""
    try:
        kept = use()
    except CprsimError as error:
        return str(error)
    assert kept is not False
    return ""


def outcome(folder: Path, table: bytes) -> str:
    """Read a file that may be damaged, resume the sweep; what came of it."""
    # A reader takes a point whose end is missing for one that is still to be done.
    read = refusal(lambda: lines(exported(folder)) <= lines(table))
    done = refusal(lambda: again(folder))
    for told in {read, done} - {""}:
        assert REFUSALS.fullmatch(told), told
    if done:  # also where all can be read, and nothing be written beside it
        return "refused"
    assert exported(folder) == table
    return "run again" if read else "unharmed"


def lines(table: bytes) -> set[bytes]:
    """Whole numbers have decimals where the point that failed is there, and none where not."""
    return {*table.replace(b".0,", b",").splitlines()}


@pytest.mark.parametrize(
    ("harm", "count"),
    [(in_rows, 60), pytest.param(in_bytes, 120, marks=pytest.mark.slow)],
)
def test_a_damaged_file_is_run_again_or_refused(whole, quick, tmp_path, harm, count, counted):
    found: Counter[str] = Counter()
    table = exported(whole)
    for seed in range(count):
        folder = tmp_path / str(seed)
        shutil.copytree(whole, folder)
        how = harm(folder / NAME, random.Random(f"{harm.__name__} {seed}"))
        try:
            found[outcome(folder, table)] += 1
        except BaseException as error:
            error.add_note(f"{seed}: {how}")
            raise
    counted(f"{harm.__name__}, {count} damaged sweeps: {dict(found)}")
    assert found["run again"] > 0


# --- Damage of each kind -------------------------------------------------------------------------


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
