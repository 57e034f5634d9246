"""A kill or an error at every single call of a command that changes a file: `python -m` this.

The process has `calls.c` preloaded, so it counts the calls of Python and of SQLite alike. It plays
a case again and again, each time in a child with another call that goes wrong in another way,
until a child comes to its end before its call; and looks each time at what is left.
"""

import ctypes
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Protocol

SOURCE = Path(__file__).with_name("calls.c")
_KILLED = 137
_NOT_REACHED = 99
_ERROR = 98


class Fault(IntEnum):
    """What happens at a call; as in `calls.c`."""

    KILL_BEFORE = 1
    KILL_AFTER = 2
    KILL_HALFWAY = 3
    FAIL = 4  # once, with an I/O error
    FULL = 5  # the disk, from there on


class Outcome(NamedTuple):
    """Of a child: whether it was killed; else its exit code, and what it said."""

    killed: bool
    code: int
    said: str


class Case(Protocol):
    """A command, and what must be true whatever happens to it."""

    def prepare(self, folder: Path) -> None:
        """What is there before."""

    def act(self, folder: Path) -> int:
        """The command; its exit code."""

    def look(self, folder: Path, outcome: Outcome) -> None:
        """Raise `AssertionError` where something is wrong."""


def play(case: Case, folder: Path, every: int, faults: Iterable[Fault]) -> dict[str, int]:
    """How many calls went wrong in each of these ways; each `every`-th does.

    One fault begins at the first call, the next at the second, and so on: as many faults as
    `every` is have each call go wrong once.
    """
    calls = ctypes.CDLL(os.environ["LD_PRELOAD"])
    counts = {}
    for fault in faults:
        at, tried = 1 + (fault - 1) % every, 0
        while True:
            place = folder / "place"
            case.prepare(place)
            outcome = _child(calls, case, place, at, fault)
            if outcome is None:
                break
            tried += 1
            try:
                case.look(place, outcome)
            except AssertionError as error:
                raise AssertionError(f"call {at}, {fault.name}: {outcome}") from error
            finally:
                shutil.rmtree(place)
            at += every
        shutil.rmtree(place)
        counts[fault.name] = tried
    return counts


def _child(calls: ctypes.CDLL, case: Case, place: Path, at: int, fault: Fault) -> Outcome | None:
    """What came of a child whose call of that number goes wrong; None if it makes fewer."""

    def act() -> int:
        calls.arm(str(place).encode(), ctypes.c_long(at), int(fault))
        code = case.act(place)
        calls.arm(b"/nowhere", ctypes.c_long(0), 0) if calls.has_fired() else os._exit(_NOT_REACHED)
        return code

    outcome = in_child(act)
    return None if outcome.code == _NOT_REACHED else outcome


def in_child(act: Callable[[], int]) -> Outcome:
    """Do something in a child of this process; what it says is no secret."""
    mine, its = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(mine)
        os.dup2(its, 1)
        os.dup2(its, 2)
        code = _ERROR
        try:
            code = act()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(its)
    with os.fdopen(mine) as pipe:
        said_by_child = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Outcome(code == _KILLED, code, said_by_child)


def main() -> None:
    """`NAME FOLDER EVERY FAULTS`: play the case of that name, and print the counts as JSON."""
    from tests.faults.cases import CASES

    name, folder, every, *faults = sys.argv[1:]
    kinds = [Fault[each] for each in faults]
    sys.stdout.write(json.dumps(play(CASES[name](), Path(folder), int(every), kinds)))


if __name__ == "__main__":
    main()
