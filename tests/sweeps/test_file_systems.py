"""What the folder of a sweep lies on, and what is said about it."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest

import cprsim
from cprsim.errors import UsageError
from cprsim.sweeps import file_systems
from cprsim.sweeps.file_systems import file_system_of, locks_in, network_file_system
from cprsim.sweeps.layout import NAME
from cprsim.sweeps.sweep import sweep
from tests.sweeps.cases import MEANS, scenario

MOUNTS = r"""/dev/vda / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/vdb /home/me/local xfs rw 0 0
//server/share /mnt/with\040space cifs rw 0 0
me@host:/data /mnt/ssh fuse.sshfs rw 0 0
/dev/vdc /mnt/twice ext4 rw 0 0
host:/lustre /mnt/twice lustre rw 0 0
nonsense
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/homes/me", "ext4"),
        ("/home/me", "nfs4"),
        ("/home/me/local/out", "xfs"),
        ("/mnt/with space/out", "cifs"),
        ("/mnt/ssh", "fuse.sshfs"),
        ("/mnt/twice/out", "lustre"),
    ],
)
def test_the_innermost_mount_says_which_file_system_it_is(path, kind):
    assert file_system_of(Path(path), MOUNTS) == kind
    assert file_system_of(Path(path), "") == ""


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """Has /proc/self/mounts say that everything lies on one file system."""

    def on(kind: str) -> None:
        (tmp_path / "mounts").write_text(f"somewhere / {kind} rw 0 0\n")
        monkeypatch.setattr(file_systems, "_MOUNTS", tmp_path / "mounts")

    return on


def test_a_folder_on_a_network_file_system_is_told(out, mounted, monkeypatch):
    told: list[str] = []
    mounted("nfs4")
    sweep(scenario(), out, MEANS, replications=3, tell=told.append)

    assert told == [
        f"--out {out}: lies on a network file system (nfs4), whose locks can't be relied on: "
        "choose a local folder, or have nothing else write to this one meanwhile"
    ]
    mounted("ext4")
    sweep(scenario(), out, MEANS, replications=3, tell=told.append)
    assert len(told) == 1
    monkeypatch.setattr(file_systems, "_MOUNTS", out / "none")  # no Linux
    assert network_file_system(out) == ""


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR_LOCK])
def test_a_file_system_without_locks_is_told_from_another_writer(out, monkeypatch, code):
    def unlocked(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def fails(*_):
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = code
        raise error

    sweep(scenario(), out, MEANS, replications=3)
    assert locks_in(out)
    assert locks_in(out / "none")  # which nobody knows
    monkeypatch.setattr("fcntl.lockf", unlocked)
    monkeypatch.setattr("cprsim.sweeps.layout.check", fails)
    for use in (
        lambda: sweep(scenario(), out, MEANS, replications=3),
        lambda: cprsim.Sweep(out).table,
    ):
        with pytest.raises(UsageError) as error:
            use()
        assert str(error.value) == (
            f"{out / NAME}: its file system does not lock files; choose a folder on another, a "
            "local one"
        )
    assert [path.name for path in out.iterdir()] == [NAME]
