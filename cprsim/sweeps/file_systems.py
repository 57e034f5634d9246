"""What the folder of a sweep lies on: a file system with locks or without, here or elsewhere."""

import re
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where SQLite locks in another way
    fcntl = None  # type: ignore[assignment]

_MOUNTS = Path("/proc/self/mounts")  # Linux
_OVER_A_NETWORK = {
    *("nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "ncpfs", "coda"),
    *("lustre", "ceph", "glusterfs", "gpfs", "beegfs", "orangefs", "pvfs2", "davfs", "ocfs2"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.davfs2"),
    *("fuse.gcsfuse", "fuse.juicefs", "fuse.mfs", "fuse.cephfs", "fuse.beegfs", "fuse.goofys"),
}


def locks_in(folder: Path) -> bool:
    """Whether files in a folder can be locked."""
    if fcntl is None:
        return True
    # A file of its own: to close one that SQLite has open would let go of SQLite's locks.
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
    except OSError:  # nothing can be written there, so nothing can be said
        return True
    return True


def network_file_system(folder: Path) -> str:
    """The kind of file system that a folder lies on, if it is one over a network; else ""."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    kind = file_system_of(folder.resolve(), mounts)
    return kind if kind in _OVER_A_NETWORK else ""


def file_system_of(path: Path, mounts: str) -> str:
    """The kind of file system of an absolute path, by the lines of /proc/self/mounts; "" if none.

    The innermost mount counts, and of several at one place the last.
    """
    found, depth = "", 0
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        place = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1]))
        if path.is_relative_to(place) and len(place.parts) >= depth:
            found, depth = fields[2], len(place.parts)
    return found
