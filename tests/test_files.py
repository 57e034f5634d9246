"""Files of a result: written all or none, nothing of others touched, nothing left behind."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cprsim.basics import files
from cprsim.basics.files import write_all
from cprsim.basics.interrupts import INTERRUPTS, held_back
from cprsim.basics.manifest import with_manifest
from tests.test_cli import written
from tests.waiting import HANGS_S

FILES = {"a.csv": b"new a", "b.toml": b"new b", "c.png": b"new c"}


class Stop(BaseException):
    """Like KeyboardInterrupt, no Exception; but pytest doesn't stop for it."""


@pytest.fixture
def stop_at(monkeypatch):
    """Lets the call of that number (from 1) raise `Stop` instead of doing anything."""

    def stop_at(place, name, call):
        real, calls = getattr(place, name), []

        def stopping(*args):
            calls.append(args)
            if len(calls) == call:
                raise Stop
            return real(*args)

        monkeypatch.setattr(place, name, stopping)

    return stop_at


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_files_are_written_all_or_none(folder, stop_at, call):
    Path("old").mkdir()
    Path("old/a.csv").write_bytes(b"old a")
    stop_at(os, "fsync", call)
    with pytest.raises(Stop):
        write_all(Path("old"), FILES)

    assert written(Path("old")) == {"a.csv": b"old a"}


@pytest.mark.parametrize("new", ["new", "a/b/new"])
def test_folders_that_had_to_be_made_go_again(folder, stop_at, new):
    stop_at(files, "_stage", 2)
    with pytest.raises(Stop):
        write_all(Path(new), FILES)

    assert list(folder.iterdir()) == []


def test_what_others_put_into_a_new_folder_stays(folder, monkeypatch):
    """Of two runs into r/a and r/b, the one that fails leaves the other's results alone."""

    def meanwhile(*_):
        monkeypatch.undo()
        monkeypatch.chdir(folder)
        write_all(Path("r/b"), FILES)
        raise Stop

    monkeypatch.setattr(files, "_stage", meanwhile)
    with pytest.raises(Stop):
        write_all(Path("r/a"), {"a.csv": b"a"})

    assert written(Path("r/b")) == FILES
    assert [path.name for path in Path("r").iterdir()] == ["b"]


def test_what_was_committed_is_put_in_its_place_by_the_next(folder, stop_at, monkeypatch):
    Path("old").mkdir()
    Path("old/b.toml").write_bytes(b"old b")
    stop_at(Path, "replace", 2)
    with pytest.raises(Stop):
        write_all(Path("old"), FILES)
    assert Path("old/b.toml").read_bytes() == b"old b"  # a moment in which a kill mixes them
    monkeypatch.undo()

    write_all(folder / "old", {"other.csv": b"other"})

    assert written(folder / "old") == FILES | {"other.csv": b"other"}


def test_a_file_that_was_put_back_since_stays(folder, stop_at, monkeypatch):
    """With the old time of its last change, as `cp -p` gives it."""
    stop_at(Path, "replace", 2)
    with pytest.raises(Stop):
        write_all(Path("old"), FILES)
    monkeypatch.undo()
    left = sorted(path.name for path in (folder / "old/.cprsim.new").iterdir())
    (folder / "old" / left[0]).write_bytes(b"mine")
    os.utime(folder / "old" / left[0], (1e9, 1e9))

    write_all(folder / "old", {"other.csv": b"other"})

    assert (folder / "old" / left[0]).read_bytes() == b"mine"


def test_the_manifest_comes_last(folder, stop_at):
    contents = with_manifest(FILES, {})
    stop_at(Path, "replace", len(contents))
    with pytest.raises(Stop):
        write_all(Path("new"), contents)

    assert {path.name for path in Path("new").iterdir()} == {*FILES, ".cprsim.new"}


def test_a_file_can_go(folder):
    write_all(Path("out"), FILES)
    write_all(Path("out"), {"a.csv": None, "never.csv": None, "d.csv": b"new d"})

    assert written(Path("out")) == {"b.toml": b"new b", "c.png": b"new c", "d.csv": b"new d"}


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_rights_are_those_that_the_user_wants(folder, umask):
    before = os.umask(umask)
    try:
        write_all(Path("a/new"), FILES)
    finally:
        os.umask(before)

    rights = {path.stat().st_mode & 0o777 for path in Path("a/new").iterdir()}
    assert rights == {0o666 & ~umask}


