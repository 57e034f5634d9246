"""Temporary folders are removed by their process, or by the next if it was killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cprsim.basics import files
from cprsim.basics.files import locked_tempdir

fcntl = pytest.importorskip("fcntl", reason="no locks")


def test_a_folder_goes_with_its_owner_and_that_of_a_dead_one_too(folder: Path) -> None:
    killed = (
        "import os\nfrom pathlib import Path\nfrom cprsim.basics.files import locked_tempdir\n"
        "with locked_tempdir(Path()) as place:\n"
        "    (place / 'a').mkdir()\n    (place / 'a' / 'b').touch()\n    os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == 9
    (left,) = folder.iterdir()

    with locked_tempdir(folder) as mine, locked_tempdir(folder) as other:
        assert not left.exists()
        assert {mine, other} == {*folder.iterdir()}
    assert list(folder.iterdir()) == []


def test_only_folders_of_ones_own_making_go(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "file").touch()
    (folder / ".cprsim_a_linkxx").symlink_to(folder / "real")
    (folder / ".cprsim_other").mkdir()
    with locked_tempdir(folder):
        pass

    assert {path.name for path in folder.iterdir()} == {"real", ".cprsim_a_linkxx", ".cprsim_other"}
    assert (folder / "real" / "file").exists()


def test_without_locks_nothing_is_swept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    with locked_tempdir(folder) as mine:
        with locked_tempdir(folder):
            assert mine.exists()
        assert mine.exists()


def test_a_folder_is_locked_through_a_link_as_well(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    handle = os.open(folder / "real", os.O_RDONLY)
    try:
        with files.locked(folder / "link"), pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)
