"""`cprsim` that is interrupted at calls of Python functions, counted, so at any instant there is.

`python -m tests.interrupted FILE SIGNAL FIRST SECOND run ...` is `cprsim run ...` whose whole group
of processes gets the signal as this one enters its FIRST call since it started, and again SECOND
calls later. How many calls there were is left in FILE.
"""

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tests.waiting import HANGS_S, wait_until

_ROOT = Path(__file__).parents[1]


class Ended(NamedTuple):
    """How a command ended, and the calls that it made."""

    code: int
    out: str
    err: str
    calls: int
    took_s: float  # from the first interrupt to when no process of its session was left


def interrupted(
    folder: Path, arguments: list[str], first: int, second: int, number: int = signal.SIGINT
) -> Ended:
    """Run it to its end, and wait until no process of its session is left."""
    counted = folder / "calls"
    told = [str(counted), str(int(number)), str(first), str(second)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.interrupted", *told, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
    ) as process:
        out, err = process.communicate(timeout=HANGS_S)
    wait_until(lambda: not _session(process.pid), "processes are left")
    ended_s = time.monotonic()
    calls = int(counted.read_text()) if counted.exists() else 0
    began = counted.with_suffix(".first")
    took_s = ended_s - float(began.read_text()) if began.exists() else 0.0
    return Ended(process.returncode, out, err, calls, took_s)


def _session(leader: int) -> list[int]:
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
    counted, number, first, second = sys.argv[1], *map(int, sys.argv[2:5])
    sys.argv = ["cprsim", *sys.argv[5:]]
    due = {first, first + second} if second > 0 else {first}
    raise_later = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raise_later.argtypes = (ctypes.c_ulong, ctypes.py_object)
    main_thread = threading.get_ident()
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        if event == "call":
            calls += 1
            if calls == first:
                Path(counted).with_suffix(".first").write_text(str(time.monotonic()))
            if calls in due:
                try:
                    os.killpg(0, number)
                except KeyboardInterrupt:  # a profiler that raises is never called again
                    raise_later(main_thread, KeyboardInterrupt)

    atexit.register(lambda: Path(counted).write_text(str(calls)))
    # Whoever runs the tests in the background, or with nohup, has them ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    from cprsim.cli import main

    sys.setprofile(count)
    main()


if __name__ == "__main__":
    _main()