def test_errors_name_the_file_that_the_user_knows(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_stage", full)
    with pytest.raises(OSError, match="No space left") as raised:
        write_all(Path("out"), {"a.csv": b"a"})

    assert raised.value.filename == "out/a.csv"


def test_what_was_changed_since_a_kill_stays(folder, stop_at, monkeypatch):
    stop_at(Path, "replace", 1)
    with pytest.raises(Stop):
        write_all(Path("out"), FILES)
    monkeypatch.undo()
    own, gone = folder / "out" / "a.csv", folder / "out" / "b.toml"
    own.write_bytes(b"the user's own")
    os.utime(own, ns=(2**62, 2**62))  # later, however coarse the clock of the file system is
    gone.mkdir()

    write_all(folder / "out", {"d.csv": b"d"})

    assert own.read_bytes() == b"the user's own"
    assert gone.is_dir()
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {"a.csv", "b.toml", "c.png", "d.csv"}


def test_a_link_in_the_place_of_what_is_committed_is_not_followed(folder):
    (folder / "private").mkdir()
    (folder / "private" / "key").write_bytes(b"secret")
    (folder / "out").mkdir()
    (folder / "out" / ".cprsim.new").symlink_to(folder / "private")
    with pytest.raises(OSError, match="directory"):
        write_all(folder / "out", FILES)

    assert (folder / "private" / "key").read_bytes() == b"secret"
    assert {path.name for path in (folder / "out").iterdir()} == {".cprsim.new"}


def test_a_file_system_that_syncs_no_folders_is_no_reason_to_fail(folder, monkeypatch):
    fsync = os.fsync

    def of_files(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", of_files)
    write_all(folder / "out", FILES)

    assert written(folder / "out") == FILES


@pytest.mark.slow
def test_two_writers_at_once_leave_the_files_of_one(folder):
    """Each commits while the other is between two renames."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom cprsim.basics.files import write_all\n"
        "for i in range(40):\n"
        "    content = f'{sys.argv[1]} {i}'.encode()\n"
        "    gone = {'c': None} if sys.argv[1] == 'two' else {}\n"
        "    write_all(Path('out'), dict.fromkeys(['a', 'b', 'c', 'd'], content) | gone)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, name]) for name in ("one", "two")]

    assert [writer.wait(HANGS_S) for writer in writers] == [0, 0]
    left = written(Path("out"))
    assert len({*left.values()}) == 1
    assert {*left} == {"a", "b", "d"} | ({"c"} if left["a"].startswith(b"one") else set())


# Interrupts that are held back


@pytest.fixture
def heard():
    """Interrupts that came to handlers that note them."""
    came: list[int] = []

    def note(number, _):
        came.append(number)
        raise Stop

    before = [(each, signal.signal(each, note)) for each in INTERRUPTS]
    yield came
    for each in before:
        signal.signal(*each)


def test_all_interrupts_come_when_the_moment_is_over(heard):
    def moment():
        with held_back():
            for each in INTERRUPTS:
                signal.raise_signal(each)
            done.append("all of it")

    handlers, done = [signal.getsignal(each) for each in INTERRUPTS], list[str]()
    with pytest.raises(Stop):
        moment()
    assert (done, heard) == (["all of it"], [*INTERRUPTS])
    assert [signal.getsignal(each) for each in INTERRUPTS] == handlers


def test_one_that_comes_as_the_moment_ends_leaves_no_other_unheard(heard, monkeypatch):
    """As soon as it is heard again, while others aren't yet."""
    restore, handlers = signal.signal, [signal.getsignal(each) for each in INTERRUPTS]

    def interrupted(number, handler):
        found = restore(number, handler)
        if number == signal.SIGINT and handler in handlers:
            signal.raise_signal(number)
        return found

    def moment():
        with held_back():
            monkeypatch.setattr(signal, "signal", interrupted)

    with pytest.raises(Stop):
        moment()
    monkeypatch.undo()
    assert heard == [signal.SIGINT]
    assert [signal.getsignal(each) for each in INTERRUPTS] == handlers


def test_what_python_has_no_handler_for_is_left_alone(heard):
    """Such as SIGHUP under nohup, and what a library in C listens to."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with held_back():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
