"""`cprsim` that is interrupted at calls of Python functions, counted, so at any instant there is.

`python -m tests.interrupted LIBRARY FILE SIGNAL FIRST SECOND run ...` is `cprsim run ...` whose
whole group of processes gets the signal as this one enters its FIRST call since it started, and
again SECOND calls later. How many calls there were, and how many signals, is left in FILE.
"""

import ctypes
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.waiting import HANGS_S, wait_until

SOURCE = Path(__file__).with_suffix(".c")
_ROOT = Path(__file__).parents[1]
_LEFT = "lld"


class Ended(NamedTuple):
    """How a command ended, the calls that it made, and how often it was interrupted."""

    code: int
    out: str
    err: str
    calls: int
    sent: int
    took_s: float  # from the first interrupt to when no process of its session was left


def interrupted(
    library: Path,
    folder: Path,
    arguments: list[str],
    first: int,
    second: int,
    number: int = signal.SIGINT,
) -> Ended:
    """Run it to its end, and wait until no process of its session is left."""
    counted = folder / "calls"
    counted.unlink(missing_ok=True)
    told = [str(library), str(counted), str(int(number)), str(first), str(second)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.interrupted", *told, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
    ) as process:
        out, err = process.communicate(timeout=HANGS_S)
    wait_until(lambda: not session(process.pid), "processes are left")
    ended_s = time.monotonic()
    calls, sent, first_s = struct.unpack(_LEFT, counted.read_bytes())
    took_s = ended_s - first_s if sent else 0.0
    return Ended(process.returncode, out, err, calls, sent, took_s)


def session(leader: int) -> list[int]:
    """Processes of a session that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(") ")[2].split()[:4]
        except OSError:  # it has gone meanwhile
            continue
        if int(session) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found


def _main() -> None:
    library, counted = sys.argv[1:3]
    number, first, second = map(int, sys.argv[3:6])
    sys.argv = ["cprsim", *sys.argv[6:]]
    # Whoever runs the tests in the background, or with nohup, has them ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    from cprsim.cli import main

    start = ctypes.PyDLL(library).start_counting
    start.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_long)
    if start(counted.encode(), number, first, first + second if second > 0 else -1):
        raise OSError(f"{counted}: can't be written")
    main()


if __name__ == "__main__":
    _main()
