"""The folder of a sweep: resumed from whatever is in it, refused where it is another's, full."""

import json
import shutil
import sqlite3
from contextlib import ExitStack

import pytest

import cprsim
from cprsim.errors import RunError, UsageError
from cprsim.sim.engine import MODEL_VERSION
from cprsim.sweeps import store
from cprsim.sweeps.store import NAME, _hash, reading, stored_definition
from cprsim.sweeps.sweep import sweep
from tests.sweeps.cases import MEANS, csv, scenario


def test_whatever_has_been_written_the_sweep_goes_on_to_the_same_bytes(out, monkeypatch):
    # A copy of all files between two results is what a kill at that moment would leave.
    asked = {"vary": {"costs.save": ["5 min", "0 s", "1 min"]}}
    asked |= {"replications": 30, "policies": ["full"]}
    kept = []

    def meanwhile(_progress) -> None:
        kept.append(shutil.copytree(out, out.parent / f"kept{len(kept)}"))

    monkeypatch.setattr("cprsim.sweeps.sweep._COMMIT_S", 0.0)
    whole = csv(sweep(scenario(), out, progress=meanwhile, **asked))

    assert len(kept) >= 4
    assert len({(each / NAME).read_bytes() for each in kept}) >= 3  # kept on the way
    for each in kept:
        assert csv(sweep(scenario(), each, **asked)) == whole


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"policies": ["full"]}, "its policies are full, partial, not full"),
        ({"seed": 1}, "its seed is 0, not 1"),
        ({"replications": 4}, "its replications are 3, not 4"),
        ({"half_width": 0.1}, "its half-width is None, not 0.1"),
        ({"vary": {"failures.mean": ["10 h", "31 h"]}}, "its points are others"),
        ({"vary": {"failures.mean": ["30 h", "10 h"]}}, "its points are others"),
        ({"scenario": scenario(job={"useful_time": "3 d"})}, "its scenario is another"),
    ],
)
def test_a_folder_of_another_sweep_is_refused_and_left_as_it_is(out, changed, difference):
    asked = {"scenario": scenario(), "vary": MEANS, "replications": 3}
    sweep(out=out, **asked)
    before = (out / NAME).read_bytes()
    with pytest.raises(UsageError) as error:
        sweep(out=out, **(asked | changed))

    assert str(error.value) == (
        f"--out {out}: holds another sweep: {difference}; choose another folder"
    )
    assert (out / NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("version", "age"), [(0, "an older"), (99, "a newer")]
)  # fmt: skip
def test_a_database_of_another_model_is_refused_and_can_still_be_read(out, version, age):
    done = csv(sweep(scenario(), out, MEANS, replications=3))
    with sqlite3.connect(out / NAME) as connection:
        changed = json.dumps(stored_definition(connection) | {"model_version": version})
        row = (changed, _hash("definition", 0, changed))
        connection.execute("UPDATE definition SET document = ?, hash = ?", row)
    with pytest.raises(UsageError) as error:
        sweep(scenario(), out, MEANS, replications=3)

    assert str(error.value) == (
        f"--out {out}: holds a sweep of {age} cprsim (model version {version}, this one "
        f"has {MODEL_VERSION}), whose numbers don't go with these; install that one, or choose "
        "another folder"
    )
    assert csv(cprsim.Sweep(out)) == done


@pytest.mark.parametrize(("away", "age"), [(-1, "an older"), (1, "a newer")])
def test_a_file_of_another_layout_is_refused_by_readers_too(out, away, age):
    sweep(scenario(), out, MEANS, replications=3)
    with sqlite3.connect(out / NAME) as connection:
        ((layout,),) = connection.execute("PRAGMA user_version").fetchall()
        connection.execute(f"PRAGMA user_version = {layout + away}")
    told = f"{out / NAME}: was made by {age} cprsim; install that one, or choose another folder"
    for use in (
        lambda: sweep(scenario(), out, MEANS, replications=3),
        lambda: cprsim.Sweep(out).table,
    ):
        with pytest.raises(UsageError) as error:
            use()
        assert str(error.value) == told


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"no database, however long" * 99, "is no SQLite file; choose another folder"),
        (None, "was not made by cprsim sweep; choose another folder"),
    ],
)  # fmt: skip
def test_a_strange_file_of_that_name_is_refused(out, content, fault):
    out.mkdir()
    if content is None:
        with sqlite3.connect(out / NAME) as connection:
            connection.execute("CREATE TABLE mine (x)")
    else:
        (out / NAME).write_bytes(content)
    before = (out / NAME).read_bytes()
    with pytest.raises(UsageError) as error:
        sweep(scenario(), out, MEANS, replications=3)

    assert str(error.value) == f"{out / NAME}: {fault}"
    assert (out / NAME).read_bytes() == before


@pytest.mark.slow
def test_two_sweeps_can_not_write_to_one_folder_but_others_may_read(out):
    tables = []

    def meanwhile(_progress) -> None:
        tables.append(cprsim.Sweep(out).table)
        if len(tables) == 1:
            with pytest.raises(UsageError) as error:
                sweep(scenario(), out, MEANS, replications=3)
            assert str(error.value) == (
                f"{out / NAME}: another process is writing to it; wait for it, or choose another "
                "folder"
            )

    done = sweep(scenario(), out, MEANS, replications=3, progress=meanwhile)

    assert len(tables[0]) == 0
    assert tables[0].columns.tolist() == done.table.columns.tolist()
    assert len(done.table) == 4


def test_a_reader_that_takes_its_time_holds_nothing_up(out, monkeypatch):
    monkeypatch.setattr("cprsim.sweeps.sweep._COMMIT_S", 0.0)
    monkeypatch.setattr("cprsim.sweeps.sweep._READER_S", 0.01)
    seen, reader = [], ExitStack()

    def meanwhile(_progress) -> None:
        if not seen:
            connection = reader.enter_context(reading(out))
        seen.append(len(seen))
        if len(seen) == 1:
            connection.execute("SELECT count(*) FROM results").fetchone()
        if len(seen) == 3:
            reader.close()

    six = {"failures.mean": "lin(10 h, 30 h, 6)"}
    done = sweep(scenario(), out, six, replications=3, progress=meanwhile)

    assert len(seen) == 7  # none of the points waited for the reader
    assert csv(done) == csv(sweep(scenario(), out.parent / "other", six, replications=3))


def test_an_interrupt_ends_the_wait_for_a_reader(out, monkeypatch):
    commits, turns = store.SweepStore._commits, []

    def interrupted(made: store.SweepStore) -> bool:
        turns.append(commits(made))
        if len(turns) == 3:
            raise KeyboardInterrupt("again")
        return turns[-1]

    def meanwhile(_progress) -> None:
        connection = reader.enter_context(reading(out))
        connection.execute("SELECT count(*) FROM results").fetchone()
        monkeypatch.setattr(store.SweepStore, "_commits", interrupted)
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_TURN_S", 0.01)
    with ExitStack() as reader, pytest.raises(KeyboardInterrupt, match="again"):
        sweep(scenario(), out, MEANS, replications=3, progress=meanwhile)

    assert turns == [False] * 3


@pytest.mark.slow
def test_a_full_disk_ends_the_sweep_and_loses_nothing_that_was_stored(out, monkeypatch):
    connect = store._connect

    def small(*given):
        connection = connect(*given)
        connection.execute("PRAGMA max_page_count = 13")  # SQLite's own way to be out of room
        return connection

    monkeypatch.setattr("cprsim.sweeps.sweep._COMMIT_S", 0.0)
    monkeypatch.setattr(store, "_connect", small)
    asked = {"vary": {"failures.mean": "lin(30 h,40 h,5)"}, "replications": 200}
    with pytest.raises(RunError) as error:
        sweep(scenario(), out, **asked)

    assert str(error.value) == (
        f"{out / NAME}: the disk is full; what was stored before is safe: make room, and give the "
        "same command again"
    )
    with sqlite3.connect(out / NAME) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM results").fetchone()
    assert 0 < stored < 5
    monkeypatch.setattr(store, "_connect", connect)
    again = sweep(scenario(), out, **asked)
    assert csv(again) == csv(sweep(scenario(), out.parent / "other", **asked))
